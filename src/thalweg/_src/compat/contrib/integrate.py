"""tf.contrib.integrate: ordinary differential equations, with adaptive and with fixed steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.control_flow.tensor_array import TensorArray
from thalweg._src.graph.control_flow.while_loop import while_loop
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_less
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import abs as absolute, add_n, ceil, maximum, minimum, sqrt, square
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.reduction import reduce_all, reduce_mean
from thalweg._src.graph.ops.reshape import expand_dims, shape
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

Function = Callable[[Tensor, Tensor], Any]

# The method of Dormand and Prince, of order 5 with an estimate of order 4.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    35 / 384 - 1951 / 21600,
    0,
    500 / 1113 - 22642 / 50085,
    125 / 192 - 451 / 720,
    -2187 / 6784 + 12231 / 42400,
    11 / 84 - 649 / 6300,
    -1 / 60,
)
_MIDDLE = (  # the solution in the middle of a step
    6025192743 / 30085553152 / 2,
    0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)


def _combined(dt: Tensor, weights: Sequence[float], slopes: Sequence[Tensor]) -> Tensor:
    scale = cast(dt, slopes[0].dtype)
    return add_n([(weight * scale) * slope for weight, slope in zip(weights, slopes) if weight])


def _stages(func: Function, y: Tensor, slope: Tensor, t: Tensor, dt: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Returns the solution after a step, and the slopes of all stages, the last of them at its end."""
    slopes = [slope]
    after = y
    for time, weights in zip(_TIMES, _STAGES):
        after = y + _combined(dt, weights, slopes)
        slopes.append(convert_to_tensor(func(after, t + time * dt)))
    return after, slopes


def _polynomial(y: Tensor, after: Tensor, slopes: Sequence[Tensor], dt: Tensor) -> list[Tensor]:
    """Returns the coefficients of the quartic through start, middle and end of a step, highest first."""
    middle = y + _combined(dt, _MIDDLE, slopes)
    start, end = (cast(dt, y.dtype) * slope for slope in (slopes[0], slopes[-1]))
    return [
        -2.0 * start + 2.0 * end - 8.0 * y - 8.0 * after + 16.0 * middle,
        5.0 * start - 3.0 * end + 18.0 * y + 14.0 * after - 32.0 * middle,
        -4.0 * start + end - 11.0 * y - 5.0 * after + 16.0 * middle,
        start,
        y,
    ]


def _evaluated(coefficients: Sequence[Tensor], start: Tensor, end: Tensor, t: Tensor) -> Tensor:
    x = cast((t - start) / (end - start), coefficients[0].dtype)
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _error_ratio(error: Tensor, y: Tensor, after: Tensor, rtol: Tensor, atol: Tensor) -> Tensor:
    tolerance = atol + rtol * maximum(absolute(y), absolute(after))
    return sqrt(reduce_mean(square(absolute(error) / cast(tolerance, absolute(error).dtype))))


def _adapted(dt: Tensor, ratio: Tensor, safety: float, ifactor: float, dfactor: float) -> Tensor:
    """Returns the next step size by the error ratio of this one."""
    ratio = cast(ratio, dt.dtype)
    least = cond(ratio < 1, lambda: constant(1.0, dt.dtype), lambda: constant(dfactor, dt.dtype))
    factor = maximum(ratio, 1e-10) ** -0.2 * safety
    return dt * minimum(maximum(factor, least), ifactor)


@export("contrib.integrate.odeint")
def odeint(
    func: Function,
    y0: TensorLike,
    t: TensorLike,
    rtol: TensorLike = 1e-6,
    atol: TensorLike = 1e-12,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    full_output: bool = False,
    name: str | None = None,
) -> Any:
    """Returns the solution of dy/dt = func(y, t) at given times, by the adaptive method of Dormand and Prince.

    Args:
        func: Function from the solution and the time to the derivative of the solution.
        y0: The solution at the first time.
        t: Increasing times, a vector.
        rtol: Relative error of a step at most.
        atol: Absolute error of a step at most.
        method: "dopri5", or None for the same.
        options: "first_step", "safety", "ifactor", "dfactor" and "max_num_steps" between two times.
        full_output: Whether a dictionary with "num_func_evals", "integrate_points" and "error_ratio" is returned too.
        name: A name for the operations that are added to the graph.
    """
    if method not in (None, "dopri5"):
        raise ValueError(f"invalid method: {method!r}, expected 'dopri5'")
    settings = {"first_step": None, "safety": 0.9, "ifactor": 10.0, "dfactor": 0.2, "max_num_steps": 1000}
    unknown = set(options or {}) - settings.keys()
    if unknown:
        raise ValueError(f"options: expected some of {sorted(settings)}, received {sorted(unknown)}")
    settings.update(options or {})
    with name_scope(name, "odeint", [y0, t]):
        times = convert_to_tensor(t, preferred_dtype=dtypes.float64, name="t")
        start = convert_to_tensor(y0, name="y0")
        if not (start.dtype.is_floating or start.dtype.is_complex) or not times.dtype.is_floating:
            raise TypeError(f"expected floats, received y0 of {start.dtype.name} and t of {times.dtype.name}")
        solution, points, ratios = _adaptive(func, start, times, rtol, atol, settings)
        if not full_output:
            return solution
        count = shape(points)[0]
        return solution, {"num_func_evals": 6 * count + 1, "integrate_points": points, "error_ratio": ratios}


def _adaptive(
    func: Function, start: Tensor, times: Tensor, rtol: object, atol: object, settings: dict[str, Any]
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the solution at all times, and the ends and the error ratios of all attempted steps."""
    real = absolute(start).dtype
    rtol, atol = convert_to_tensor(rtol, real), convert_to_tensor(atol, real)
    increasing = Assert(reduce_all(times[1:] > times[:-1]), ["t must be monotonic increasing"])
    with control_dependencies([increasing]):
        count = identity(shape(times)[0])
    slope = convert_to_tensor(func(start, times[0]))
    first = settings["first_step"]
    first = 0.01 * (times[-1] - times[0]) if first is None else first
    step = convert_to_tensor(first, times.dtype)
    flat = [start] * 4  # of the polynomial before the first step, which is never evaluated

    def advance(steps: Tensor, *state: Any) -> tuple[Any, ...]:
        y, f, t0, t1, dt, *rest = state
        coefficients, (number, points, ratios) = rest[:5], rest[5:]
        within = assert_less(steps, settings["max_num_steps"], message="max_num_steps exceeded")
        progress = Assert(t1 + dt > t1, ["underflow in dt", dt])
        with control_dependencies([op for op in (within, progress) if op is not None]):
            dt = identity(dt)
        after, slopes = _stages(func, y, f, t1, dt)
        ratio = _error_ratio(_combined(dt, _ERROR, slopes), y, after, rtol, atol)
        accepted = ratio <= 1
        fitted = _polynomial(y, after, slopes, dt)
        chosen = cond(
            accepted,
            lambda: [after, slopes[-1], t1, t1 + dt, *fitted],
            lambda: [identity(tensor) for tensor in (y, f, t0, t1, *coefficients)],
        )
        following = _adapted(dt, ratio, settings["safety"], settings["ifactor"], settings["dfactor"])
        points, ratios = points.write(number, t1 + dt), ratios.write(number, ratio)
        return steps + 1, *chosen[:4], following, *chosen[4:], number + 1, points, ratios

    def to_next(i: Tensor, results: Any, *state: Any) -> tuple[Any, ...]:
        target = times[i]
        _, *after = while_loop(
            lambda steps, y, f, t0, t1, *rest: target > t1,
            advance,
            [constant(0), *state],
        )
        value = _evaluated(after[5:10], after[2], after[3], target)
        return i + 1, results.write(i, value), *after

    def history(dtype: DTypeLike) -> Any:
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=())

    results = TensorArray(start.dtype, size=count).write(0, start)
    state = [start, slope, times[0], times[0], step, *flat, start, constant(0), history(times.dtype), history(real)]
    _, results, *state = while_loop(lambda i, *rest: i < count, to_next, [constant(1), results, *state])
    solution = results.stack()
    solution.set_shape([times.shape.as_list()[0], *start.shape.as_list()] if start.shape.ndims is not None else None)
    return solution, state[-2].stack(), state[-1].stack()


# -- fixed steps ------------------------------------------------------------------------------------------------------


def _midpoint(func: Function, y: Tensor, t: Tensor, dt: Tensor) -> Tensor:
    size = cast(dt, y.dtype)
    after: Tensor = y + size * func(y + func(y, t) * (size / 2.0), t + dt / 2.0)
    return after


def _classic(func: Function, y: Tensor, t: Tensor, dt: Tensor) -> Tensor:
    """One step of the classic Runge-Kutta method."""
    size = cast(dt, y.dtype)
    first = func(y, t)
    second = func(y + first * (size / 2.0), t + dt / 2.0)
    third = func(y + second * (size / 2.0), t + dt / 2.0)
    fourth = func(y + third * size, t + dt)
    after: Tensor = y + (first + 2.0 * second + 2.0 * third + fourth) * (size / 6.0)
    return after


_METHODS = {"midpoint": _midpoint, "rk4": _classic}


@export("contrib.integrate.odeint_fixed")
def odeint_fixed(
    func: Function,
    y0: TensorLike,
    t: TensorLike,
    dt: TensorLike | None = None,
    method: str = "rk4",
    name: str | None = None,
) -> Tensor:
    """Returns the solution of dy/dt = func(y, t) at given times, by steps of a fixed size.

    Args:
        func: Function from the solution and the time to the derivative of the solution.
        y0: The solution at the first time.
        t: Increasing times, a vector.
        dt: Size of a step at most, a scalar or one number for each interval; None takes one step for each interval.
        method: "rk4" or "midpoint".
        name: A name for the operations that are added to the graph.
    """
    if method not in _METHODS:
        raise ValueError(f"method not supported: {method}, expected one of {sorted(_METHODS)}")
    with name_scope(name, "odeint_fixed", [y0, t]):
        times = convert_to_tensor(t, preferred_dtype=dtypes.float64, name="t")
        start = convert_to_tensor(y0, name="y0")
        intervals = times[1:] - times[:-1]
        largest = intervals if dt is None else convert_to_tensor(dt, times.dtype)
        counts = cast(maximum(ceil(intervals / largest - 1e-9), 1.0), dtypes.int32)
        sizes = intervals / cast(counts, times.dtype)
        number = shape(intervals)[0]

        def interval(i: Tensor, y: Tensor, results: Any) -> tuple[Any, ...]:
            _, after = while_loop(
                lambda step, value: step < counts[i],
                lambda step, value: (
                    step + 1,
                    _METHODS[method](func, value, times[i] + cast(step, times.dtype) * sizes[i], sizes[i]),
                ),
                [constant(0), y],
            )
            return i + 1, after, results.write(i, after)

        results = TensorArray(start.dtype, size=number)
        _, _, results = while_loop(lambda i, *rest: i < number, interval, [constant(0), start, results])
        solution = concat([expand_dims(start, 0), results.stack()], 0)
        if start.shape.ndims is not None:
            solution.set_shape([times.shape.as_list()[0], *start.shape.as_list()])
        return solution
