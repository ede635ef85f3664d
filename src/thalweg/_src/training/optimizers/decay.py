"""Learning-rate schedules: learning rates as functions of the global step.

The schedules select by arithmetic instead of control flow, so that they cost only a few scalar operations per step.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, less_equal, not_equal
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.math import add, ceil, cos, divide, exp, floor, log, minimum, multiply, negative, pow, sqrt
from thalweg._src.graph.ops.random import random_normal
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

P = ParamSpec("P")
R = TypeVar("R")


def _schedule(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: in eager execution, a schedule is a function that computes the rate at the current global step."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        rate = function(*args, **kwargs)
        return functools.partial(function, *args, **kwargs) if executing_eagerly() else rate

    return call


def _require_step(global_step: TensorLike, what: str) -> None:
    if global_step is None:
        raise ValueError(f"global_step is required for {what}.")


def _rate(learning_rate: TensorLike) -> Any:
    return convert_to_tensor(learning_rate, name="learning_rate")


@export("train.exponential_decay")
@_schedule
def exponential_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns learning_rate * decay_rate ** (global_step / decay_steps); with `staircase` in whole periods.

    Args:
        learning_rate: The rate at the start.
        global_step: The global step, not negative.
    """
    _require_step(global_step, "exponential_decay")
    with name_scope(name, "ExponentialDecay", [learning_rate, global_step, decay_steps, decay_rate]) as scope:
        rate = _rate(learning_rate)
        periods = _periods(rate, global_step, decay_steps, staircase)
        return multiply(rate, pow(cast(decay_rate, rate.dtype), periods), name=scope)


@export("train.natural_exp_decay")
@_schedule
@parameters_of(exponential_decay)
def natural_exp_decay(global_step: TensorLike, decay_rate: TensorLike, **arguments: Any) -> Tensor:
    """Returns learning_rate * exp(-decay_rate * global_step / decay_steps); with `staircase` in whole periods."""
    _require_step(global_step, "natural_exp_decay")
    factor = exp(negative(convert_to_tensor(decay_rate)))
    return exponential_decay.__wrapped__(global_step=global_step, decay_rate=factor, **arguments)  # type: ignore[attr-defined, no-any-return]


@export("train.inverse_time_decay")
@_schedule
def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns learning_rate / (1 + decay_rate * global_step / decay_steps); with `staircase` in whole periods.

    Args:
        learning_rate: The rate at the start.
        global_step: The global step, not negative.
    """
    _require_step(global_step, "inverse_time_decay")
    with name_scope(name, "InverseTimeDecay", [learning_rate, global_step, decay_rate]) as scope:
        rate = _rate(learning_rate)
        periods = _periods(rate, global_step, decay_steps, staircase)
        return divide(rate, 1 + cast(decay_rate, rate.dtype) * periods, name=scope)


def _periods(rate: Tensor, global_step: TensorLike, decay_steps: TensorLike, staircase: bool) -> Any:
    periods = cast(global_step, rate.dtype) / cast(decay_steps, rate.dtype)
    return floor(periods) if staircase else periods


@export("train.piecewise_constant", "train.piecewise_constant_decay")
@_schedule
def piecewise_constant(
    x: TensorLike, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """Returns values[0] up to boundaries[0], values[1] up to boundaries[1], ..., and the last value beyond.

    Args:
        x: The step, a scalar.
        boundaries: Steps at which the value changes, in increasing order.
        values: The values, one more than boundaries.
    """
    boundaries, values = list(boundaries), list(values)
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            f"{len(boundaries)} boundaries need {len(boundaries) + 1} values, one per interval; received {len(values)}"
        )
    with name_scope(name, "PiecewiseConstant", [x, boundaries, values]):
        step = convert_to_tensor(x)
        limits = [_boundary(boundary, step.dtype) for boundary in boundaries]
        rates = [convert_to_tensor(value) for value in values]
        for rate in rates[1:]:
            if rate.dtype.base_dtype != rates[0].dtype.base_dtype:
                raise ValueError(f"the values differ in dtype: {rates[0].dtype.name} and {rate.dtype.name}")
        result = rates[-1]
        for limit, rate in zip(reversed(limits), reversed(rates[:-1])):
            result = where(less_equal(step, limit), rate, result)
        return result


piecewise_constant_decay = piecewise_constant


def _boundary(boundary: TensorLike, dtype: dtypes.DType) -> Tensor:
    tensor = convert_to_tensor(boundary)
    if tensor.dtype.base_dtype == dtype.base_dtype:
        return tensor
    if tensor.dtype.base_dtype == dtypes.int32 and dtype.base_dtype == dtypes.int64:
        return cast(tensor, dtypes.int64)  # type: ignore[no-any-return]
    raise ValueError(f"a boundary has dtype {tensor.dtype.name}, x has {dtype.name}: expected one dtype for both")


@export("train.polynomial_decay")
@_schedule
def polynomial_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that decays to the end rate as (1 - global_step / decay_steps) ** power.

    With `cycle`, `decay_steps` is replaced by its next multiple beyond the global step.

    Args:
        learning_rate: The rate at the start.
        global_step: The global step, not negative.
        decay_steps: Number of steps until the end rate is reached.
        power: Exponent of the polynomial.
    """
    _require_step(global_step, "polynomial_decay")
    values = [learning_rate, global_step, decay_steps, end_learning_rate, power]
    with name_scope(name, "PolynomialDecay", values) as scope:
        rate = _rate(learning_rate)
        dtype = rate.dtype
        step, steps = cast(global_step, dtype), cast(decay_steps, dtype)
        end = cast(end_learning_rate, dtype)
        if cycle:
            is_start = equal(step, constant(0, dtype))
            steps = steps * where(is_start, constant(1, dtype), ceil(step / steps))
        else:
            step = minimum(step, steps)
        return add((rate - end) * pow(1 - step / steps, cast(power, dtype)), end, name=scope)


@export("train.cosine_decay")
@_schedule
def cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    alpha: float | Tensor = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that decays along half a cosine to `alpha` times its initial value.

    Args:
        learning_rate: The rate at the start.
        global_step: The global step, not negative.
        alpha: The lowest rate, as a fraction of the first.
    """
    _require_step(global_step, "cosine decay")
    with name_scope(name, "CosineDecay", [learning_rate, global_step]):
        rate = _rate(learning_rate)
        steps = cast(decay_steps, rate.dtype)
        fraction = minimum(cast(global_step, rate.dtype), steps) / steps
        return multiply(rate, (1 - alpha) * _half_cosine(fraction) + alpha)


def _half_cosine(fraction: Tensor) -> Any:
    """Returns 1 at fraction 0 and 0 at fraction 1, along a cosine."""
    cosine: Any = cos(constant(math.pi, fraction.dtype) * fraction)
    return 0.5 * (1.0 + cosine)


@export("train.cosine_decay_restarts")
@_schedule
def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: TensorLike,
    first_decay_steps: TensorLike,
    t_mul: TensorLike = 2.0,
    m_mul: TensorLike = 1.0,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Tensor:
    """Returns consecutive cosine decays, each `t_mul` times as long and `m_mul` times as high as the previous one.

    Args:
        learning_rate: The rate at the start.
        global_step: The global step, not negative.
        alpha: The lowest rate, as a fraction of the first.
    """
    _require_step(global_step, "cosine decay restarts")
    with name_scope(name, "SGDRDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate)
        dtype = rate.dtype
        longer, higher, least = cast(t_mul, dtype), cast(m_mul, dtype), cast(alpha, dtype)
        periods = cast(global_step, dtype) / cast(first_decay_steps, dtype)
        # The geometric series divides by 1 - t_mul, so that periods of equal length need a formula of their own.
        grows = not_equal(longer, constant(1, dtype))
        ratio: Any = where(grows, longer, constant(2, dtype))
        restart: Any = log(1.0 - periods * (1.0 - ratio))
        # Slightly more than the rounding error, so that a cycle begins at its first step.
        index = floor(restart / log(ratio) + 1e-6)
        length: Any = pow(ratio, index)
        inside = (periods - (1.0 - length) / (1.0 - ratio)) / length
        restarts = where(grows, index, floor(periods))
        fraction = where(grows, inside, periods - floor(periods))
        decayed = (1 - least) * (pow(higher, restarts) * _half_cosine(fraction)) + least
        return multiply(rate, decayed, name=scope)


@export("train.linear_cosine_decay")
@_schedule
def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """Returns a rate that decays linearly, modulated by a cosine of `num_periods` periods.

    Args:
        learning_rate: The rate at the start.
        global_step: The global step, not negative.
        alpha: What is added to the linear factor.
        beta: What is added to the product.
    """
    _require_step(global_step, "linear cosine decay")
    with name_scope(name, "LinearCosineDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate)
        step, steps = _limited(rate, global_step, decay_steps)
        return _linear_cosine(rate, step, steps, (steps - step) / steps, num_periods, alpha, beta, scope)


@export("train.noisy_linear_cosine_decay")
@_schedule
def noisy_linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    initial_variance: TensorLike = 1.0,
    variance_decay: TensorLike = 0.55,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """Returns `linear_cosine_decay` with noise whose variance decreases with the steps.

    Args:
        learning_rate: The rate at the start.
        global_step: The global step, not negative.
        alpha: What is added to the linear factor.
        beta: What is added to the product.
    """
    _require_step(global_step, "noisy linear cosine decay")
    with name_scope(name, "NoisyLinearCosineDecay", [learning_rate, global_step]) as scope:
        rate = _rate(learning_rate)
        dtype = rate.dtype
        step, steps = _limited(rate, global_step, decay_steps)
        line = (steps - step) / steps
        variance = cast(initial_variance, dtype) / pow(1.0 + step, cast(variance_decay, dtype))
        noise = random_normal(shape(line), stddev=sqrt(variance), dtype=dtype)
        return _linear_cosine(rate, step, steps, line + noise, num_periods, alpha, beta, scope)


def _limited(rate: Tensor, global_step: TensorLike, decay_steps: TensorLike) -> tuple[Any, Any]:
    steps = cast(decay_steps, rate.dtype)
    return minimum(cast(global_step, rate.dtype), steps), steps


def _linear_cosine(
    rate: Tensor,
    step: Tensor,
    steps: TensorLike,
    line: Tensor,
    num_periods: TensorLike,
    alpha: TensorLike,
    beta: TensorLike,
    scope: str,
) -> Tensor:
    dtype = rate.dtype
    cosine = _half_cosine(2.0 * cast(num_periods, dtype) * (step / steps))
    return multiply(rate, (cast(alpha, dtype) + line) * cosine + cast(beta, dtype), name=scope)
