"""Random nested programs: the structured program, the token engine and numeric gradients agree."""

import numpy as np
import pytest

import thalweg as tf
from tests.graph.control_flow.programs import COUNT, source
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


SEEDS = [*range(COUNT), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(COUNT, 2 * COUNT))]


@pytest.mark.parametrize("seed", SEEDS)
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


def results(session, fetches, feeds):
    """Returns the values of several steps; the last feed is run often enough to be captured on a GPU."""
    return [session.run(fetches, feed) for feed in [*feeds, *feeds[-1:] * 5]]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(50))
def test_devices_agree(part):
    """Runs 100 programs on the CPU and on the GPU."""
    with tf.Session() as session:
        if not any(device.device_type == "GPU" for device in session.list_devices()):
            pytest.skip("there is no GPU")
    for seed in range(100 * part, 100 * part + 100):
        with tf.Graph().as_default():
            x, p, n, y, g = built(seed)
            feeds = [{x: X, p: p_value, n: n_value} for p_value, n_value in [(True, 0), (False, 2), (True, 3)]]
            with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as session:
                expected = results(session, [y, g], feeds)
            with tf.Session() as session:
                for ours, others in zip(results(session, [y, g], feeds), expected, strict=True):
                    np.testing.assert_allclose(ours, others, rtol=1e-9, atol=1e-12, err_msg=source(seed))
