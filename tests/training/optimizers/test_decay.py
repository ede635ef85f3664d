from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.optimizers import decay


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def check(schedule: Callable[[Any], Any], expected: Callable[[int], float], steps: Any = range(0, 40, 3)) -> None:
    """Compares a schedule with a formula at some steps, for 64- and 32-bit steps and for rates of both precisions."""
    for dtype in ("int64", "int32"):
        step = placeholder(dtype, [])
        rate = schedule(step)
        assert rate.dims == ()
        with Session() as session:
            values = [session.run(rate, {step: i}) for i in steps]
        np.testing.assert_allclose(values, [expected(i) for i in steps], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("staircase", [False, True])
def test_exponential_decays(staircase: bool) -> None:
    def periods(step: int) -> float:
        return step // 10 if staircase else step / 10

    check(lambda s: decay.exponential_decay(0.5, s, 10, 0.9, staircase), lambda i: 0.5 * 0.9 ** periods(i))
    check(lambda s: decay.natural_exp_decay(0.5, s, 10, 0.3, staircase), lambda i: 0.5 * math.exp(-0.3 * periods(i)))
    check(lambda s: decay.inverse_time_decay(0.5, s, 10, 0.3, staircase), lambda i: 0.5 / (1 + 0.3 * periods(i)))


def test_float64_rates_keep_their_precision() -> None:
    rate = decay.exponential_decay(np.float64(0.1), constant(7), 3, np.float64(0.9))
    assert rate.dtype.name == "float64"
    with Session() as session:
        assert session.run(rate) == pytest.approx(0.1 * 0.9 ** (7 / 3), rel=1e-14)


def test_piecewise_constant() -> None:
    def expected(step: int) -> float:
        return 1.0 if step <= 6 else 0.5 if step <= 12 else 0.25

    check(lambda s: decay.piecewise_constant(s, [6, 12], [1.0, 0.5, 0.25]), expected)
    assert decay.piecewise_constant_decay is decay.piecewise_constant


def test_piecewise_constant_of_floats() -> None:
    x = placeholder("float32", [])
    rate = decay.piecewise_constant(x, [1.5], [3, 7])
    with Session() as session:
        assert [session.run(rate, {x: value}) for value in (-9.0, 1.5, 1.6)] == [3, 3, 7]


def test_piecewise_constant_checks_its_lists() -> None:
    with pytest.raises(ValueError, match="boundaries need"):
        decay.piecewise_constant(constant(1), [5], [0.1])
    with pytest.raises(ValueError, match="expected one dtype"):
        decay.piecewise_constant(constant(1), [5.0], [0.1, 0.2])
    with pytest.raises(ValueError, match="differ in dtype"):
        decay.piecewise_constant(constant(1), [5], [0.1, 2])


@pytest.mark.parametrize("power", [1.0, 0.5, 2.0])
def test_polynomial_decay(power: float) -> None:
    def expected(step: int) -> float:
        return (0.5 - 0.01) * (1 - min(step, 20) / 20) ** power + 0.01

    check(lambda s: decay.polynomial_decay(0.5, s, 20, 0.01, power), expected)


def test_polynomial_decay_cycles() -> None:
    def expected(step: int) -> float:
        steps = 10 * max(1, math.ceil(step / 10))
        return (0.5 - 0.01) * (1 - step / steps) + 0.01

    check(lambda s: decay.polynomial_decay(0.5, s, 10, 0.01, cycle=True), expected, range(0, 45, 5))


def test_cosine_decay() -> None:
    def expected(step: int) -> float:
        cosine = 0.5 * (1 + math.cos(math.pi * min(step, 20) / 20))
        return 0.5 * (0.9 * cosine + 0.1)

    check(lambda s: decay.cosine_decay(0.5, s, 20, 0.1), expected)


@pytest.mark.parametrize("t_mul", [1.0, 2.0, 1.5])
@pytest.mark.parametrize("m_mul", [1.0, 0.7])
def test_cosine_decay_restarts(t_mul: float, m_mul: float) -> None:
    def expected(step: int) -> float:
        start, length, height = 0.0, 10.0, 1.0
        while step >= start + length:
            start, length, height = start + length, length * t_mul, height * m_mul
        cosine = 0.5 * height * (1 + math.cos(math.pi * (step - start) / length))
        return 0.5 * (0.9 * cosine + 0.1)

    check(lambda s: decay.cosine_decay_restarts(0.5, s, 10, t_mul, m_mul, 0.1), expected, range(0, 75))


def linear_cosine(step: int) -> float:
    fraction = min(step, 20) / 20
    return 0.5 * ((0.1 + 1 - fraction) * 0.5 * (1 + math.cos(math.pi * 2 * 0.75 * fraction)) + 0.01)


def test_linear_cosine_decay() -> None:
    check(lambda s: decay.linear_cosine_decay(0.5, s, 20, 0.75, 0.1, 0.01), linear_cosine)


def test_noisy_linear_cosine_decay() -> None:
    check(lambda s: decay.noisy_linear_cosine_decay(0.5, s, 20, 0.0, 0.55, 0.75, 0.1, 0.01), linear_cosine)
    rate = decay.noisy_linear_cosine_decay(0.5, constant(3), 20)
    with Session() as session:
        assert session.run(rate) != session.run(rate)


@pytest.mark.parametrize(
    "schedule",
    [
        lambda: decay.exponential_decay(0.1, None, 1, 0.9),
        lambda: decay.natural_exp_decay(0.1, None, 1, 0.9),
        lambda: decay.inverse_time_decay(0.1, None, 1, 0.9),
        lambda: decay.polynomial_decay(0.1, None, 1),
        lambda: decay.cosine_decay(0.1, None, 1),
        lambda: decay.cosine_decay_restarts(0.1, None, 1),
        lambda: decay.linear_cosine_decay(0.1, None, 1),
        lambda: decay.noisy_linear_cosine_decay(0.1, None, 1),
    ],
)
def test_the_step_is_required(schedule: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match="global_step is required"):
        schedule()
