"""Rarer layers of tf.contrib.layers against NumPy."""

import numpy as np
import pytest

import thalweg as tf

layers = tf.contrib.layers
RNG = np.random.default_rng(8)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches, feed)


def test_maxout():
    x = floats(2, 3, 8)
    np.testing.assert_allclose(run(layers.maxout(x, 4)), x.reshape(2, 3, 4, 2).max(-1))
    late = tf.placeholder(tf.float32, [None, 8])
    assert layers.maxout(late, 2).shape.as_list() == [None, 2]
    np.testing.assert_allclose(run(tf.contrib.slim.maxout(late, 2), {late: x[0]}), x[0].reshape(3, 2, 4).max(-1))
    with pytest.raises(ValueError, match="multiple of num_units"):
        layers.maxout(x, 3)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_spatial_softmax_finds_the_maximum(layout):
    x = np.zeros((2, 5, 3, 2), np.float32)
    x[0, 0, 2, 0] = x[0, 4, 0, 1] = x[1, 2, 1, :] = 1000.0
    given = x if layout == "NHWC" else x.transpose(0, 3, 1, 2)
    result = layers.spatial_softmax(given, temperature=2.0, data_format=layout)
    assert result.shape.as_list() == [2, 4]
    np.testing.assert_allclose(run(result), [[-1, 1, 1, -1], [0, 0, 0, 0]], atol=1e-5)
    assert tf.trainable_variables()[0].op.name == "spatial_softmax/temperature"


def test_bags_of_words():
    ids = np.array([[1, 3, 0], [2, 2, 2]])
    table = floats(5, 4)
    start = tf.constant_initializer(table)
    sparse = layers.bow_encoder(ids, 5, 4, initializer=start)
    dense = layers.bow_encoder(ids, 5, 4, sparse_lookup=False, initializer=start)
    got, full = run([sparse, dense])
    np.testing.assert_allclose(got, [table[[1, 3]].mean(0), table[2]], rtol=1e-6)
    np.testing.assert_allclose(full, [table[[1, 3, 0]].mean(0), table[2]], rtol=1e-6)
    with pytest.raises(TypeError, match="dense"):
        layers.bow_encoder(layers.dense_to_sparse(ids), 5, 4, sparse_lookup=False, scope="b")
    indices, values, shape = run(layers.dense_to_sparse(ids, eos_token=2))
    assert indices.tolist() == [[0, 0], [0, 1], [0, 2]] and values.tolist() == [1, 3, 0] and shape.tolist() == [2, 3]


def test_images_and_sequences():
    x = floats(2, 3, 4, 5)
    sequence = layers.images_to_sequence(x)
    np.testing.assert_allclose(run(sequence), x.reshape(6, 4, 5).transpose(1, 0, 2))
    np.testing.assert_allclose(run(layers.sequence_to_images(sequence, 3)), x)
    back = layers.sequence_to_images(sequence, 3, output_data_format="channels_first")
    np.testing.assert_allclose(run(back), x.transpose(0, 3, 1, 2))


def test_the_unit_ball_and_scaled_gradients():
    x = np.array([[3.0, 4.0], [0.1, 0.2]], np.float32)
    np.testing.assert_allclose(run(layers.poincare_normalize(x)), [[0.6, 0.8], [0.1, 0.2]], rtol=1e-4)
    v = tf.constant(x)
    np.testing.assert_allclose(run(tf.gradients(layers.scale_gradient(v, 0.25), v)[0]), np.full((2, 2), 0.25))
    again = layers.recompute_grad(lambda a: tf.sin(a))(v)
    np.testing.assert_allclose(run(tf.gradients(again, v)[0]), np.cos(x), rtol=1e-6)
    decorated = layers.recompute_grad(use_data_dep=True)(tf.sin)
    assert run(decorated(v)).shape == (2, 2)


def test_conv2d_in_plane():
    x = floats(2, 5, 6, 3)
    out = layers.conv2d_in_plane(
        x, [1, 2], padding="VALID", activation_fn=None, weights_initializer=tf.ones_initializer()
    )
    np.testing.assert_allclose(run(out), x[:, :, 1:] + x[:, :, :-1], rtol=1e-5, atol=1e-6)
    assert [v.op.name for v in tf.trainable_variables()] == ["ConvInPlane/weights", "ConvInPlane/biases"]


def test_the_first_fully_connected_layer():
    x = floats(2, 3, 4)
    out = layers.legacy_relu(x, 5, name="old")
    assert out.shape.as_list() == [2, 3, 5]
    weights, bias = tf.trainable_variables()
    assert (weights.op.name, bias.op.name) == ("old/weights", "old/bias")
    assert tf.get_collection(tf.GraphKeys.WEIGHTS) == [weights]
    got, w = run([out, weights])
    np.testing.assert_allclose(got, np.maximum(x @ w, 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("inverse", [False, True])
def test_divisive_normalization(rank, inverse):
    x = floats(*[2, 3, 4, 5][: rank - 1], 3)
    out = layers.gdn(x, inverse=inverse)
    np.testing.assert_allclose(run(out), x * np.sqrt(1 + 0.1 * x**2) ** (1 if inverse else -1), rtol=1e-4)
    assert all(g is not None for g in tf.gradients(out, tf.trainable_variables()))
