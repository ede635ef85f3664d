"""Numeric gradient checking by central differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.tensor import Tensor

Array = np.ndarray[Any, Any]


@export("test.compute_gradient")
def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: object = None,
    extra_feed_dict: dict[Any, Any] | None = None,
) -> Any:
    """Returns the Jacobian of y by x (or by each of a list), symbolic and numeric: two arrays [x size, y size].

    Runs in the default session. A complex number counts as two real ones. x is x_init_value, or random.

    Args:
        x: The tensor, or list of tensors, to differentiate with respect to.
        x_shape: Shape of `x`, or a list of shapes.
        y: The tensor to differentiate.
        y_shape: Shape of `y`.
        x_init_value: Value of `x` to start from; random by default.
        delta: Step of the finite differences.
        init_targets: Operations to run first.
        extra_feed_dict: Further values to feed.
    """
    feeds = dict(extra_feed_dict or {})
    session = y.graph.session_for(None, y.name)
    for target in _as_list(init_targets):
        session.run(target)
    if not isinstance(x, list | tuple):
        return _one(session, convert_to_tensor(x), tuple(x_shape), y, tuple(y_shape), x_init_value, delta, feeds)
    values = [None] * len(x) if x_init_value is None else list(x_init_value)
    starts = [_start(t, tuple(s), v) for t, s, v in zip(map(convert_to_tensor, x), x_shape, values)]
    held = dict(zip(x, starts))  # while one x is perturbed, the others keep their initial values
    return [
        _one(session, convert_to_tensor(t), tuple(s), y, tuple(y_shape), held[t], delta, {**feeds, **held})
        for t, s in zip(x, x_shape)
    ]


@export("test.compute_gradient_error")
@parameters_of(compute_gradient)
def compute_gradient_error(**arguments: Any) -> float:
    """Returns the largest difference between the symbolic and the numeric Jacobian."""
    jacobians = compute_gradient(**arguments)
    pairs = jacobians if isinstance(jacobians, list) else [jacobians]
    errors = [np.abs(built - measured) for built, measured in pairs]
    return float(max((error.max() for error in errors if error.size), default=0.0))


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _start(x: Tensor, shape: tuple[int, ...], value: Any) -> Array:
    if not (x.dtype.is_floating or x.dtype.is_complex):
        raise ValueError(
            f"cannot differentiate with respect to {x.name!r} of type {x.dtype.name}: x must be floating or complex"
        )
    if value is None:
        value = np.random.random_sample(shape)
        value = value + 1j * np.random.random_sample(shape) if x.dtype.is_complex else value
    array = np.array(value, x.dtype.as_numpy_dtype)
    if array.shape != shape:
        raise ValueError(f"x_init_value has shape {array.shape}, x_shape is {shape}")
    return array


def _one(
    session: Any,
    x: Tensor,
    x_shape: tuple[int, ...],
    y: Tensor,
    y_shape: tuple[int, ...],
    value: Any,
    delta: float,
    feeds: dict[Any, Any],
) -> tuple[Array, Array]:
    start = _start(x, x_shape, value)
    built = _built(session, x, start, y, y_shape, feeds)
    return built, _measured(session, x, start, y, y_shape, delta, feeds)


def _reals(array: Array, dtype: dtypes.DType) -> Array:
    """Flattens an array to real numbers, two for each complex element."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(dtype.real_dtype.as_numpy_dtype) if dtype.is_complex else flat


def _count(shape: tuple[int, ...], dtype: dtypes.DType) -> int:
    return int(np.prod(shape, dtype=np.int64)) * (2 if dtype.is_complex else 1)


def _unit_vectors(shape: tuple[int, ...], dtype: dtypes.DType) -> Any:
    """Yields the unit vectors of a shape; for complex types both the real and the imaginary ones."""
    for index in range(_count(shape, dtype)):
        array = np.zeros(shape, dtype.as_numpy_dtype)
        if dtype.is_complex:
            array.reshape(-1)[index // 2] = 1j if index % 2 else 1
        else:
            array.reshape(-1)[index] = 1
        yield array


def _built(session: Any, x: Tensor, start: Array, y: Tensor, y_shape: tuple[int, ...], feeds: dict[Any, Any]) -> Array:
    """Returns the Jacobian that `gradients` computes, one column per real number in y."""
    rows, columns = _count(start.shape, x.dtype), _count(y_shape, y.dtype)
    jacobian = np.zeros((rows, columns), x.dtype.real_dtype.as_numpy_dtype)
    if not rows:
        return jacobian
    with y.graph.as_default():
        # One gradient with a fed weight serves for all columns: a unit vector as grad_ys selects one element of y.
        weight = convert_to_tensor(np.zeros(y_shape, y.dtype.as_numpy_dtype))
        grad = gradients(y, x, grad_ys=weight)[0]
    if grad is None:
        return jacobian
    run = {**feeds, x: start}
    for column, unit in enumerate(_unit_vectors(y_shape, y.dtype)):
        jacobian[:, column] = _reals(_dense(session.run(grad, {**run, weight: unit}), start), x.dtype)
    if not columns:
        _dense(session.run(grad, run), start)  # shows that an empty y does not break the gradient
    return jacobian


def _dense(value: Any, like: Array) -> Array:
    if not hasattr(value, "indices"):
        return np.asarray(value)
    result = np.zeros_like(like)
    np.add.at(result, value.indices, value.values)
    return result


def _measured(
    session: Any, x: Tensor, start: Array, y: Tensor, y_shape: tuple[int, ...], delta: float, feeds: dict[Any, Any]
) -> Array:
    """Returns the Jacobian by central differences, one row per real number in x."""
    rows, columns = _count(start.shape, x.dtype), _count(y_shape, y.dtype)
    jacobian = np.zeros((rows, columns), x.dtype.real_dtype.as_numpy_dtype)
    step = np.asarray(delta, x.dtype.as_numpy_dtype)
    for row, unit in enumerate(_unit_vectors(start.shape, x.dtype)):
        # Central differences: their error is of second order in delta.
        above = session.run(y, {**feeds, x: (start + step * unit).astype(start.dtype)})
        below = session.run(y, {**feeds, x: (start - step * unit).astype(start.dtype)})
        jacobian[row] = (_reals(above, y.dtype) - _reals(below, y.dtype)) / (2 * delta)
    return jacobian
