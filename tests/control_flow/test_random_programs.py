"""Random nested programs: the structured program, the token engine and numeric gradients agree."""

import numpy as np
import pytest

import thalweg as tf
from tests.control_flow.programs import COUNT, source
from thalweg._src.runtime import passes

X = np.array([0.31, -0.53, 0.72])  # at no kink of a program


def free(step):
    """Disables functionalization, so that control flow runs on the token engine."""
    step.is_unstructured = any(node.type in ("Merge", "Enter", "Switch") for node in step.nodes)
    if not step.is_unstructured:
        step.prune_and_sort()
    return step


def built(seed):
    names = {}
    exec(source(seed), names)
    x, p, n = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.bool, []), tf.placeholder(tf.int32, [])
    y = names["build"](tf, x, p, n)
    (g,) = tf.gradients(y, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    return x, p, n, y, g


@pytest.mark.parametrize("seed", range(2 * COUNT))
def test_engines_agree(seed, monkeypatch):
    x, p, n, y, g = built(seed)
    feeds = [{x: X, p: p_value, n: n_value} for p_value in (True, False) for n_value in (0, 2)]
    with tf.Session() as session:
        expected = [session.run([y, g], feed) for feed in feeds]
        for feed, (_, gradient) in zip(feeds[:2], expected):
            numeric = [
                (session.run(y, {**feed, x: X + d}).sum() - session.run(y, {**feed, x: X - d}).sum()) / 2e-6
                for d in np.eye(3) * 1e-6
            ]
            np.testing.assert_allclose(gradient, numeric, rtol=2e-4, atol=2e-5)
    monkeypatch.setattr(passes, "functionalize", free)
    with tf.Session() as session:
        for feed, (value, gradient) in zip(feeds, expected):
            actual = session.run([y, g], feed)
            np.testing.assert_allclose(actual[0], value, rtol=1e-12)
            np.testing.assert_allclose(actual[1], gradient, rtol=1e-12)


@pytest.mark.parametrize("seed", range(0, COUNT, 8))
def test_second_order(seed):
    x, p, n, _, g = built(seed)
    (gg,) = tf.gradients(g, x, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    feed = {x: X, p: True, n: 2}
    with tf.Session() as session:
        numeric = [
            (session.run(g, {**feed, x: X + d}).sum() - session.run(g, {**feed, x: X - d}).sum()) / 2e-6
            for d in np.eye(3) * 1e-6
        ]
        np.testing.assert_allclose(session.run(gg, feed), numeric, rtol=1e-3, atol=1e-4)
