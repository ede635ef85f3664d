"""Freezing: steps of a session that only infers have the values of variables in them, and no batch normalization."""

import numpy as np
import pytest

import thalweg as tf

IMAGES = np.random.default_rng(1).normal(size=(3, 9, 8, 4)).astype(np.float32)


def config(freezes):
    proto = tf.ConfigProto(device_count={"GPU": 0})  # whose variables stay where they are
    proto.experimental.freeze_variables = freezes
    return proto


def values(build, feed=IMAGES):
    """Returns the program and the result of a network, with and without freezing."""
    results = []
    for freezes in (False, True):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            x = tf.placeholder(tf.float32, [None, *feed.shape[1:]])
            y = build(x)
            with tf.Session(config=config(freezes)) as session:
                session.run(tf.global_variables_initializer())
                results.append((session.show_program(y, {x: feed}), session.run(y, {x: feed})))
    return results


def normalized(x, fused=True):
    random = tf.random_uniform_initializer(0.5, 2.0)
    initializers = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_variance"), random)
    return tf.layers.batch_normalization(
        x, fused=fused, **{f"{name}_initializer": initializer for name, initializer in initializers.items()}
    )


def depthwise(x):
    filter = tf.get_variable("filter", [3, 3, 4, 2], initializer=tf.random_normal_initializer())
    return tf.nn.depthwise_conv2d(x, filter, [1, 1, 1, 1], "SAME")


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.nn.relu(normalized(tf.layers.conv2d(x, 5, 3, use_bias=False))),
        lambda x: normalized(tf.layers.conv2d(x, 5, 3, 2, "same", use_bias=False)),
        lambda x: normalized(depthwise(x)),
        lambda x: normalized(tf.layers.conv2d(x, 5, 3, use_bias=False)) + x[:, :7, :6, :1],
    ],
)
def test_batch_normalization_becomes_part_of_a_convolution(build):
    (_, expected), (program, value) = values(build)
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
    assert "by_moments" not in program
    assert "read_" not in program


@pytest.mark.parametrize(
    "build",
    [
        lambda x: normalized(x),
        lambda x: normalized(tf.nn.relu(tf.layers.conv2d(x, 5, 3, use_bias=False))),
        lambda x: [normalized(y := tf.layers.conv2d(x, 5, 3, use_bias=False)), tf.reduce_sum(y)][0] * tf.reduce_sum(y),
    ],
)
def test_other_batch_normalization_stays(build):
    (_, expected), (program, value) = values(build)
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
    assert "by_moments" in program and "read_" not in program


def test_nan_and_infinity_pass_a_frozen_network():
    images = IMAGES.copy()
    images[0, 4, 4, 1], images[1, 4, 4, 1] = np.nan, np.inf
    (_, expected), (_, value) = values(lambda x: tf.nn.relu(tf.layers.conv2d(x, 5, 3, activation=tf.nn.relu)), images)
    np.testing.assert_array_equal(np.isnan(value), np.isnan(expected))
    np.testing.assert_allclose(value[2], expected[2], rtol=1e-4, atol=1e-5)


def test_loops_and_matrix_products_read_constants():
    def build(x):
        weights = tf.get_variable("weights", [4, 4], initializer=tf.random_normal_initializer())
        flat = tf.reshape(x, [-1, 4])
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.matmul(y, weights)), [0, flat])[1]

    (_, expected), (program, value) = values(build)
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
    assert "read_" not in program


def test_a_step_that_changes_a_variable_is_not_frozen():
    count = tf.get_variable("count", initializer=0)
    with tf.Session(config=config(True)) as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(tf.assign_add(count, 2)) for _ in range(3)] == [2, 4, 6]


def test_a_variable_without_a_value_is_reported_until_it_has_one():
    count = tf.get_variable("count", initializer=5)
    read = count + 1
    with tf.Session(config=config(True)) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            session.run(read)
        session.run(count.initializer)
        assert session.run(read) == 6
        assert session.run(count + 2) == 7


def test_the_filter_of_a_frozen_graph_is_packed_once():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 9, 8, 4])
        y = tf.nn.conv2d(x, np.random.default_rng(2).normal(size=(3, 3, 4, 5)).astype(np.float32), 1, "SAME")
        with tf.Session(config=config(False)) as session:
            assert "convolution_pointwise" in session.show_program(y, {x: IMAGES})
            value = session.run(y, {x: IMAGES})
            assert session.run(y, {x: IMAGES[:0]}).shape == (0, 9, 8, 5)
    with tf.Graph().as_default(), tf.Session() as session:
        filter = tf.placeholder(tf.float32, [3, 3, 4, 5])
        y = tf.nn.conv2d(IMAGES, filter, 1, "SAME")
        expected = session.run(y, {filter: np.random.default_rng(2).normal(size=(3, 3, 4, 5))})
    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
