"""GraphDef out and in: names, attributes, devices, controls, maps; every graph comes back as it was."""

import sys

import numpy as np
import pytest
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from tests import children
from thalweg._src.base import dtypes, errors
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graphdef import PRODUCER, write_graph
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import constant, no_op, placeholder
from thalweg._src.graph.ops.identity import identity, identity_n
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.ops.tensor_proto import make_ndarray, make_tensor_proto
from thalweg._src.runtime.session.session import Session


def _node(name, op, *inputs, **attrs):
    node = NodeDef(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        node.attr[key].type = value.as_datatype_enum
    return node


def _graph_def(*nodes):
    return GraphDef(node=nodes)


A = _node("A", "Placeholder", dtype=dtypes.float32)
B = _node("B", "Identity", "A", T=dtypes.float32)


@pytest.fixture
def graph():
    with Graph().as_default() as graph:
        yield graph


# -- tensors ----------------------------------------------------------------------------------------------------------

VALUES = [
    (dtypes.float16, [1.5, -2]),
    (dtypes.bfloat16, [1.5, -2]),
    (dtypes.float32, [1.5, -2]),
    (dtypes.float64, [1.5, 1e300]),
    (dtypes.int8, [1, -2]),
    (dtypes.int16, [1, -200]),
    (dtypes.int32, [1, -(2**31)]),
    (dtypes.int64, [1, -(2**62)]),
    (dtypes.uint8, [1, 200]),
    (dtypes.uint16, [1, 60000]),
    (dtypes.uint32, [1, 2**32 - 1]),
    (dtypes.uint64, [1, 2**64 - 1]),
    (dtypes.bool, [True, False]),
    (dtypes.complex64, [1 + 2j, 3]),
    (dtypes.complex128, [1 + 2j, 3]),
    (dtypes.string, [b"a", b"\xff\x00"]),
    (dtypes.qint8, [1, -2]),
    (dtypes.quint16, [1, 60000]),
    (dtypes.qint32, [1, -2]),
]


def _array(dtype, value):
    kind = object if dtype is dtypes.string else dtype.as_numpy_dtype
    if dtype.is_quantized:
        base = np.dtype(kind).fields[dtype.name][0]
        return np.array(value, base).view(kind)
    return np.array(value, kind)


@pytest.mark.parametrize("dtype, values", VALUES, ids=[d.name for d, _ in VALUES])
@pytest.mark.parametrize("form", ["pair", "scalar", "empty", "matrix"])
def test_tensor_round_trip(dtype, values, form):
    array = _array(dtype, values)
    array = {"pair": array, "scalar": array[1:].reshape(()), "empty": array[:0], "matrix": array.reshape(2, 1)}[form]
    proto = make_tensor_proto(array, dtype)
    back = make_ndarray(TensorProto.FromString(proto.SerializeToString()))
    assert proto.dtype == dtype.as_datatype_enum
    assert back.dtype == array.dtype and back.shape == array.shape
    np.testing.assert_array_equal(back, array)


def test_typed_fields_repeat_their_last_value():
    proto = TensorProto(dtype=dtypes.float32.as_datatype_enum, float_val=[1, 2])
    proto.tensor_shape.dim.add(size=2)
    proto.tensor_shape.dim.add(size=3)
    np.testing.assert_array_equal(make_ndarray(proto), [[1, 2, 2], [2, 2, 2]])
    del proto.float_val[:]
    np.testing.assert_array_equal(make_ndarray(proto), np.zeros((2, 3)))
    complex_ = TensorProto(dtype=dtypes.complex64.as_datatype_enum, scomplex_val=[1, 2])
    complex_.tensor_shape.dim.add(size=2)
    np.testing.assert_array_equal(make_ndarray(complex_), [1 + 2j, 1 + 2j])


# The bytes of TensorFlow 1.15.5.
@pytest.mark.parametrize(
    "value, dtype, shape, content",
    [
        (2.0, dtypes.float32, None, "080112002a0400000040"),
        ([2.0, 2.0], dtypes.float32, None, "080112041202080222080000004000000040"),
        ([[1.0, 2.0]], dtypes.float16, None, "0813120812020801120208026a058078808001"),
        ([1 + 2j, 3], dtypes.complex64, None, "08081204120208024a100000803f000000400000404000000000"),
        ([True, True], dtypes.bool, None, "080a1204120208025a020101"),
        ([5, 6], dtypes.uint16, None, "08111204120208023a020506"),
        ([b"a", b"a"], dtypes.string, None, "0807120412020802420161420161"),
        ([], dtypes.int32, None, "080312021200"),
        (7, dtypes.int32, [2, 2], "0803120812020802120208023a0107"),
        ([1, 2], dtypes.int32, [4], "08031204120208043a020102"),
        ([], dtypes.float32, [3], "0801120412020803"),
        ([b"a", b"b"], dtypes.string, [3], "0807120412020803420161420162"),
        ([1j], dtypes.complex128, [2], "081212041202080262100000000000000000000000000000f03f"),
        ([1, 2], dtypes.int32, [0], "080312021200"),
    ],
)
def test_tensors_have_the_bytes_of_tensorflow(graph, value, dtype, shape, content):
    proto = make_tensor_proto(value, dtype, shape)
    assert proto.SerializeToString(deterministic=True).hex() == content
    node = constant(value, dtype, shape).op.node_def
    assert node.attr["value"].tensor == proto
    with Graph().as_default() as again:
        import_graph_def(graph.as_graph_def(), name="")
    assert again.as_graph_def().node[0].attr["value"].tensor == proto


def test_a_malformed_tensor_is_rejected():
    proto = TensorProto(dtype=dtypes.float32.as_datatype_enum, tensor_content=b"12345678")
    proto.tensor_shape.dim.add(size=3)
    with pytest.raises(ValueError, match="has 8 bytes, its shape \\[3\\] needs 12"):
        make_ndarray(proto)
    with pytest.raises(TypeError, match="resource"):
        make_ndarray(TensorProto(dtype=dtypes.resource.as_datatype_enum))


def test_make_tensor_proto_shapes():
    np.testing.assert_array_equal(make_ndarray(make_tensor_proto([1, 2, 3, 4], shape=[2, 2])), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(make_ndarray(make_tensor_proto(7, shape=[2], allow_broadcast=True)), [7, 7])
    assert make_ndarray(make_tensor_proto("abc")).item() == b"abc"
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        make_tensor_proto([1, 2], shape=[2, 1], verify_shape=True)
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        make_tensor_proto([1, 2], shape=[3], allow_broadcast=True)
    with pytest.raises(ValueError, match="at most 1, but received 2"):
        make_tensor_proto([1, 2], shape=[1])
    with pytest.raises(ValueError, match="not both allowed"):
        make_tensor_proto(1, shape=[1], allow_broadcast=True, verify_shape=True)


# -- out --------------------------------------------------------------------------------------------------------------


def test_a_node_is_written_completely(graph):
    x = placeholder(dtypes.float32, [None, 3], name="x")
    w = constant(np.ones((3, 2), np.float32), name="w")
    first = no_op(name="first")
    with graph.device("/job:ps/task:1/cpu:0"):
        a = identity(x, name="a")
    with graph.control_dependencies([first]), graph.colocate_with(a.op):
        y = matmul(x, w, transpose_b=False, name="y")
    node = y.op.node_def
    assert (node.name, node.op, list(node.input)) == ("y", "MatMul", ["x", "w", "^first"])
    assert node.device == "/job:ps/task:1/device:CPU:0"
    assert node.attr["T"].type == dtypes.float32.as_datatype_enum
    assert node.attr["transpose_a"].b is False and "transpose_a" in node.attr  # defaults are written
    assert list(node.attr["_class"].list.s) == [b"loc:@a"]
    shape = graph.get_operation_by_name("x").node_def.attr["shape"].shape
    assert [dim.size for dim in shape.dim] == [-1, 3]


def test_versions_and_shapes(graph):
    x = placeholder(dtypes.float32, name="x")
    y = placeholder(dtypes.float32, [2, None], name="y")
    identity_n([x, y], name="both")
    message = graph.as_graph_def(add_shapes=True)
    assert message.versions.producer == PRODUCER == 134
    shapes = message.node[2].attr["_output_shapes"].list.shape
    assert shapes[0].unknown_rank and [d.size for d in shapes[1].dim] == [2, -1]
    assert "_output_shapes" not in graph.as_graph_def().node[2].attr
    assert str(graph.get_operation_by_name("x")).startswith('name: "x"')


def test_unknown_values_are_rejected(graph):
    constant(1.0).op.attrs["_mine"] = object()
    with pytest.raises(TypeError, match="cannot hold"):
        graph.as_graph_def()


def test_write_graph(graph, tmp_path):
    constant(1.5, name="c")
    text = write_graph(graph, str(tmp_path / "new"), "g.pbtxt")
    assert 'name: "c"' in (tmp_path / "new" / "g.pbtxt").read_text() and text.endswith("g.pbtxt")
    binary = write_graph(graph.as_graph_def(), str(tmp_path), "g.pb", as_text=False)
    with open(binary, "rb") as file:
        assert GraphDef.FromString(file.read()) == graph.as_graph_def()


# -- in ---------------------------------------------------------------------------------------------------------------


def test_graph_round_trip(graph):
    x = placeholder(dtypes.float32, [None, 3], name="x")
    with graph.name_scope("layer"), graph.device("/device:CPU:0"), graph.control_dependencies([x.op]):
        y = matmul(x, np.arange(6, dtype=np.float32).reshape(3, 2), name="y")
    with graph.gradient_override_map({"Identity": "Mine"}):
        identity(y, name="z")
    constant(["a", "b"], name="strings")
    message = graph.as_graph_def()
    with Graph().as_default() as copy:
        import_graph_def(message, name="")
        assert copy.as_graph_def() == message
        assert copy.get_operation_by_name("z").get_attr("_gradient_op_type") == b"Mine"
        with Session() as session:
            value = session.run("z:0", {"x:0": np.ones((1, 3))})
        np.testing.assert_array_equal(value, [[6, 9]])


def test_names_get_a_unique_prefix(graph):
    assert import_graph_def(_graph_def(A, B)) is None
    import_graph_def(_graph_def(A, B))
    import_graph_def(_graph_def(A, B), name="mine")
    with graph.name_scope("outer"):
        import_graph_def(_graph_def(A, B), name="in")
    names = [op.name for op in graph.get_operations()]
    assert names == ["import/A", "import/B", "import_1/A", "import_1/B", "mine/A", "mine/B", "outer/in/A", "outer/in/B"]


def test_names_without_prefix_are_made_unique(graph):
    other = _node("A_1", "Identity", "B", T=dtypes.float32)
    import_graph_def(_graph_def(A, B), name="")
    found = import_graph_def(_graph_def(A, B, other), name="", return_elements=["A", "B", "A_1"])
    assert [op.name for op in found] == ["A_2", "B_1", "A_1"]
    assert found[1].inputs[0].op is found[0] and found[2].inputs[0].op is found[1]
    assert identity(found[0].outputs[0], name="a").op.name == "a_3"  # case is ignored for new names, as ever


def test_names_that_differ_in_case_are_kept(graph):
    import_graph_def(_graph_def(A, _node("a", "Identity", "A", T=dtypes.float32)), name="p")
    assert [op.name for op in graph.get_operations()] == ["p/A", "p/a"]


def test_nodes_may_come_in_any_order(graph):
    c = _node("C", "Identity", "B:0", "^D", T=dtypes.float32)
    d = _node("D", "NoOp", "^A")
    (found,) = import_graph_def(_graph_def(c, d, B, A), return_elements=["C"])
    assert found.inputs[0].name == "import/B:0"
    assert [op.name for op in found.control_inputs] == ["import/D"]


def test_a_cycle_is_rejected_unless_it_is_a_loop(graph):
    with pytest.raises(ValueError, match="cycle through"):
        import_graph_def(_graph_def(_node("X", "Identity", "Y", T=dtypes.float32), _node("Y", "Identity", "X")))


def test_back_edges_of_loops_are_connected(graph):
    merge = _node("M", "Merge", "A", "N", T=dtypes.float32)
    merge.attr["N"].i = 2
    back = _node("N", "NextIteration", "M", T=dtypes.float32)
    found, next_ = import_graph_def(_graph_def(merge, back, A), return_elements=["M", "N"])
    assert [t.name for t in found.inputs] == ["import/A:0", "import/N:0"]
    assert next_.outputs[0].consumers() == [found]


def test_a_loop_variable_has_the_shape_of_all_iterations(graph):
    with Graph().as_default() as built:
        x = placeholder(dtypes.float32, [1], name="x")
        outer = while_loop(
            lambda i, a: i < 2,
            lambda i, a: while_loop(
                lambda j, b: j < i + 2,
                lambda j, b: (j + 1, concat([b, b[:1]], 0)),
                [i, a],
                shape_invariants=[TensorShape([]), TensorShape([None])],
            ),
            [0, x],
            shape_invariants=[TensorShape([]), TensorShape([None])],
        )
        multiply(shape(outer[1]), 2, name="y")
        definition = built.as_graph_def()
    x, y = import_graph_def(definition, return_elements=["x:0", "y:0"])
    with Session() as session:
        assert session.run(y, {x: [1.0]}) == [6]


def test_a_failed_import_leaves_the_graph_as_it_was(graph):
    feed = placeholder(dtypes.float32, name="feed")
    before = graph.as_graph_def()
    wrong = _node("wrong", "Neg", "B", T=dtypes.string)
    for message, options in (
        (_graph_def(A, B, wrong), {}),
        (_graph_def(A, B), {"return_elements": ["C"]}),
        (_graph_def(A, B, wrong), {"input_map": {"A:0": feed}}),
        (_graph_def(A, B, wrong), {"input_map": {"A:0": 1.0, "^A": feed.op}}),
    ):
        with pytest.raises(ValueError, match=r"wrong|C"):
            import_graph_def(message, **options)
        assert graph.as_graph_def() == before
        assert feed.consumers() == []
    assert import_graph_def(_graph_def(A, B), return_elements=["B"])[0].name == "import/B"


def test_inputs_are_mapped(graph):
    feed = placeholder(dtypes.float32, [5], name="feed")
    c = _node("C", "IdentityN", "A", "B:0", "A:0", "^A")
    c.attr["T"].list.type.extend([1, 1, 1])
    found, tensor = import_graph_def(_graph_def(A, B, c), {"A": feed, "^A": feed}, ["C", "A:0"])
    assert [t.name for t in found.inputs] == ["feed:0", "import/B:0", "feed:0"]
    assert found.inputs[1].op.inputs[0] is feed and tensor is feed
    assert found.inputs[1].shape.as_list() == [5]


def test_mapped_values_are_converted(graph):
    (found,) = import_graph_def(_graph_def(A, B), {"A:0": 2.5}, ["B:0"])
    with Session() as session:
        assert session.run(found) == 2.5
    with pytest.raises(ValueError, match="only tensors in input_map"):
        import_graph_def(_graph_def(A, B), {"A:0": 2.5}, name="")
    first = no_op()
    (op,) = import_graph_def(_graph_def(_node("X", "NoOp", "^gone")), {"^gone": first}, ["X"])
    assert op.control_inputs == [first]
    with pytest.raises(TypeError, match="must be a Tensor"):
        import_graph_def(_graph_def(A, B), {"A": first})


@pytest.mark.parametrize(
    "message, options, match",
    [
        ([_node("X", "Identity", "nobody")], {}, "Unknown input node 'nobody'"),
        ([A, A], {}, "not unique"),
        ([A, _node("X", "Identity", "A:1")], {}, "invalid output 1"),
        ([A, _node("X", "Identity", "^A", "A")], {}, "control input precedes a data input"),
        ([A, _node("X", "MatMul", "A")], {}, "requires more inputs"),
        ([A, _node("X", "Identity", "A", "A")], {}, "takes 1 inputs"),
        ([A, _node("X", "Identity", "A", T=dtypes.int32)], {}, "does not match|has type float32"),
        ([_node("X", "Placeholder")], {}, "is missing attributes: 'dtype'"),
        ([_node("X", "Placeholder", dtype=dtypes.float32, mine=dtypes.int32)], {}, "has no attribute 'mine'"),
        ([A], {"return_elements": ["Q"]}, "'Q' not found"),
        ([A], {"return_elements": ["A:1"]}, "'A:1' not found"),
        ([A], {"input_map": {"Q": 1.0}}, r"not found in graph_def: \[Q\]"),
        ([A], {"input_map": {"A:x": 1.0}}, "Cannot convert 'A:x'"),
    ],
)
def test_malformed_messages(graph, message, options, match):
    with pytest.raises(ValueError, match=match):
        import_graph_def(_graph_def(*message), **options)


def test_an_operation_of_no_library_is_not_found(graph):
    with pytest.raises(errors.NotFoundError, match=r"Op type not registered 'Identiti'.*did you mean 'Identity'"):
        import_graph_def(_graph_def(_node("X", "Identiti")))


def test_an_operation_without_a_kernel_is_imported(graph):
    index = _node("index", "Placeholder", dtype=dtypes.int32)
    total = _node("total", "CrossReplicaSum", "A", "index", T=dtypes.float32)
    total, result = import_graph_def(
        _graph_def(A, index, total, _node("X", "Identity", "total")), return_elements=["total:0", "X:0"]
    )
    assert (total.dtype, total.shape.rank) == (dtypes.float32, None)
    with Session() as session:
        assert session.run(result, {total: [2.5]}) == [2.5]
        with pytest.raises(errors.InvalidArgumentError, match="No OpKernel was registered to support Op 'CrossRep"):
            session.run(result, {"import/A:0": [1.0], "import/index:0": [[0]]})


def test_arguments_of_wrong_type(graph):
    with pytest.raises(TypeError, match="GraphDef proto"):
        import_graph_def("graph")
    with pytest.raises(TypeError, match="list of names"):
        import_graph_def(_graph_def(A), return_elements="A")
    with pytest.raises(TypeError, match="names as keys"):
        import_graph_def(_graph_def(A), {3: 1.0})
    message = _graph_def(A)
    message.versions.min_consumer = 10**6
    with pytest.raises(ValueError, match="needs a reader of version"):
        import_graph_def(message)


def test_shapes_of_the_message_are_used(graph):
    node = NodeDef()
    node.CopyFrom(A)
    node.attr["_output_shapes"].list.shape.add().dim.add(size=7)
    (found,) = import_graph_def(_graph_def(node), return_elements=["A:0"])
    assert found.shape.as_list() == [7]
    assert "_output_shapes" not in found.op.node_def.attr


def test_an_old_placeholder_has_unknown_shape(graph):
    node = NodeDef()
    node.CopyFrom(A)
    node.attr["shape"].shape.SetInParent()
    old = _graph_def(node)
    old.versions.producer = 21
    new = _graph_def(node)
    new.versions.producer = 24
    assert import_graph_def(old, return_elements=["A:0"])[0].dims is None
    assert import_graph_def(new, return_elements=["A:0"])[0].dims == ()


def test_attributes_of_newer_producers(graph):
    node = NodeDef()
    node.CopyFrom(B)
    node.attr["novel"].b = False
    node.attr["_mine"].list.i.extend([1, 2])
    (found,) = import_graph_def(_graph_def(A, node), return_elements=["B"])
    assert found.attrs["_mine"] == (1, 2) and "novel" not in found.attrs
    from tensorboard.compat.proto.op_def_pb2 import OpList

    node.attr["novel"].b = True
    ops = OpList()
    ops.op.add(name="Identity").attr.add(name="novel").default_value.b = True
    import_graph_def(_graph_def(A, node), producer_op_list=ops)
    with pytest.raises(ValueError, match="no attribute 'novel'"):
        import_graph_def(_graph_def(A, node))


def test_colocation_and_devices(graph):
    first, second = NodeDef(), NodeDef()
    first.CopyFrom(A)
    first.device = "/device:CPU:1"
    second.CopyFrom(B)
    second.attr["_class"].list.s.append(b"loc:@A")
    with graph.device("/job:worker"):
        found = import_graph_def(_graph_def(first, second), return_elements=["A", "B"])
    assert found[0].device == found[1].device == "/job:worker/device:CPU:1"
    assert found[1].colocation_groups() == [b"loc:@import/A"]
    second.attr["_class"].list.s[0] = b"loc:@nobody"
    with pytest.raises(ValueError, match="does not exist"):
        import_graph_def(_graph_def(first, second))


def test_active_control_dependencies_apply(graph):
    first = no_op()
    with graph.control_dependencies([first]):
        a, b = import_graph_def(_graph_def(A, B), return_elements=["A", "B"])
    assert a.control_inputs == [first] and b.control_inputs == []


def test_protobuf_is_not_needed_to_build_a_graph():
    code = (
        "import sys, thalweg._src.graph.graphdef, thalweg._src.graph.import_graph_def\n"
        "import thalweg._src.graph.ops.tensor_proto\n"
        "assert not [m for m in sys.modules if m.startswith(('google.protobuf', 'tensorboard'))]"
    )
    children.run([sys.executable, "-c", code])


def _reference_graph():
    """A graph as TensorFlow 1 made it: `v` starts at 5, `more` adds 2, `twice` is 2 v."""
    kind = dtypes.float32
    variable = _node("v", "VariableV2", dtype=kind)
    variable.attr["shape"].shape.SetInParent()
    nodes = [variable]
    for name, value in (("five", 5.0), ("two", 2.0)):
        node = _node(name, "Const", dtype=kind)
        node.attr["value"].tensor.CopyFrom(make_tensor_proto(value, kind))
        nodes.append(node)
    nodes.append(_node("v/Assign", "Assign", "v", "five", T=kind))
    nodes.append(_node("more", "AssignAdd", "v", "two", T=kind))
    nodes.append(_node("v/read", "Identity", "v", T=kind))
    nodes.append(_node("twice", "Mul", "v", "two", T=kind))
    return GraphDef(node=nodes)


def test_reference_variables_become_resources(graph):
    start, more, read, twice = import_graph_def(
        _reference_graph(), return_elements=["v/Assign", "more", "v/read:0", "twice:0"], name="old"
    )
    with Session(graph=graph) as session:
        session.run(start)
        assert session.run(read) == 5 and session.run(twice) == 10
        session.run(more)
        assert session.run(read) == 7 and session.run(twice) == 14


def test_reference_variables_in_input_map(graph):
    nodes = [node for node in _reference_graph().node if not node.op.startswith("Assign")]
    read, twice = import_graph_def(
        GraphDef(node=nodes), input_map={"v:0": constant(3.0)}, return_elements=["v/read:0", "twice:0"]
    )
    with Session(graph=graph) as session:
        assert session.run([read, twice]) == [3, 6]
