"""Fused products whose bias is not contiguous in memory: a slice with steps, or one value for all channels."""

import numpy as np
import pytest

import thalweg as tf

RANDOM = np.random.RandomState(0)


def values(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def product(kind):
    """Returns a product that is fused with a bias, what to feed, and its value."""
    x, w = (values(2, 4, 4, 3), values(1, 1, 3, 8)) if kind == "conv2d" else (values(2, 600), values(600, 8))
    given = tf.placeholder(tf.float32, x.shape, name="x")
    if kind == "conv2d":
        return tf.nn.conv2d(given, w, [1, 1, 1, 1], "SAME"), {"x:0": x}, x @ w[0, 0]
    return tf.matmul(given, w), {"x:0": x}, x @ w


@pytest.mark.cpu_only(reason="the fused products are those of oneDNN")
@pytest.mark.parametrize("kind", ["conv2d", "matmul"])
def test_a_bias_with_strides_is_added(kind):
    with tf.Graph().as_default(), tf.Session() as session:
        many = values(16)
        source = tf.placeholder(tf.float32, [16], name="source")
        made, feeds, expected = product(kind)
        y = tf.nn.bias_add(made, source[::2])
        feeds["source:0"] = many
        assert "pointwise" in session.show_program(y, feeds)
        np.testing.assert_allclose(session.run(y, feeds), expected + many[::2], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", ["conv2d", "matmul"])
def test_a_bias_of_one_repeated_value_is_added(kind):
    with tf.Graph().as_default() as graph:
        made, feeds, expected = product(kind)
        tf.nn.bias_add(made, tf.constant(3.0, shape=[8]), name="y")
    for _ in range(20):  # what lies behind the value in memory differs
        with tf.Graph().as_default(), tf.Session() as session:
            tf.import_graph_def(graph.as_graph_def(), name="")
            np.testing.assert_allclose(session.run("y:0", feeds), expected + 3.0, rtol=1e-3, atol=1e-4)
