"""Solvers outside of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.compat.contrib.opt.external import ExternalOptimizerInterface, ScipyOptimizerInterface

pytest.importorskip("scipy.optimize")


def test_unconstrained() -> None:
    x, y = tf.Variable([5.0, -3.0]), tf.Variable(np.ones((2, 2), "float32"))
    target = tf.placeholder("float32", [])
    loss = tf.reduce_sum(tf.square(x - target)) + tf.reduce_sum(tf.square(y + target))
    optimizer = ScipyOptimizerInterface(loss, options={"maxiter": 50})
    losses: list[float] = []
    points: list[Any] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        optimizer.minimize(
            session, {target: 2.0}, fetches=[loss], loss_callback=losses.append, step_callback=points.append
        )
        a, b = session.run([x, y])
    np.testing.assert_allclose(a, [2, 2], atol=1e-4)
    np.testing.assert_allclose(b, np.full((2, 2), -2), atol=1e-4)
    assert losses[-1] < 1e-6 < losses[0] and points[0].shape == (6,)


def test_constraints_and_bounds() -> None:
    x = tf.Variable(np.array([3.0, 3.0]))
    optimizer = ScipyOptimizerInterface(
        tf.reduce_sum(tf.square(x)),
        equalities=[x[0] + x[1] - 2.0],
        inequalities=[x[0] - 1.5],
        method="SLSQP",
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        optimizer.minimize(session)
        np.testing.assert_allclose(session.run(x), [1.5, 0.5], atol=1e-5)
    bounded = ScipyOptimizerInterface(tf.reduce_sum(tf.square(x)), var_to_bounds={x: (1.0, np.array([2.0, np.inf]))})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        bounded.minimize(session)
        np.testing.assert_allclose(session.run(x), [1, 1], atol=1e-6)


def test_a_custom_solver() -> None:
    class Newton(ExternalOptimizerInterface):
        """A solver for one quadratic."""

        def _minimize(self, initial_val: Any, loss_grad_func: Any, **_: Any) -> Any:
            return initial_val - loss_grad_func(initial_val)[1] / 2

    x = tf.Variable(np.array([3.0, -1.0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        Newton(tf.reduce_sum(tf.square(x)), [x]).minimize(session)
        assert session.run(x).tolist() == [0, 0]


def test_errors() -> None:
    x = tf.Variable([1.0])
    loss = tf.reduce_sum(tf.square(x))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(ValueError, match="var_to_bounds"):
            ScipyOptimizerInterface(loss, bounds=[(0, 1)]).minimize(session)
        with pytest.raises(ValueError, match="set automatically"):
            ScipyOptimizerInterface(loss, jac=False).minimize(session)
        with pytest.raises(NotImplementedError, match="defines no _minimize"):
            ExternalOptimizerInterface(loss).minimize(session)
    with pytest.raises(ValueError, match="needs a session"):
        ScipyOptimizerInterface(loss).minimize()
