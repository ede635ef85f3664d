"""tf.contrib.integrate, on equations with known solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

integrate = tf.contrib.integrate
TIMES = np.array([0.0, 0.3, 1.0, 1.1, 4.0])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feed)


def test_an_exponential_to_the_given_accuracy() -> None:
    solution, info = integrate.odeint(lambda y, t: -y, np.array([1.0, 2.0]), TIMES, rtol=1e-8, full_output=True)
    assert solution.shape.as_list() == [5, 2]
    found, details = run([solution, info])
    np.testing.assert_allclose(found, np.exp(-TIMES)[:, None] * [1, 2], rtol=1e-7)
    assert details["integrate_points"][-1] >= 4.0 and len(details["error_ratio"]) == len(details["integrate_points"])
    assert details["num_func_evals"] == 6 * len(details["error_ratio"]) + 1


def test_the_time_and_complex_values() -> None:
    by_time, turning = (
        integrate.odeint(lambda y, t: 3.0 * t**2, tf.constant(1.0, tf.float64), TIMES),
        integrate.odeint(lambda y, t: 1j * y, tf.constant(1.0, tf.complex128), TIMES),
    )
    found = run([by_time, turning])
    np.testing.assert_allclose(found[0], 1 + TIMES**3, rtol=1e-6)
    np.testing.assert_allclose(found[1], np.exp(1j * TIMES), rtol=1e-5)


def test_steps_shrink_where_the_error_is_large() -> None:
    _, info = integrate.odeint(lambda y, t: -200.0 * (y - tf.cos(t)), np.float64(0), [0.0, 1.0], full_output=True)
    ratios = run(info["error_ratio"])
    assert (ratios > 1).any() and len(ratios) > 50


def test_gradients_reach_start_and_parameters() -> None:
    start, rate = tf.constant(2.0, tf.float64), tf.constant(0.5, tf.float64)
    end = integrate.odeint(lambda y, t: -rate * y, start, [0.0, 2.0])[-1]
    by_start, by_rate = run(tf.gradients(end, [start, rate]))
    np.testing.assert_allclose([by_start, by_rate], [np.exp(-1), -4 * np.exp(-1)], rtol=1e-4)


@pytest.mark.parametrize(("method", "dt", "order"), [("rk4", 0.1, 4), ("midpoint", 0.05, 2), ("rk4", None, 1)])
def test_fixed_steps(method: str, dt: Any, order: int) -> None:
    found = run(integrate.odeint_fixed(lambda y, t: y * tf.cos(t), np.array([1.0]), TIMES[:4], dt, method))
    error = np.abs(found[:, 0] - np.exp(np.sin(TIMES[:4])))
    assert error.max() < {4: 1e-5, 2: 1e-3, 1: 5e-2}[order] and found.shape == (4, 1)


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid method"):
        integrate.odeint(lambda y, t: y, 1.0, [0.0, 1.0], method="euler")
    with pytest.raises(ValueError, match="options"):
        integrate.odeint(lambda y, t: y, 1.0, [0.0, 1.0], options={"steps": 3})
    with pytest.raises(TypeError, match="int32"):
        integrate.odeint(lambda y, t: y, 1, [0.0, 1.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="monotonic"):
        run(integrate.odeint(lambda y, t: y, 1.0, [1.0, 0.0]))
    few = integrate.odeint(lambda y, t: y, 1.0, [0.0, 1.0], rtol=1e-7, options={"max_num_steps": 2})
    with pytest.raises(tf.errors.InvalidArgumentError, match="max_num_steps"):
        run(few)
