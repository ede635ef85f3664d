"""Names of modules of tensorflow.python that are not public, which programs call."""

import pytest
from thalweg.python.eager import context
from thalweg.python.framework import ops, tensor_shape, tensor_util
from thalweg.python.ops import array_ops, control_flow_ops, gradients_impl, image_ops, math_ops, nn_ops, variables
from thalweg.python.ops.losses import losses_impl
from thalweg.python.util.lazy_loader import LazyLoader

import thalweg as tf


def test_shapes_and_sizes():
    x = tf.placeholder(tf.float32, [2, None])
    described = tensor_util.constant_value_as_shape(tf.stack([3, tf.shape(x)[0]]))
    assert described.ndims == 2 and described[0].value == 3
    results = [
        array_ops.shape_internal(x),
        array_ops.rank_internal(x),
        array_ops.size_internal(x),
        math_ops.reduced_shape(tf.shape(x), [-1]),
        math_ops._ReductionDims(x, None),
    ]
    with tf.Session() as session:
        values = session.run(results, {x: [[1.0] * 3] * 2})
    assert [value.tolist() for value in values] == [[2, 3], 2, 6, [2, 1], [0, 1]]
    assert math_ops._ReductionDims(x, 1) == 1
    with pytest.raises(ValueError, match="both"):
        math_ops._ReductionDims(x, 1, 1)
    assert (tensor_shape.scalar(), tensor_shape.vector(2), tensor_shape.matrix(2, 3)) == ([], [2], [2, 3])


def test_windows_of_operations():
    assert nn_ops._get_sequence(2, 2, 3, "ksize") == [1, 2, 2, 1]
    assert nn_ops._get_sequence([2, 3], 2, 1, "ksize") == [1, 1, 2, 3]
    assert nn_ops._get_sequence(None, 1, 2, "strides") == [1, 1, 1]
    with pytest.raises(ValueError, match="ksize"):
        nn_ops._get_sequence([1, 2, 3], 2, 3, "ksize")


def test_images():
    image = tf.placeholder(tf.float32, [None, 5, 3])
    height, width, channels = image_ops._ImageDimensions(image, rank=3)
    assert isinstance(height, tf.Tensor) and (width, channels) == (5, 3)
    flipped = image_ops.fix_image_flip_shape(tf.zeros([2, 5, 3]), tf.placeholder(tf.float32))
    assert flipped.shape.as_list() == [2, 5, 3]


def test_the_product_of_a_hessian_and_a_vector():
    x = tf.constant([1.0, 2.0])
    y = x[0] * x[0] * x[1]
    (product,) = gradients_impl._hessian_vector_product(y, [x], [tf.constant([1.0, 10.0])])
    with tf.Session() as session:
        assert session.run(product).tolist() == [2 * 2 * 1 + 2 * 1 * 10, 2 * 1 * 1]
    with pytest.raises(ValueError, match="lengths"):
        gradients_impl._hessian_vector_product(y, [x], [])
    assert gradients_impl.IsTrainable(x) and not gradients_impl.IsTrainable(tf.int32)


def test_means_of_losses():
    losses = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    present = losses_impl._num_present(losses, [[1.0], [0.0]])
    with tf.Session() as session:
        assert session.run(present) == 2.0
        assert session.run(losses_impl._num_present(losses, [[1.0], [0.0]], per_batch=True)).tolist() == [[2.0], [0.0]]
        assert session.run(losses_impl._safe_mean(losses, present)) == 5.0
        assert session.run(losses_impl._safe_mean(losses, 0)) == 0.0
        assert session.run(losses_impl._num_elements(losses)) == 4.0


def test_the_mode_of_execution():
    assert context.in_graph_mode() and not context.executing_eagerly() and not context.context().executing_eagerly()
    with context.graph_mode():
        assert context.num_gpus() == context.context().num_gpus()


def test_kinds_of_contexts_and_variables():
    seen = []
    tf.while_loop(
        lambda i: i < 1, lambda i: seen.append(tf.get_default_graph()._get_control_flow_context()) or i + 1, [0]
    )
    assert isinstance(seen[0], control_flow_ops.WhileContext) and isinstance(
        seen[0], control_flow_ops.ControlFlowContext
    )
    assert not isinstance(seen[0], control_flow_ops.CondContext) and isinstance(tf.Variable(1.0), variables.VariableV1)


def test_the_state_of_the_default_graph():
    with tf.name_scope("outer"):
        x = tf.constant(1.0)
        assert ops.get_name_scope() == "outer" and not ops.inside_function()
    tf.add_to_collection("notes", x)
    assert "notes" in ops.get_all_collection_keys() and ops.tensor_id(x) == x._id
    assert ops._as_graph_element(tf.Variable(2.0)) is not None and ops._as_graph_element(3) is None
    with tf.Graph().as_default(), pytest.raises(ValueError, match="same graph"):
        ops._assert_same_graph(x, tf.constant(1.0))
    with tf.Session() as session, ops.default_session(session), ops._colocate_with_for_gradient(x, None):
        assert tf.identity(x).op.colocation_groups() == [b"loc:@outer/Const"]


def test_registered_statistics_are_counted():
    @ops.RegisterStatistics("Lgamma", "flops")
    def flops(graph, node):
        return ops.OpStats("flops", 7)

    with tf.Graph().as_default() as graph:
        node = tf.lgamma(tf.ones([2])).op.node_def
        builder = tf.profiler.ProfileOptionBuilder
        options = builder(builder.float_operation()).with_accounted_types(["Lgamma"]).with_empty_output().build()
        assert tf.profiler.profile(graph, options=options).total_float_ops == 7
    assert ops.get_stats_for_node_def(graph, node, "flops").value == 7
    assert ops.get_stats_for_node_def(graph, node, "weight").value is None
    with pytest.raises(KeyError, match="Lgamma"):
        ops.RegisterStatistics("Lgamma", "flops")(flops)


def test_modules_are_loaded_on_first_use():
    names = {}
    names["fractions"] = LazyLoader("fractions", names, "fractions")
    lazy = names["fractions"]
    assert lazy.Fraction(1, 2) == 0.5 and names["fractions"] is not lazy and "Fraction" in dir(lazy)
