"""Clusters: the calls that they stand for, in programs and loops, compiled or not."""

import numpy as np
import pytest

import thalweg as tf
from tests.control_flow import programs
from thalweg.execute import cluster

JIT = tf.ConfigProto(
    graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(global_jit_level=tf.OptimizerOptions.ON_1))
)


@pytest.fixture
def uncompiled(monkeypatch):
    """Makes clusters run their calls one by one, as where there is no compiler."""
    monkeypatch.setattr(cluster, "_compile", lambda module, values: None)


def _cell():
    x = tf.placeholder(tf.float32, [4, 6], name="x")
    a, b, c = tf.split(x, 3, 1)
    y = tf.tanh(a) * tf.sigmoid(b + 1.0) + tf.where(c > 0, c, -c)
    return x, y, tf.gradients(y, x)[0]


def test_pure_nodes_become_one_line(uncompiled):
    x, y, gradient = _cell()
    value = np.random.RandomState(0).randn(4, 6)
    with tf.Session() as plain, tf.Session(config=JIT) as session:
        text = session.show_program([y, gradient], [x])
        assert text.count("= cluster(") == 1 and "tanh" not in text
        for ours, expected in zip(session.run([y, gradient], {x: value}), plain.run([y, gradient], {x: value})):
            np.testing.assert_allclose(ours, expected, rtol=1e-6)


def test_nothing_comes_between_the_nodes_of_a_cluster(uncompiled):
    """A product needs values of one cluster and gives some to the next."""
    x = tf.placeholder(tf.float32, [3, 3])
    before = tf.tanh(tf.sin(tf.exp(x) + 1.0))
    after = tf.tanh(tf.sin(tf.exp(tf.matmul(before, before)) + before))
    with tf.Session(config=JIT) as session, tf.Session() as plain:
        assert session.show_program(after, [x]).count("= cluster") == 2
        feed = {x: np.random.RandomState(0).randn(3, 3)}
        np.testing.assert_allclose(session.run(after, feed), plain.run(after, feed), rtol=1e-6)


@pytest.mark.parametrize("seed", range(0, programs.COUNT, 2))
def test_random_programs(seed, uncompiled):
    source = programs.source(seed)
    names = {}
    exec(source, names)
    x, p, n = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
    y = names["build"](tf, x, p, n)
    g = tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)[0]
    with tf.Session(config=JIT) as session, tf.Session() as plain:
        for side in (True, False):
            for count in (0, 2):
                feed = {x: [0.3, -0.5, 0.7], p: side, n: count}
                np.testing.assert_allclose(session.run([y, g], feed), plain.run([y, g], feed), rtol=1e-12)


def test_a_failure_inside_names_the_cluster(uncompiled):
    x = tf.placeholder(tf.float32, [None])
    y = tf.placeholder(tf.float32, [None])
    z = tf.exp(tf.sin(x) + tf.cos(y), name="z")
    with tf.Session(config=JIT) as session, pytest.raises(tf.errors.InvalidArgumentError, match="z"):
        session.run(z, {x: [1.0, 2.0], y: [1.0, 2.0, 3.0]})


@pytest.mark.slow
def test_compiled_for_the_layouts_it_meets():
    x = tf.placeholder(tf.float32, [None, 6])
    y = tf.tanh(x) * tf.sigmoid(x + 1.0)
    with tf.Session(config=JIT) as session, tf.Session() as plain:
        for rows in (2, 3, 2, 4, 5, 6, 7):
            value = np.random.RandomState(rows).randn(rows, 6)
            np.testing.assert_allclose(session.run(y, {x: value}), plain.run(y, {x: value}), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_compiled_loops_learn_the_same():
    x = tf.placeholder(tf.float32, [5, 4, 3])
    outputs, _ = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.BasicLSTMCell(8), x, sequence_length=[5, 1, 3, 0], dtype=tf.float32, time_major=True
    )
    loss = tf.reduce_mean(tf.square(outputs))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    value = np.random.RandomState(0).randn(5, 4, 3)
    losses, state = [], None
    for config in (None, JIT):
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            state = state or session.run(tf.global_variables())
            for variable, first in zip(tf.global_variables(), state):
                variable.load(first, session)
            losses.append([session.run([loss, train], {x: value})[0] for _ in range(5)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)
