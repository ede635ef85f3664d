"""Functions in the library of a graph: reading, writing, names, types and what is wrong with them."""

import pytest

import thalweg as tf
from tests.graph.function_maker import case_, floats, functional, if_, make_function, while_
from thalweg._src.graph.imported_function import ImportedFunction
from thalweg._src.graph.ops.functional import call


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _again(graph_def, **arguments):
    """Returns the session of a graph that a GraphDef was imported into."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="", **arguments)
    return tf.Session(graph=graph)


def _program():
    """Adds one operation of each kind; returns the names of inputs and results."""
    x, y = (tf.placeholder(tf.float32, [], name=name) for name in "xy")
    k = tf.constant(10.0) * y
    add = floats("add", lambda a, b: [a + b, a * b], 2)
    twice = floats("twice", lambda a: [call(add, [a, a]).outputs[0]])
    with_capture = floats("with_capture", lambda a: [a + k])
    minus = floats("minus", lambda a: [-a])
    results = [
        *call(twice, [x]).outputs,
        *call(with_capture, [x, *with_capture.captured]).outputs,
        *if_(x > y, twice, minus, [x]),
        *if_(tf.cast(x, tf.int32), twice, minus, [x], "StatelessIf"),
        *while_(floats("below", lambda a, b: [a < 50.0], 2), floats("grow", lambda a, b: [a * 2 + b, b], 2), [x, y]),
        *case_(tf.cast(y, tf.int32), [twice, minus, twice], [x]),
        *functional("add", [x, y]),
    ]
    return {"x:0": 3.0, "y:0": 1.0}, [result.name for result in results]


EXPECTED = [6.0, 13.0, 6.0, 6.0, 63.0, 1.0, -3.0, 4.0, 3.0]


def test_all_of_them_run():
    feeds, names = _program()
    with tf.Session() as session:
        assert session.run(names, feeds) == EXPECTED


def test_a_library_survives_a_round_trip():
    feeds, names = _program()
    written = tf.get_default_graph().as_graph_def()
    assert {function.signature.name for function in written.library.function} >= {"add", "twice", "below", "grow"}
    with _again(written) as session:
        assert session.run(names, feeds) == EXPECTED
        assert session.graph.as_graph_def().library == written.library


def test_bodies_are_read_when_they_are_used():
    feeds, names = _program()
    with _again(tf.get_default_graph().as_graph_def()) as session:
        functions = session.graph._functions
        assert all(isinstance(function, ImportedFunction) for function in functions.values())
        assert not any("body" in function.__dict__ for function in functions.values())
        session.run(names[0], feeds)
        assert {name for name, function in functions.items() if "body" in function.__dict__} == {"twice", "add"}


def test_names_and_attributes():
    graph = tf.get_default_graph()
    twice = floats("twice", lambda a: [a + a])
    x = tf.constant(1.0)
    outputs = call(twice, [x], name="here").outputs
    assert graph._is_function("twice") and graph._get_function(b"twice") is twice
    assert outputs[0].op.get_attr("f").name == "twice" and outputs[0].op.type == "PartitionedCall"
    branches = case_(tf.constant(0), [twice, twice], [x])[0].op.get_attr("branches")
    assert [branch.name for branch in branches] == ["twice", "twice"]
    assert functional("PartitionedCall", [x], f="twice", Tout=[tf.float32])[0].op.attrs["f"] is twice
    with pytest.raises(ValueError, match="'none' is not in the library"):
        functional("PartitionedCall", [x], f="none", Tout=[tf.float32])
    with pytest.raises(ValueError, match="a different function of that name already exists"):
        floats("twice", lambda a: [a * 2])


def test_state_chooses_the_operation():
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    reads = floats("reads", lambda a: [a + v.read_value()])
    operation = call(reads, [tf.constant(1.0), *reads.captured])
    assert operation.type == "StatefulPartitionedCall"
    assert operation.inputs[1] is v.handle


def test_nested_functions_come_along():
    inner = floats("inner", lambda a: [a + 1.0])
    outer = floats("outer", lambda a: [call(inner, [a]).outputs[0] * 2.0])
    with tf.Graph().as_default() as graph, tf.Session() as session:
        assert session.run(call(outer, [tf.constant(1.0)]).outputs[0]) == 4.0
        assert set(graph._functions) == {"inner", "outer"}


def test_an_equal_library_may_be_imported_twice():
    feeds, names = _program()
    written = tf.get_default_graph().as_graph_def()
    with _again(written) as session:
        with session.graph.as_default():
            tf.import_graph_def(written, name="again")
        assert session.run(f"again/{names[0]}", {f"again/{key}": value for key, value in feeds.items()}) == 6.0


def test_a_failed_import_leaves_no_functions():
    _program()
    written = tf.get_default_graph().as_graph_def()
    written.node[0].op = "NoSuchOp"
    with tf.Graph().as_default() as graph:
        with pytest.raises(tf.errors.NotFoundError, match="NoSuchOp"):
            tf.import_graph_def(written)
        assert not graph._functions and not graph.get_operations()


def _with(change):
    """Returns the GraphDef of a call, with a change of its function."""
    call(floats("f", lambda a: [tf.exp(a) + 1.0]), [tf.placeholder(tf.float32, [], name="x")], name="call")
    written = tf.get_default_graph().as_graph_def()
    change(written.library.function[0])
    return written


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.node_def[0].input.__setitem__(0, "nowhere:y:0"), "Unknown input node 'nowhere'"),
        (lambda f: f.node_def[0].input.__setitem__(0, "add:no_output:0"), "has no output 'no_output'"),
        (lambda f: f.node_def[-1].input.__setitem__(0, "Exp:y:7"), "invalid output 7"),
        (lambda f: f.node_def[0].input.__setitem__(0, "Exp"), "neither an argument nor"),
        (lambda f: f.node_def.add(name="Exp", op="NoOp"), "is not unique"),
        (lambda f: f.ret.clear(), "the result 'output_0' is missing"),
        (lambda f: f.ret.__setitem__("output_0", "add:sum:0"), "has no output 'sum'"),
        (lambda f: setattr(f.signature.output_arg[0], "type", 3), "its signature says"),
        (lambda f: setattr(f.signature.input_arg[0], "type", 3), "has type int32"),
        (lambda f: setattr(f.signature.input_arg[0], "type_attr", "T"), "needs a value of its attribute 'T'"),
        (lambda f: f.node_def[0].attr["T"].ClearField("type"), "expected a value of type type"),
        (
            lambda f: f.control_ret.update(c=f.node_def.add(name="c", op="_AsNumber", input=["args"]).name),
            "by the compiler",
        ),
    ],
)
def test_a_malformed_body_is_a_typed_error(change, message):
    written = _with(change)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message), _again(written) as session:
        session.run("call:0", {"x:0": 1.0})


@pytest.mark.parametrize("times", [1, 100])
def test_recursion_is_a_typed_error(times):
    written = _with(lambda f: None)
    function = written.library.function[0]
    for number in range(times):
        node = function.node_def.add(name=f"again{number}", op="StatefulPartitionedCall", input=["args"])
        node.attr["f"].func.name = "f"
        node.attr["Tin"].list.type.append(1)
        node.attr["Tout"].list.type.append(1)
        function.control_ret[node.name] = node.name
    with (
        _again(written) as session,
        pytest.raises(tf.errors.InvalidArgumentError, match="functions call themselves: f -> f"),
    ):
        session.run("call:0", {"x:0": 1.0})


def test_calls_may_not_be_nested_without_end():
    before = floats("f0", lambda a: [a + 1.0])
    for level in range(1, 70):
        before = floats(f"f{level}", lambda a, before=before: [call(before, [a]).outputs[0]])
    functions = tf.get_default_graph()._functions
    results = [call(functions[name], [tf.constant(1.0)]).outputs[0] for name in ("f63", "f64", "f69")]
    with tf.Session() as session:
        assert session.run(results[0]) == 2.0
        for result in results[1:]:
            with pytest.raises(tf.errors.InvalidArgumentError, match="more than 64 levels deep"):
                session.run(result)


def test_a_small_library_cannot_ask_for_any_number_of_nodes():
    floats("f0", lambda a: [a + 1.0])
    for level in range(1, 40):
        before = tf.get_default_graph()._functions[f"f{level - 1}"]
        floats(f"f{level}", lambda a, before=before: [call(before, [a]).outputs[0] + call(before, [a]).outputs[0]])
    last = tf.get_default_graph()._functions["f39"]
    result = call(last, [tf.constant(1.0)]).outputs[0]
    with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError, match="more than"):
        session.run(result)


def test_arguments_of_other_types_are_refused():
    twice = floats("twice", lambda a: [a + a])
    wrong = functional("PartitionedCall", [tf.constant(1)], f=twice, Tout=[tf.float32])
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"\['int32'\], expected \['float32'\]"),
    ):
        session.run(wrong)


def test_functions_with_type_attributes():
    """As C++ programs define them: one function for many types."""
    written = _with(lambda f: None)
    function = written.library.function[0]
    function.signature.attr.add(name="T", type="type")
    function.signature.input_arg[0].type_attr = function.signature.output_arg[0].type_attr = "T"
    del function.node_def[:]
    node = function.node_def.add(name="sum", op="AddV2", input=["args", "args"])
    node.attr["T"].placeholder = "T"
    function.ret["output_0"] = "sum:z:0"
    calling = next(node for node in written.node if node.name == "call")
    calling.attr["f"].func.attr["T"].type = 1
    with _again(written) as session:
        assert session.run("call:0", {"x:0": 3.0}) == 6.0
        assert session.graph.as_graph_def().library == written.library


def test_bodies_are_refused_like_graphs():
    def change(function):
        node = function.node_def.add(name="read", op="ReadFile", input=["path:output:0"])
        function.control_ret["read"] = node.name
        path = function.node_def.add(name="path", op="Const")
        path.attr["dtype"].type = 7
        path.attr["value"].tensor.dtype = 7
        path.attr["value"].tensor.string_val.append(b"/etc/hostname")

    written = _with(change)
    with pytest.raises(ValueError, match="ReadFile 'f/read' reads files"):
        _again(written, trusted=False)


def test_errors_name_the_node_of_the_body():
    check = make_function("check", [tf.float32], lambda a: [tf.check_numerics(a, "wrong")])
    x = tf.placeholder(tf.float32, [])
    result = call(check, [x], name="outer").outputs[0]
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="outer/CheckNumerics"):
        session.run(result, {x: float("nan")})


def test_functions_of_a_session_in_a_cluster():
    feeds, names = _program()
    inputs = [tf.get_default_graph().get_tensor_by_name(name) for name in feeds]
    loop = tf.get_default_graph().get_tensor_by_name(names[4])
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as session:
        assert session.run(names, feeds) == EXPECTED
        grads = tf.gradients(loop, inputs)  # which changes operations that the server has already
        assert session.run([loop, *grads], feeds) == [63.0, 16.0, 15.0]
