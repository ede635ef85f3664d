from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.optimizers.moving_averages import (
    ExponentialMovingAverage,
    assign_moving_average,
    weighted_moving_average,
)
from thalweg._src.training.variables.variable_scope import variable_scope
from thalweg._src.training.variables.variables import (
    Variable,
    global_variables,
    global_variables_initializer,
    moving_average_variables,
)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def test_average_of_a_variable_starts_at_its_initial_value() -> None:
    w = Variable([1.0, 2.0], name="w")
    ema = ExponentialMovingAverage(0.9)
    assert ema.average(w) is None
    assert ema.average_name(w) == "w/ExponentialMovingAverage"
    step = w.assign_add([1.0, 1.0])
    with control_dependencies([step]):
        update = ema.apply([w])
    average = ema.average(w)
    assert average.op.name == "w/ExponentialMovingAverage" == ema.average_name(w)
    assert not average.trainable and moving_average_variables() == [w]
    expected = value = np.array([1.0, 2.0])
    with Session() as session:
        session.run(global_variables_initializer())
        assert session.run(average).tolist() == [1.0, 2.0]
        for _ in range(3):
            session.run(update)
            value = value + 1
            expected = 0.9 * expected + 0.1 * value
        np.testing.assert_allclose(session.run(average), expected, rtol=1e-6)


def test_all_trainable_variables_by_default() -> None:
    w, x = Variable([1.0], name="w"), Variable([2.0], trainable=False)
    ema = ExponentialMovingAverage(0.5, name="shadow")
    ema.apply()
    assert ema.average(w).op.name == "w/shadow" and ema.average(x) is None
    assert ema.name == "shadow"


def test_apply_twice_creates_one_average() -> None:
    w = Variable([1.0], name="w")
    ema = ExponentialMovingAverage(0.5)
    ema.apply([w])
    first = ema.average(w)
    ema.apply([w])
    assert ema.average(w) is first and len(global_variables()) == 2


def test_few_updates_average_faster() -> None:
    w, count = Variable([0.0]), placeholder("int64", [])
    ema = ExponentialMovingAverage(0.99, num_updates=count)
    with control_dependencies([w.assign([1.0])]):
        update = ema.apply([w])
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(update, {count: 0})  # decay (1 + 0) / (10 + 0)
        np.testing.assert_allclose(session.run(ema.average(w)), [0.9], rtol=1e-6)


@pytest.mark.parametrize("zero_debias", [False, True])
def test_average_of_a_tensor_starts_at_zero(zero_debias: bool) -> None:
    x = placeholder("float32", [2])
    y = multiply(x, 2.0, name="y")
    ema = ExponentialMovingAverage(0.9, zero_debias=zero_debias)
    update = ema.apply([y])
    assert ema.average(y).op.name == "y/ExponentialMovingAverage"
    biased, values = np.zeros(2), [[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]]
    with Session() as session:
        session.run(global_variables_initializer())
        for i, value in enumerate(values):
            session.run(update, {x: value})
            biased = 0.9 * biased + 0.1 * 2 * np.array(value)
            expected = biased / (1 - 0.9 ** (i + 1)) if zero_debias else biased
            np.testing.assert_allclose(session.run(ema.average(y)), expected, rtol=1e-5)


def test_assign_moving_average_returns_the_value_after_it() -> None:
    w = Variable([4.0], name="w")
    moved = assign_moving_average(w, constant([0.0]), 0.75, zero_debias=False)
    with Session() as session:
        session.run(global_variables_initializer())
        assert session.run(moved).tolist() == [3.0]


def test_zero_debias_keeps_its_own_variables() -> None:
    w = Variable([0.0], trainable=False, name="w")
    first = assign_moving_average(w, constant([6.0]), 0.75)
    second = assign_moving_average(w, constant([6.0]), 0.75)
    names = {v.op.name for v in global_variables()}
    assert names == {"w", "w/biased", "w/local_step", "w/biased_1", "w/local_step_1"}
    with Session() as session:
        session.run(global_variables_initializer())
        for moved in (first, first, second):
            np.testing.assert_allclose(session.run(moved), [6.0], rtol=1e-6)


def test_weighted_moving_average() -> None:
    value, weight = placeholder("float32", []), placeholder("float32", [])
    average = weighted_moving_average(value, 0.5, weight)
    with Session() as session:
        session.run(global_variables_initializer())
        session.run(average, {value: 4.0, weight: 1.0})
        result = session.run(average, {value: 1.0, weight: 3.0})
    assert result == pytest.approx((4 * 0.25 + 1 * 3 * 0.5) / (0.25 + 3 * 0.5))


def test_variables_to_restore() -> None:
    with variable_scope("model"):
        w, other = Variable([1.0], name="w"), Variable([1.0], trainable=False, name="other")
    ema = ExponentialMovingAverage(0.9)
    names = ema.variables_to_restore()
    assert names == {"model/w/ExponentialMovingAverage": w, "model/other": other}
    ema.apply([w])
    restored = ema.variables_to_restore()
    assert restored["model/w/ExponentialMovingAverage"] is w and restored["model/other"] is other


def test_integers_have_no_average() -> None:
    with pytest.raises(TypeError, match="float16, float32 and float64 only"):
        ExponentialMovingAverage(0.9).apply([Variable([1])])
