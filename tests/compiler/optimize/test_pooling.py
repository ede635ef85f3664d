"""Pooling rewrites: what moves behind a pool, and the indices of its maxima."""

import numpy as np

import thalweg as tf
from tests.compiler.graphs import same, same_values, types
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.fusion import fuse
from thalweg._src.compiler.optimize.pooling import pool_before_bias, simplify_pooling

IMAGES = np.random.default_rng(7).normal(size=[2, 4, 4, 3]).astype(np.float32)


def images():
    return tf.placeholder(tf.float32, [2, 4, 4, 3], name="x")


def pool(x, name="pool", ksize=(1, 2, 2, 1)):
    return tf.nn.max_pool(x, list(ksize), [1, 2, 2, 1], "SAME", name=name)


def rewritten(feeds, fetches, *rewrites):
    step = step_graph(feeds, fetches, [])
    for rewrite in rewrites:
        rewrite(step)
    return step


def test_a_relu_moves_behind_a_pool():
    x = images()
    y = pool(tf.nn.relu(x, name="relu"))
    expected = """
        _arg_x_0 = _Arg()
        pool/_first = MaxPool(_arg_x_0)
        pool = Relu(pool/_first)
        -> pool"""
    assert same(rewritten([x], [y], simplify_pooling), expected)
    same_values([y], {x: IMAGES})


def test_a_relu_that_has_other_consumers_stays():
    x = images()
    relu = tf.nn.relu(x, name="relu")
    for fetches in ([pool(relu), relu], [pool(relu), tf.exp(relu)]):
        assert rewritten([x], fetches, simplify_pooling).fetches[0].node.type == "MaxPool"


def test_a_relu_that_waits_stays():
    x = images()
    with tf.control_dependencies([tf.py_func(lambda: np.float32(0), [], tf.float32)]):
        relu = tf.nn.relu(x)
    assert rewritten([x], [pool(relu)], simplify_pooling).fetches[0].node.type == "MaxPool"


def test_an_average_is_not_the_same_after_a_relu():
    x = images()
    y = tf.nn.avg_pool(tf.nn.relu(x), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    assert rewritten([x], [y], simplify_pooling).fetches[0].node.type == "AvgPool"


def test_the_gradient_takes_the_indices_of_the_maxima():
    x = images()
    y = pool(x)
    (gradient,) = tf.gradients(y, x)
    step = rewritten([x], [y, gradient], simplify_pooling)
    assert "MaxPool" not in types(step) and "MaxPoolGrad" not in types(step)
    forward, backward = (output.node for output in step.fetches)
    assert forward.type == "_MaxPoolIndexed" and backward.type == "_MaxPoolIndexedGrad"
    assert [(output.node.type, output.index) for output in backward.inputs[:2]] == [("_Arg", 0), ("_MaxPoolIndexed", 1)]
    same_values([y, gradient], {x: IMAGES})


def test_without_a_gradient_there_are_no_indices():
    x = images()
    assert types(rewritten([x], [pool(x)], simplify_pooling)) == ["MaxPool", "_Arg"]


def test_gradients_of_relu_and_bias_are_computed_at_the_pooled_size():
    x = images()
    bias = tf.placeholder(tf.float32, [3], name="bias")
    y = pool(tf.nn.relu(tf.nn.bias_add(x, bias)))
    gradients = tf.gradients(y, [x, bias])
    step = rewritten([x, bias], gradients, simplify_pooling)
    shapes = {node.type: node.input_shape(0) for node in step.nodes if node.type in ("ReluGrad", "BiasAddGrad")}
    assert shapes == {"ReluGrad": (2, 2, 2, 3), "BiasAddGrad": (2, 2, 2, 3)}
    same_values(gradients, {x: IMAGES, bias: [0.1, -0.2, 0.3]}, 1e-6)


def test_a_bias_that_differs_within_a_window_stays():
    x = images()
    bias = tf.placeholder(tf.float32, [3], name="bias")
    y = tf.nn.max_pool(tf.nn.bias_add(x, bias), [1, 1, 1, 3], [1, 1, 1, 3], "SAME")
    assert rewritten([x, bias], [y], pool_before_bias).fetches[0].node.type == "MaxPool"


def test_a_bias_moves_behind_a_pool_for_accelerators():
    x = images()
    bias = tf.placeholder(tf.float32, [3], name="bias")
    y = pool(tf.nn.bias_add(x, bias))
    step = rewritten([x, bias], [y], pool_before_bias)
    expected = """
        _arg_x_0 = _Arg()
        _arg_bias_0 = _Arg()
        pool/_first = MaxPool(_arg_x_0)
        pool = BiasAdd(pool/_first, _arg_bias_0)
        -> pool"""
    assert same(step, expected)


def test_a_bias_inside_of_a_convolution_moves_too():
    x, bias = images(), tf.placeholder(tf.float32, [5], name="bias")
    filters = tf.placeholder(tf.float32, [3, 3, 3, 5], name="filters")
    y = pool(tf.nn.bias_add(tf.nn.conv2d(x, filters, strides=[1, 1, 1, 1], padding="SAME"), bias))
    step = rewritten([x, filters, bias], [y], fuse, pool_before_bias)
    assert types(step) == ["BiasAdd", "Conv2D", "MaxPool", "_Arg", "_Arg", "_Arg"]
    assert step.fetches[0].node.type == "BiasAdd"
