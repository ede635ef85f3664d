"""L-BFGS in the graph: solutions, agreement with SciPy in effort, and what a step leaves behind."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compat.contrib.opt.lbfgs import LBFGSOptimizer


def rosenbrock(x: Any) -> Any:
    return tf.reduce_sum(100.0 * tf.square(x[1:] - tf.square(x[:-1])) + tf.square(1.0 - x[:-1]))


def steps_until(session: Any, step: Any, loss: Any, limit: float, most: int) -> int:
    for count in range(1, most + 1):
        session.run(step)
        if session.run(loss) < limit:
            return count
    raise AssertionError(f"the loss is {session.run(loss)} after {most} steps")


@pytest.mark.parametrize("as_function", [True, False])
@pytest.mark.parametrize("start", [[-1.2, 1.0], [-1.2, 1.0, -0.5, 2.0, 0.3]])
def test_rosenbrock(start: list[float], as_function: bool) -> None:
    scipy_optimize = pytest.importorskip("scipy.optimize")
    x = tf.Variable(np.array(start))
    loss = rosenbrock(x)
    step = LBFGSOptimizer().minimize((lambda: rosenbrock(x)) if as_function else loss)
    theirs = scipy_optimize.minimize(
        scipy_optimize.rosen, start, jac=scipy_optimize.rosen_der, method="L-BFGS-B", options={"ftol": 1e-14}
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert steps_until(session, step, loss, 1e-12, 200) <= 1.5 * theirs.nit
        np.testing.assert_allclose(session.run(x), np.ones(len(start)), atol=1e-5)


def test_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 6)) * np.array([1, 2, 0.5, 1, 3, 1])
    labels = (features @ np.array([1, -0.2, 3, 0, 0.1, -1]) + rng.normal(size=200) > 0).astype("float64")
    w, b = tf.Variable(np.zeros((6, 1))), tf.Variable(np.zeros(()))
    x, y = tf.placeholder("float64", [None, 6]), tf.placeholder("float64", [None])
    logits = tf.matmul(x, w)[:, 0] + b
    data_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=logits))
    loss = data_loss + 1e-3 * tf.reduce_sum(tf.square(w))
    grads = tf.gradients(loss, [w, b])
    count = tf.train.get_or_create_global_step()
    step = LBFGSOptimizer().minimize(loss, global_step=count, var_list=[w, b])
    feeds = {x: features, y: labels}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run(loss, feeds)]
        for _ in range(30):
            session.run(step, feeds)
            losses.append(session.run(loss, feeds))
        assert session.run(count) == 30
        assert all(after <= before for before, after in pairwise(losses))
        assert max(np.abs(grad).max() for grad in session.run(grads, feeds)) < 1e-6


def test_a_quadratic_needs_few_steps() -> None:
    x, y = tf.Variable([3.0, -4.0]), tf.Variable([[2.0], [7.0]])
    loss = tf.reduce_sum(tf.square(x) * [1.0, 30.0]) + tf.reduce_sum(tf.square(y - 1.0) * 4.0)
    step = LBFGSOptimizer().minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert steps_until(session, step, loss, 1e-8, 20) <= 12
        np.testing.assert_allclose(session.run(y), [[1], [1]], atol=1e-3)


def test_a_loss_with_a_loop_is_given_as_a_function() -> None:
    x = tf.Variable(np.array([2.0, -3.0]))

    def loss() -> Any:
        _, total = tf.while_loop(
            lambda i, t: i < 3, lambda i, t: (i + 1, t + tf.square(x - 1.0)), [0, tf.zeros([2], "float64")]
        )
        return tf.reduce_sum(total)

    with pytest.raises(ValueError, match="give a function that builds the loss"):
        LBFGSOptimizer().minimize(loss())
    step = LBFGSOptimizer().minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(8):
            session.run(step)
        np.testing.assert_allclose(session.run(x), [1, 1], atol=1e-6)


def test_a_loss_with_a_conditional_as_a_function() -> None:
    x = tf.Variable(np.array([2.0, -3.0]))

    def loss() -> Any:
        size = tf.reduce_sum(tf.square(x - 1.0))
        return tf.cond(size > 1.0, lambda: size, lambda: 2.0 * size - 1.0)

    step = LBFGSOptimizer().minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(8):
            session.run(step)
        np.testing.assert_allclose(session.run(x), [1, 1], atol=1e-6)


def test_placeholders_and_random_numbers_are_fixed_during_a_step() -> None:
    x = tf.Variable(np.zeros(3))
    noise = tf.random_normal([3], dtype="float64", seed=1)
    loss = tf.reduce_sum(tf.square(x - noise))
    step = LBFGSOptimizer().minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seen = session.run([step, noise])[1]
        x1 = session.run(x)
        # One step of length at most 1 straight towards the noise of that step: no other draw came in.
        assert abs(np.cross(x1, seen)).max() < 1e-9 and x1 @ seen > 0


def test_variables_stay_without_descent() -> None:
    x = tf.Variable(np.array([1.0]))
    loss = tf.reduce_sum(x) + tf.stop_gradient(tf.reduce_sum(-2.0 * x))  # the gradient points the wrong way
    step = LBFGSOptimizer(max_evaluations=6).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(x).tolist() == [1.0]


def test_non_finite_values_shorten_the_step() -> None:
    x = tf.Variable(np.array([0.1]))
    loss = tf.reduce_sum(x - tf.log(x))  # NaN for what is negative
    step = LBFGSOptimizer().minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(15):
            session.run(step)
        np.testing.assert_allclose(session.run(x), [1.0], rtol=1e-6)


def test_nothing_changes_at_the_minimum() -> None:
    x = tf.Variable(np.zeros(2))
    optimizer = LBFGSOptimizer()
    step = optimizer.minimize(tf.reduce_sum(tf.square(x)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(x).tolist() == [0, 0]
        assert session.run(optimizer.variables()[0]) == 0
    assert [v.op.name for v in optimizer.variables()] == [
        f"LBFGS/{n}" for n in ("count", "steps", "changes", "weights")
    ]


def test_errors() -> None:
    x = tf.Variable([1.0])
    with pytest.raises(ValueError, match="must be positive"):
        LBFGSOptimizer(history=0)
    with pytest.raises(ValueError, match="armijo < curvature"):
        LBFGSOptimizer(armijo=0.9, curvature=0.1)
    with pytest.raises(ValueError, match="one floating type"):
        LBFGSOptimizer().minimize(tf.square(x), var_list=[x, tf.Variable(np.array([1.0]))])
    with pytest.raises(ValueError, match="No variables to optimize"):
        LBFGSOptimizer().minimize(tf.square(x), var_list=[])
    with pytest.raises(ValueError, match="no gradients"):
        LBFGSOptimizer().minimize(tf.constant(1.0), var_list=[x])
    with pytest.raises(TypeError, match="call minimize"):
        LBFGSOptimizer().apply_gradients([(tf.constant([1.0]), x)])
