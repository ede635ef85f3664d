"""Gradients of reductions and running totals."""

from __future__ import annotations

from typing import Any

from thalweg import dtypes
from thalweg.autodiff.registry import gradient
from thalweg.graph.infer import complete, static_value
from thalweg.graph.operation import Operation
from thalweg.graph.tensor import Tensor
from thalweg.ops.array import expand_dims, invert_permutation, ones_like, reshape, shape, size, transpose
from thalweg.ops.joining import stack
from thalweg.ops.math import add, cast, conj, multiply, realdiv, subtract
from thalweg.ops.reduction import (
    cumprod_op,
    cumsum_op,
    cumulative_logsumexp_op,
    reduce_any,
    reduce_prod,
    reduce_sum,
)
from thalweg.ops.sequences import range as range_of


def _axes(op: Operation) -> list[int] | None:
    """Returns the reduced axes in order if they are known; the input's rank is known then too."""
    x, indices = op.inputs
    axes = complete(static_value(indices))
    if axes is None or x._shape is None:
        return None
    return sorted(axis % len(x._shape) for axis in axes.ravel().tolist())


def _kept(op: Operation, value: Tensor) -> Tensor:
    """Gives a value of the output's shape its reduced dimensions back, with size 1."""
    if op._attrs["keep_dims"]:
        return value
    axes, dims = _axes(op), op.inputs[0]._shape
    if axes is None:
        sizes = shape(op.inputs[0])
        from thalweg.ops.math import where

        return reshape(value, where(_is_reduced(op, sizes), ones_like(sizes), sizes))
    assert dims is not None
    target = [1 if i in axes else d for i, d in enumerate(dims)]
    if target.count(None) == 0:
        return reshape(value, target) if axes else value
    for axis in axes:
        value = expand_dims(value, axis)
    return value


def _is_reduced(op: Operation, sizes: Tensor) -> Tensor:
    """Tells for each dimension of the input whether it is reduced, when only the step knows."""
    from thalweg.ops.math import equal, floormod

    rank = size(sizes)
    axes = floormod(add(cast(reshape(op.inputs[1], [-1]), dtypes.int32), rank), rank)
    return reduce_any(equal(expand_dims(range_of(rank), 1), axes), 1)


def _spread(op: Operation, grad: Tensor) -> Tensor:
    return multiply(_kept(op, grad), ones_like(op.inputs[0]))


@gradient("Sum")
def sum(op: Operation, grad: Tensor) -> list[Any]:
    return [_spread(op, grad), None]
