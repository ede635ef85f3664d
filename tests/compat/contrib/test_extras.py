"""Names of tf.contrib.framework, metrics, stateless, lookup and sparsemax."""

import logging

import numpy as np
import pytest

import thalweg as tf

contrib = tf.contrib
RNG = np.random.default_rng(6)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches, feed)


# -- metrics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_covariance_and_correlation_over_batches(weighted):
    x, y = RNG.normal(size=12).astype(np.float32), RNG.normal(size=12).astype(np.float32)
    w = RNG.integers(1, 4, 12).astype(np.float32) if weighted else np.ones(12, np.float32)
    a, b, c = (tf.placeholder(tf.float32, [None]) for _ in range(3))
    covariance = contrib.metrics.streaming_covariance(a, b, c if weighted else None)
    correlation = contrib.metrics.streaming_pearson_correlation(a, b, c if weighted else None)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert np.isnan(session.run(covariance[0]))
        for part in (slice(0, 5), slice(5, 6), slice(6, 12)):
            updated = session.run([covariance[1], correlation[1]], {a: x[part], b: y[part], c: w[part]})
        values = session.run([covariance[0], correlation[0]])
    expected = np.cov(x, y, fweights=w.astype(int))
    np.testing.assert_allclose(updated, values, rtol=1e-5)
    np.testing.assert_allclose(values[0], expected[0, 1], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        values[1], expected[0, 1] / np.sqrt(expected[0, 0] * expected[1, 1]), rtol=1e-4, atol=1e-6
    )


def test_concatenation_of_batches():
    x = tf.placeholder(tf.int32, [2, None])
    value, update = contrib.metrics.streaming_concat(x, axis=1)
    bounded, update_bounded = contrib.metrics.streaming_concat(x, axis=-1, max_size=4)
    assert value.shape.as_list() == [2, None]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(value).shape == (2, 0)
        session.run([update, update_bounded], {x: [[1, 2, 3], [4, 5, 6]]})
        last = session.run([update, update_bounded], {x: [[7, 8], [9, 0]]})
        assert last[0].tolist() == [[1, 2, 3, 7, 8], [4, 5, 6, 9, 0]]
        assert last[1].tolist() == [[1, 2, 3, 7], [4, 5, 6, 9]]
        assert session.run(bounded).tolist() == last[1].tolist()
    with pytest.raises(ValueError, match="axis"):
        contrib.metrics.streaming_concat(x, axis=2)


def test_the_best_f1():
    labels = np.array([1, 0, 1, 1, 0, 0, 1])
    predictions = np.array([0.9, 0.1, 0.8, 0.4, 0.35, 0.2, 0.7], np.float32)
    value, update = contrib.metrics.f1_score(labels, predictions)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update) == pytest.approx(1.0, abs=1e-5)
        assert session.run(value) == pytest.approx(1.0, abs=1e-5)
    assert run(contrib.metrics.confusion_matrix([0, 1, 1], [0, 1, 0])).tolist() == [[1, 0], [1, 1]]


# -- framework --------------------------------------------------------------------------------------------------------


def test_deprecation_is_logged_once(caplog):
    framework = contrib.framework

    @framework.deprecated("2030-01-01", "use new")
    def old(x):
        return x + 1

    @framework.deprecated_args(None, "leave y out", "y", ("z", None))
    def with_args(x, y=0, z=None):
        return x

    @framework.deprecated_arg_values(None, "give 2", x=1)
    def with_values(x):
        return x

    with caplog.at_level(logging.WARNING, logger="tensorflow"):
        tf.get_logger().propagate = True
        try:
            assert old(1) == old(1) == 2
            with_args(1)
            with_args(1, z=None)
            with_args(1, y=2)
            with_args(1, z=3)
            with_values(2)
            with_values(1)
        finally:
            tf.get_logger().propagate = False
    text = caplog.text
    assert text.count("use new") == 1 and text.count("leave y out") == 2 and text.count("give 2") == 1
    with pytest.raises(ValueError, match="no argument"):
        framework.deprecated_args(None, "x", "missing")(lambda a: a)
    with pytest.raises(ValueError, match="how to update"):
        framework.deprecated(None, "")


def test_graph_queries():
    framework = contrib.framework
    x = tf.placeholder(tf.float32, [2])
    with tf.name_scope("here"):
        assert framework.get_name_scope() == "here"
    assert framework.get_placeholders(tf.get_default_graph()) == [x]
    assert framework.get_graph_from_inputs([x, 3.0]) is x.graph
    with pytest.raises(ValueError, match="not from"):
        framework.get_graph_from_inputs([x], graph=tf.Graph())
    v = tf.Variable([1.0, 2.0])
    with tf.Session() as session:
        session.run(framework.zero_initializer(v))
        assert session.run(v).tolist() == [0.0, 0.0]
    chooser = framework.VariableDeviceChooser(num_tasks=2)
    assert [chooser(None) for _ in range(3)] == [
        "/job:ps/task:0/device:CPU:0",
        "/job:ps/task:1/device:CPU:0",
        "/job:ps/task:0/device:CPU:0",
    ]
    assert run(framework.py_func(lambda a: a * 2, [tf.constant(2.0)], tf.float32)) == 4.0


def test_forwarded_names():
    table = contrib.lookup.string_to_index_table_from_tensor(["a", "b"])
    assert run(table.lookup(tf.constant(["b", "c"]))).tolist() == [1, -1]
    seed = tf.constant([1, 2])
    first, again = run([contrib.stateless.stateless_random_uniform([3], seed)] * 2)
    np.testing.assert_array_equal(first, again)
    assert run(contrib.stateless.stateless_random_normal([3], seed)).shape == (3,)


# -- sparsemax --------------------------------------------------------------------------------------------------------


def nearest_on_simplex(z):
    ordered = np.sort(z)[::-1]
    sums = np.cumsum(ordered)
    k = max(i + 1 for i in range(len(z)) if 1 + (i + 1) * ordered[i] > sums[i])
    return np.maximum(z - (sums[k - 1] - 1) / k, 0)


@pytest.mark.parametrize("scale", [0.1, 1.0, 100.0])
def test_sparsemax(scale):
    z = RNG.normal(size=(5, 7)) * scale
    logits = tf.placeholder(tf.float64, [None, 7])
    chances = contrib.sparsemax.sparsemax(logits)
    got = run(chances, {logits: z})
    np.testing.assert_allclose(got, [nearest_on_simplex(row) for row in z], atol=1e-9)
    np.testing.assert_allclose(got.sum(1), np.ones(5))
    labels = np.eye(7)[[1, 2, 3, 4, 5]]
    loss = contrib.sparsemax.sparsemax_loss(logits, chances, labels)
    assert (run(loss, {logits: z}) >= -1e-9).all()
    np.testing.assert_allclose(run(tf.gradients(loss, logits)[0], {logits: z}), got - labels, atol=1e-8)


def test_sparsemax_of_non_finite_values():
    got = run(contrib.sparsemax.sparsemax(np.array([[np.nan, 1.0], [1.0, 2.0]], np.float32)))
    assert np.isnan(got[0]).all() and got[1].tolist() == [0.0, 1.0]
