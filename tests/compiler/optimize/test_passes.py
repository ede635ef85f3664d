"""Each rewrite: the graph that is expected of it, and the same numbers with and without it."""

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.base.config import GraphOptions
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.constant_folding import fold
from thalweg._src.compiler.optimize.cse import eliminate_common_subexpressions
from thalweg._src.compiler.optimize.fusion import fuse
from thalweg._src.compiler.optimize.optimize import optimize
from thalweg._src.compiler.optimize.pooling import pool_before_bias, simplify_pooling
from thalweg._src.compiler.optimize.simplify import simplify
from thalweg._src.runtime.execute.program import Program
from thalweg._src.runtime.passes import evaluate
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import local_devices

HOST = local_devices(tf.ConfigProto(), Containers())[0]
PLAIN = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=-1)))


def run_fold(step):
    fold(step, lambda node: evaluate(node, HOST))


def types(step):
    return sorted(node.type for node in step.nodes)


def same_numbers(fetches, feeds, tolerance=0.0):
    """Runs with and without optimization, from the same state, and compares."""
    results = []
    for config in (tf.ConfigProto(), PLAIN):
        with tf.Session(config=config) as sess:
            sess.run(tf.global_variables_initializer())
            results.append(sess.run(fetches, feeds))
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_prune_keeps_what_fetches_need_and_cuts_at_feeds():
    a = tf.placeholder(tf.float32, [], name="a")
    b = tf.exp(a, name="b")
    c = tf.sin(b, name="c")
    tf.cos(b, name="unused")
    assert [node.name for node in step_graph([a], [c], []).nodes] == ["_arg_a_0", "b", "c"]
    assert [node.name for node in step_graph([b], [c], []).nodes] == ["_arg_b_0", "c"]
    assert [node.type for node in step_graph([], [], [b.op]).nodes] == ["Placeholder", "Exp"]


def test_fold_computes_constants_and_static_shapes():
    x = tf.placeholder(tf.float32, [2, 3])
    y = x * (tf.constant(2.0) + 3.0) + tf.cast(tf.reduce_prod(tf.shape(x)), tf.float32)
    step = step_graph([x], [y], [])
    run_fold(step)
    assert types(step) == ["AddV2", "Const", "Const", "Mul", "_Arg"]
    assert sorted(float(n.attrs["value"]) for n in step.nodes if n.type == "Const") == [5.0, 6.0]
    same_numbers([y], {x: np.ones((2, 3))})


def test_fold_reads_static_shapes_of_nodes_that_are_not_constant():
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.exp(x)
    fetches = list(tf.shape_n([x, y]))
    step = step_graph([x], fetches, [])
    run_fold(step)
    assert types(step) == ["Const", "Const"]
    same_numbers(fetches, {x: np.ones((2, 3))})


def test_fold_leaves_random_numbers_large_results_and_ordered_nodes():
    noise = tf.random_uniform([2], seed=1)
    large = tf.fill([4096, 4096], 1.0)
    with tf.control_dependencies([noise]):
        ordered = tf.constant(1.0) + tf.constant(2.0)
    step = step_graph([], [noise, large, ordered], [])
    run_fold(step)
    assert {"RandomUniform", "Fill", "AddV2"} <= set(types(step))


def test_cse_merges_equal_nodes_but_never_state():
    x = tf.placeholder(tf.float32, [2])
    y = tf.exp(x) + tf.exp(x) * tf.constant(2.0) + tf.constant(2.0) * tf.exp(x)
    noise = tf.random_uniform([], seed=3) + tf.random_uniform([], seed=3)
    step = step_graph([x], [y, noise], [])
    eliminate_common_subexpressions(step)
    assert types(step).count("Exp") == 1
    assert types(step).count("Mul") == 1  # commutative
    assert types(step).count("RandomUniform") == 2
    same_numbers([y], {x: [1.0, 2.0]})


def test_cse_distinguishes_signed_zeros():
    x = tf.placeholder(tf.float32, [])
    y, z = x / tf.constant(0.0), x / tf.constant(-0.0)
    with tf.Session() as sess:
        assert sess.run([y, z], {x: 1.0}) == [np.inf, -np.inf]


def test_simplify_removes_identities():
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    y = tf.identity(x) * 1.0
    y = tf.negative(tf.negative(y)) / 1.0
    y = tf.transpose(tf.transpose(y))
    y = tf.reshape(tf.reshape(y, [6]), [2, 3])
    y = tf.stop_gradient(y) ** 2.0
    step = step_graph([x], [y], [])
    run_fold(step)
    simplify(step)
    assert [node.type for node in step.nodes] == ["_Arg", "Square"]
    same_numbers([y], {x: np.arange(6.0).reshape(2, 3)})


def test_control_inputs_of_a_removed_identity_pass_to_its_consumers():
    order = []
    first = tf.py_func(lambda: order.append("first") or np.float32(0), [], tf.float32)
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.control_dependencies([first]):
        gate = tf.identity(x)
    y = tf.py_func(lambda v: order.append("second") or v, [gate], tf.float32)
    step = step_graph([x], [y], [])
    simplify(step)
    assert "Identity" not in types(step)
    with tf.Session() as sess:
        assert sess.run(y, {x: 2.0}) == 2.0
        assert sess.run(gate, {x: 3.0}) == 3.0
    assert order == ["first", "second", "first"]


def test_simplify_keeps_what_broadcasts_or_rounds():
    x = tf.placeholder(tf.float32, [1, 3])
    wide = x * tf.ones([2, 3])
    zero = x + tf.zeros([1, 3])  # turns -0.0 into 0.0
    step = step_graph([x], [wide, zero], [])
    run_fold(step)
    simplify(step)
    assert types(step).count("Mul") == 1 and types(step).count("AddV2") == 1
    with tf.Session() as sess:
        assert not np.signbit(sess.run(zero, {x: [[-0.0, -0.0, -0.0]]})).any()


def test_transposes_are_absorbed_by_products():
    a, b = tf.placeholder(tf.float32, [3, 2]), tf.placeholder(tf.float32, [4, 3])
    y = tf.matmul(tf.transpose(a), tf.transpose(b))
    step = step_graph([a, b], [y], [])
    optimize(step, GraphOptions(), lambda node: evaluate(node, HOST))
    assert types(step) == ["MatMul", "_Arg", "_Arg"]
    rng = np.random.default_rng(0)
    same_numbers([y], {a: rng.normal(size=(3, 2)), b: rng.normal(size=(4, 3))}, 1e-6)


def test_bias_and_relu_are_fused_into_products():
    x = tf.placeholder(tf.float32, [2, 3])
    w = tf.placeholder(tf.float32, [3, 4])
    b = tf.placeholder(tf.float32, [4])
    y = tf.nn.relu(tf.matmul(x, w) + b)
    step = step_graph([x, w, b], [y], [])
    fuse(step)
    assert types(step) == ["_Arg", "_Arg", "_Arg", "_FusedMatMul"]
    rng = np.random.default_rng(0)
    feeds = {x: rng.normal(size=(2, 3)), w: rng.normal(size=(3, 4)), b: rng.normal(size=4)}
    same_numbers([y], feeds, 1e-6)
    # A product with another consumer is not fused.
    product = tf.matmul(x, w)
    step = step_graph([x, w, b], [product, product + b], [])
    fuse(step)
    assert "_FusedMatMul" not in types(step)


def test_convolution_with_bias_and_relu():
    x = tf.placeholder(tf.float32, [2, 5, 6, 3])
    w, b = tf.placeholder(tf.float32, [3, 3, 3, 4]), tf.placeholder(tf.float32, [4])
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), b))
    step = step_graph([x, w, b], [y], [])
    fuse(step)
    assert "_FusedConv2D" in types(step) and "Relu" not in types(step)
    rng = np.random.default_rng(0)
    feeds = {x: rng.normal(size=(2, 5, 6, 3)), w: rng.normal(size=(3, 3, 3, 4)), b: rng.normal(size=4)}
    same_numbers([y], feeds, 1e-5)


def test_fusion_keeps_nan():
    x = tf.placeholder(tf.float32, [1, 4, 5, 2])
    w, b = tf.placeholder(tf.float32, [3, 3, 2, 4]), tf.placeholder(tf.float32, [4])
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), b))
    wide, columns = tf.placeholder(tf.float32, [2, 600]), tf.placeholder(tf.float32, [600, 4])
    z = tf.nn.relu(tf.matmul(wide, columns) + b)
    image = np.ones((1, 4, 5, 2))
    image[0, 2, 2, 0] = np.nan
    feeds = {
        x: image,
        w: np.ones((3, 3, 2, 4)),
        b: np.ones(4),
        wide: np.full((2, 600), np.nan),
        columns: np.ones((600, 4)),
    }
    same_numbers([y, z], feeds)
    with tf.Session() as sess:
        assert all(np.isnan(value).any() for value in sess.run([y, z], feeds))


def test_pooling_keeps_indices_for_its_gradient():
    x = tf.placeholder(tf.float32, [2, 4, 6, 3])
    y = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    (grad,) = tf.gradients(y, x)
    step = step_graph([x], [y, grad], [])
    fuse(step)
    simplify_pooling(step)
    assert "_MaxPoolIndexed" in types(step) and "_MaxPoolIndexedGrad" in types(step)
    assert "MaxPool" not in types(step) and "MaxPoolGrad" not in types(step)
    same_numbers([y, grad], {x: np.random.default_rng(0).normal(size=(2, 4, 6, 3))})


def test_the_gradient_of_a_pooled_relu_is_clipped_at_the_pooled_size():
    x = tf.placeholder(tf.float32, [2, 4, 6, 3])
    y = tf.nn.max_pool(tf.nn.relu(x), [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    (grad,) = tf.gradients(tf.square(y), x)
    step = step_graph([x], [grad], [])
    fuse(step)
    simplify_pooling(step)
    (clip,) = [node for node in step.nodes if node.type == "ReluGrad"]
    assert clip.shapes[0] == (2, 2, 3, 3)
    same_numbers([grad], {x: np.random.default_rng(0).normal(size=(2, 4, 6, 3))})


def test_pooling_comes_before_clipping():
    x = tf.placeholder(tf.float32, [2, 4, 6, 3])
    w, b = tf.placeholder(tf.float32, [3, 3, 3, 4]), tf.placeholder(tf.float32, [4])
    relu = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), b))
    y = tf.nn.max_pool(relu, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    grads = tf.gradients(tf.square(y), [x, w, b])
    step = step_graph([x, w, b], [y, *grads], [])
    fuse(step)
    simplify_pooling(step)
    (clip,) = [node for node in step.nodes if node.type == "Relu"]
    assert clip.shapes[0] == (2, 2, 3, 4) and clip.inputs[0][0].type == "_MaxPoolIndexed"
    rng = np.random.default_rng(0)
    feeds = {x: rng.normal(size=(2, 4, 6, 3)), w: rng.normal(size=(3, 3, 3, 4)), b: rng.normal(size=4)}
    same_numbers([y, *grads], feeds, 1e-5)
    feeds[x][0, 1, 1, 0] = np.nan
    same_numbers([y], feeds, 1e-5)
    # A ReLU with another consumer is not moved.
    step = step_graph([x, w, b], [y, relu], [])
    fuse(step)
    simplify_pooling(step)
    assert "Relu" not in types(step)


@pytest.mark.parametrize("window", [2, 3])
def test_the_gradient_of_a_bias_is_summed_at_the_pooled_size(window):
    x, b = tf.placeholder(tf.float32, [2, 4, 6, 3]), tf.placeholder(tf.float32, [3])
    y = tf.nn.max_pool(tf.nn.bias_add(x, b), [1, window, window, 1], [1, 2, 2, 1], "SAME")
    grads = tf.gradients(tf.square(y), [x, b])
    step = step_graph([x, b], grads, [])
    fuse(step)
    simplify_pooling(step)
    (sum,) = [node for node in step.nodes if node.type == "BiasAddGrad"]
    assert sum.inputs[0][0].shapes[0] == (2, 2, 3, 3)
    rng = np.random.default_rng(0)
    same_numbers(grads, {x: rng.normal(size=(2, 4, 6, 3)), b: rng.normal(size=3)}, 1e-5)


def test_a_bias_along_a_pooled_dimension_stays_before_the_pool():
    rng = np.random.default_rng(0)
    x, b = tf.placeholder(tf.float32, [1, 4, 2, 4]), tf.placeholder(tf.float32, [4])
    biased = tf.nn.bias_add(x, b)
    across = tf.nn.max_pool(biased, [1, 1, 1, 2], [1, 1, 1, 2], "SAME")
    other = tf.nn.max_pool(biased, [1, 1, 2, 2], [1, 1, 2, 2], "SAME", data_format="NCHW")
    gradient = tf.gradients(tf.square(other), b)[0]
    feeds = {x: rng.normal(size=(1, 4, 2, 4)), b: rng.normal(size=4)}
    same_numbers([across, other, gradient], feeds, 1e-5)
    for y in (across, other):
        step = step_graph([x, b], [y], [])
        fuse(step)
        simplify_pooling(step)
        pool_before_bias(step)
        assert step.fetches[0][0].type == "MaxPool"


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "alone"])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_pooling_comes_before_a_bias(fused, data_format):
    """On accelerators; here the graphs are compared, and run on the host."""
    rng = np.random.default_rng(0)
    window, strides, padding = [1, 2, 2, 1] if data_format == "NHWC" else [1, 1, 2, 2], [1, 1, 1, 1], "SAME"
    x, w, b = (tf.constant(rng.normal(size=size), tf.float32) for size in ((2, 4, 4, 4), (3, 3, 4, 4), (4,)))
    y = tf.nn.bias_add(tf.nn.conv2d(x, w, strides, padding, data_format=data_format), b, data_format=data_format)
    y = tf.nn.max_pool(tf.nn.relu(y) if fused else y, window, window, padding, data_format=data_format)
    step = step_graph([], [y], [])
    fuse(step)
    simplify_pooling(step)
    with tf.Session() as session:
        expected = session.run(y)
        pool_before_bias(step)
        (add,) = [node for node in step.nodes if node.type == "BiasAdd"]
        assert add.inputs[0][0].type == "MaxPool" and "Conv2D" in types(step)
        (result,) = Program(step, HOST).functions[0](None)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    "optimizer, group",
    [
        (lambda: tf.train.AdamOptimizer(0.1), "_ApplyAdamGroup"),
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9), "_ApplyMomentumGroup"),
        (lambda: tf.train.GradientDescentOptimizer(0.1), "_ApplyGradientDescentGroup"),
    ],
)
def test_updates_of_one_optimizer_become_one(optimizer, group):
    x = tf.placeholder(tf.float32, [4, 3])
    w, b = tf.get_variable("w", [3, 2], initializer=tf.ones_initializer()), tf.Variable([0.5, 0.25])
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w) + b))
    train = optimizer().minimize(loss)
    step = step_graph([x], [], [train])
    optimize(step, GraphOptions(), lambda node: evaluate(node, HOST))
    assert types(step).count(group) == 1
    feeds = {x: np.random.default_rng(0).normal(size=(4, 3))}
    results = []
    for config in (tf.ConfigProto(), PLAIN):
        with tf.Session(config=config) as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(5):
                sess.run(train, feeds)
            results.append(sess.run([w, b]))
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_dependent_updates_are_not_grouped():
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    first = optimizer.apply_gradients([(tf.constant(1.0), v)])
    with tf.control_dependencies([first]):
        second = optimizer.apply_gradients([(v.read_value() * 1.0, w)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(second)
        assert sess.run([v, w]) == [0.5, 0.75]


def test_values_are_dropped_at_their_last_use():
    x = tf.placeholder(tf.float32, [2])
    y = tf.tanh(tf.exp(tf.sin(x, name="s"), name="e"), name="t")
    with tf.Session() as sess:
        text = sess.show_program(y, [x])
    lines = [line.strip().split("  #")[0] for line in text.splitlines()]
    assert lines[lines.index("e = exp(s)") + 1] == "del s"
    assert lines[lines.index("t = tanh(e)") + 1] == "del e"
