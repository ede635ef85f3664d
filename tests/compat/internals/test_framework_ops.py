"""tensorflow.python.framework.ops beyond the public names."""

import pytest
from thalweg.python.framework import common_shapes, op_def_library, op_def_registry, ops

import thalweg as tf


def test_conversions():
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
    assert ops.internal_convert_to_tensor(1, tf.float32, as_ref=True).dtype is tf.float32
    assert [t.op.name for t in ops.convert_n_to_tensor([1, 2], name="x")] == ["x_0", "x_1"]
    assert ops.convert_n_to_tensor_or_indexed_slices([None, slices])[1] is slices
    assert ops.convert_to_tensor_or_composite(sparse) is sparse
    assert ops.is_dense_tensor_like(tf.Variable(0.0)) and not ops.is_dense_tensor_like(sparse)


def test_the_graph_of_inputs():
    with tf.Graph().as_default() as graph:
        x = tf.constant(0.0)
    assert ops._get_graph_from_inputs([1, x]) is graph
    assert ops._get_graph_from_inputs([1]) is tf.get_default_graph()
    assert ops._get_graph_from_inputs([x], tf.get_default_graph()) is tf.get_default_graph()


def test_identifiers_differ():
    assert len({ops.uid() for _ in range(3)}) == 3


def test_gradients_are_found_and_registered():
    x = tf.constant(2.0)
    name = f"Guided{ops.uid()}"
    assert name not in ops._gradient_registry._registry
    tf.RegisterGradient(name)(lambda op, grad: grad * 10.0)
    assert name in ops._gradient_registry._registry
    with tf.get_default_graph().gradient_override_map({"Square": name}):
        y = tf.square(x)
    with tf.Session() as session:
        assert session.run(tf.gradients(y, x)) == [10.0]
    assert ops.get_gradient_function(y.op) is ops._gradient_registry.lookup(name)
    assert ops.get_gradient_function(x.op) is None
    with pytest.raises(LookupError, match="NoSuchOp"):
        ops._gradient_registry.lookup("NoSuchOp")


@pytest.mark.parametrize("name", ["b", "^b", "loc:@b"])
def test_name_scopes_are_added_and_removed(name):
    inside = ops.prepend_name_scope(name, "a")
    assert inside == name.replace("b", "a/b") and ops.strip_name_scope(inside, "a/") == name
    assert ops.strip_name_scope("other", "a") == "other" and ops.name_from_scope_name("a/b/") == "a/b"


def test_members_of_a_collection_become_messages(tmp_path):
    key = f"notes{ops.uid()}"
    ops.register_proto_function(
        key,
        proto_type=tf.HistogramProto,
        to_proto=lambda member, export_scope=None: tf.HistogramProto(num=member),
        from_proto=lambda proto, import_scope=None: proto.num,
    )
    with tf.Graph().as_default() as graph:
        tf.add_to_collection(key, 3.0)
        exported = tf.train.export_meta_graph(graph=graph)
    with tf.Graph().as_default():
        tf.train.import_meta_graph(exported)
        assert tf.get_collection(key) == [3.0]


def test_ops_by_type():
    y = op_def_library.OpDefLibrary().apply_op("Add", x=1.0, y=2.0, name="sum")
    assert y.op.name == "sum" and op_def_registry.get_registered_ops()["Add"].name == "Add"


def test_shapes():
    op = tf.zeros([2, 3]).op
    assert common_shapes.unknown_shape(op) == [tf.TensorShape(None)]
    assert common_shapes.broadcast_shape([2, 1], [3]).as_list() == [2, 3]
    assert common_shapes.is_broadcast_compatible(tf.TensorShape([2, 1]), tf.TensorShape([3]))
    assert not common_shapes.is_broadcast_compatible(tf.TensorShape([2]), tf.TensorShape([3]))
