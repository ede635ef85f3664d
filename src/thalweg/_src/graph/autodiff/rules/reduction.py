"""Gradients of reductions and cumulative sums."""

from __future__ import annotations

import math
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.infer import complete, static_value
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater, logical_and
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.math import (
    add,
    conj,
    div_no_nan,
    exp,
    floordiv,
    floormod,
    log,
    maximum,
    multiply,
    negative,
    realdiv,
    subtract,
)
from thalweg._src.graph.ops.pad_tile import broadcast_to
from thalweg._src.graph.ops.reduction import (
    cumprod_op,
    cumsum_op,
    cumulative_logsumexp_op,
    reduce_any,
    reduce_prod,
    reduce_sum,
)
from thalweg._src.graph.ops.reshape import expand_dims, invert_permutation, ones_like, reshape, shape, size, transpose
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.ops.where import where, where_v2
from thalweg._src.graph.tensor import Tensor


def _axes(op: Operation) -> list[int] | None:
    """Returns the reduced axes in order, if they and the input's rank are known."""
    x, indices = op.inputs
    axes = complete(static_value(indices))
    if axes is None or x.dims is None:
        return None
    return sorted(axis % len(x.dims) for axis in axes.ravel().tolist())


def _is_reduced(op: Operation, sizes: Tensor) -> Tensor:
    """Returns for each dimension of the input whether it is reduced, as a tensor."""
    rank = size(sizes)
    axes = floormod(add(cast(reshape(op.inputs[1], [-1]), dtypes.int32), rank), rank)
    return reduce_any(equal(expand_dims(range_of(rank), 1), axes), 1)


def _with_reduced_axes(op: Operation, value: Tensor) -> Tensor:
    """Restores the reduced dimensions of a value of the output's shape, with size 1."""
    if op.attrs["keep_dims"]:
        return value
    axes, dims = _axes(op), op.inputs[0].dims
    if axes is None:
        sizes = shape(op.inputs[0])
        return reshape(value, where(_is_reduced(op, sizes), ones_like(sizes), sizes))
    assert dims is not None
    target = [1 if i in axes else d for i, d in enumerate(dims)]
    if None not in target:
        return reshape(value, target) if axes else value
    for axis in axes:
        value = expand_dims(value, axis)
    return value


def _spread(op: Operation, grad: Tensor) -> Tensor:
    """Broadcasts the gradient of each result to the elements it was reduced from."""
    return broadcast_to(_with_reduced_axes(op, grad), shape(op.inputs[0]))


def _count(op: Operation) -> Any:
    """Returns the number of elements that each result is reduced from."""
    x, y = op.inputs[0], op.outputs[0]
    axes = _axes(op)
    if axes is not None and x.dims is not None and all(x.dims[axis] is not None for axis in axes):
        return math.prod(x.dims[axis] or 0 for axis in axes)
    return cast(floordiv(size(x), maximum(size(y), 1)), y.dtype)


@gradient("Sum")
def sum(op: Operation, grad: Tensor) -> list[Any]:
    return [_spread(op, grad), None]


@gradient("Mean")
def mean(op: Operation, grad: Tensor) -> list[Any]:
    return [_spread(op, realdiv(grad, _count(op))), None]


@gradient("Max", "Min")
def extreme(op: Operation, grad: Tensor) -> list[Any]:
    """Elements that tie for the extreme value share the gradient."""
    x, axes = op.inputs
    selected = cast(equal(x, _with_reduced_axes(op, op.outputs[0])), grad.dtype)
    count = reduce_sum(selected, axes, keepdims=True)
    return [multiply(selected, realdiv(_with_reduced_axes(op, grad), count)), None]


@gradient("EuclideanNorm")
def euclidean_norm(op: Operation, grad: Tensor) -> list[Any]:
    return [multiply(op.inputs[0], _with_reduced_axes(op, realdiv(grad, op.outputs[0]))), None]


@gradient("Prod")
def prod(op: Operation, grad: Tensor) -> list[Any]:
    """The derivative by an element is the product of all others, never a quotient, so that zeros are handled."""
    x, axes = op.inputs[0], _axes(op)
    if axes is None:
        return [multiply(_with_reduced_axes(op, grad), conj(_others_along(op))), None]
    result = _with_reduced_axes(op, grad)
    for axis in reversed(axes):
        result = multiply(result, conj(_others(x, axis)))
        x = reduce_prod(x, axis, keepdims=True)
    return [result, None]


def _others(x: Tensor, axis: int) -> Tensor:
    """Returns the product of all elements along an axis except the one at each position (exclusive products)."""
    return multiply(cumprod_op(x, axis, exclusive=True), cumprod_op(x, axis, exclusive=True, reverse=True))


def _others_along(op: Operation) -> Tensor:
    """Returns the same along axes known only at run time: they are moved to the front and flattened."""
    sizes = shape(op.inputs[0])
    reduced = _is_reduced(op, sizes)
    flags, ones = cast(reduced, dtypes.int32), ones_like(sizes)
    first = cumsum_op(flags, 0, exclusive=True)
    last = add(reduce_sum(flags), cumsum_op(subtract(ones, flags), 0, exclusive=True))
    places = where(reduced, first, last)
    front = transpose(op.inputs[0], invert_permutation(places))
    rows, columns = reduce_prod(where(reduced, sizes, ones)), reduce_prod(where(reduced, ones, sizes))
    others = _others(reshape(front, stack([rows, columns])), 0)
    return transpose(reshape(others, shape(front)), places)


@gradient("Cumsum")
def cumsum(op: Operation, grad: Tensor) -> list[Any]:
    return [cumsum_op(grad, op.inputs[1], op.attrs["exclusive"], not op.attrs["reverse"]), None]


@gradient("Cumprod")
def cumprod(op: Operation, grad: Tensor) -> list[Any]:
    """Divides by each element; the derivative by the first zero comes from products in which it is replaced by one.

    Products past the first zero are zero whatever the other elements are, so a second zero does not matter.
    """
    x, axis = op.inputs
    exclusive, reverse = op.attrs["exclusive"], op.attrs["reverse"]
    zero = cast(equal(x, 0), dtypes.int32)
    is_first = logical_and(equal(zero, 1), equal(cumsum_op(zero, axis, True, reverse), 0))
    product = cumprod_op(where(is_first, ones_like(x), x), axis, exclusive, reverse)
    beside_zero = cumsum_op(multiply(conj(product), grad), axis, exclusive, not reverse)
    total = cumsum_op(multiply(conj(op.outputs[0]), grad), axis, exclusive, not reverse)
    return [where(is_first, beside_zero, div_no_nan(total, conj(x))), None]


@gradient("CumulativeLogsumexp")
def cumulative_logsumexp(op: Operation, grad: Tensor) -> list[Any]:
    """Sums positive and negative gradients separately, in log space as the values are."""
    x, axis = op.inputs

    def share(weights: Tensor) -> Tensor:
        logs = where_v2(greater(weights, 0), log(weights), grad.dtype.min)
        back = cumulative_logsumexp_op(
            subtract(logs, op.outputs[0]), axis, op.attrs["exclusive"], not op.attrs["reverse"]
        )
        return exp(add(back, x))

    return [subtract(share(grad), share(negative(grad))), None]
