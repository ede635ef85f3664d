"""Kernels of sparse tensor arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import normalize_axis, require
from thalweg._src.graph.ops.sparse_math import require_broadcast
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import Function, signed
from thalweg._src.runtime.kernels.segment import segment_reduce, segment_sum
from thalweg._src.runtime.kernels.sparse import (
    linear_indices,
    ravel,
    require_fit,
    require_inside,
    require_shape,
    unravel,
)
from thalweg._src.runtime.kernels.sparse_shaping import match, require_gradients, values_of_matches
from thalweg._src.runtime.kernels.types import TORCH_UNSIGNED
from thalweg._src.runtime.kernels.unsigned import on_host
from thalweg._src.runtime.resources.devices import Device

Sparse = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _united(a: Sparse, b: Sparse) -> tuple[list[int], torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the common shape, the sorted union of the linear indices, and each operand's positions in it."""
    require_fit(*a)
    require_fit(*b)
    sizes = a[2].tolist()
    require(sizes == b[2].tolist(), f"shapes {sizes} and {b[2].tolist()} differ", expected="two tensors of equal shape")
    first = linear_indices(a[0], sizes)
    numbers, owners = torch.unique(torch.cat([first, linear_indices(b[0], sizes)]), return_inverse=True)
    return sizes, numbers, owners[: first.numel()], owners[first.numel() :]


@plain_kernel("SparseAdd")
def _add(*inputs: torch.Tensor) -> Any:
    a, b, threshold = inputs[:3], inputs[3:6], inputs[6]
    require(threshold.ndim == 0, f"thresh has shape {show(tuple(threshold.shape))}", expected="a scalar")
    sizes, numbers, in_a, in_b = _united(a, b)  # type: ignore[arg-type]
    values = torch.cat([signed(a[1]), signed(b[1])]).view(a[1].dtype)
    total = segment_sum(values, torch.cat([in_a, in_b]), numbers.numel())
    keep = _magnitude(total) >= threshold.item()
    return unravel(numbers[keep], sizes), signed(total)[keep].view(total.dtype), a[2]


def _magnitude(values: torch.Tensor) -> torch.Tensor:
    if values.dtype in TORCH_UNSIGNED:
        return values.to(torch.float64)
    return values if values.dtype is torch.uint8 else values.abs()


@plain_kernel("SparseAddGrad")
def _add_grad(grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor, total: torch.Tensor) -> Any:
    require_gradients(grad, a, total)
    require_gradients(grad, b, total)
    return values_of_matches(grad, *match(a, total)), values_of_matches(grad, *match(b, total))


def _bind_extreme(function: Function) -> Function:
    def extreme(*inputs: torch.Tensor) -> Any:
        a, b = inputs[:3], inputs[3:]
        sizes, numbers, in_a, in_b = _united(a, b)  # type: ignore[arg-type]
        count, kind = numbers.numel(), a[1].dtype
        zeros = torch.zeros(count, dtype=signed(a[1]).dtype, device=a[1].device)
        x, y = zeros.index_copy(0, in_a, signed(a[1])), zeros.index_copy(0, in_b, signed(b[1]))
        return unravel(numbers, sizes), function(x.view(kind), y.view(kind))

    return extreme


@kernel("SparseSparseMaximum")
def bind_maximum(node: Node, device: Device) -> Function:
    return _bind_extreme(_ordered(torch.maximum))


@kernel("SparseSparseMinimum", T=dtypes.REAL)
def bind_minimum(node: Node, device: Device) -> Function:
    return _bind_extreme(_ordered(torch.minimum))


def _ordered(function: Callable[..., torch.Tensor]) -> Function:
    """Extends a function of ordered values to unsigned integers by flipping their top bit."""

    def compare(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.dtype not in TORCH_UNSIGNED:
            return function(x, y)
        top = torch.iinfo(signed(x).dtype).min
        return (function(signed(x) ^ top, signed(y) ^ top) ^ top).view(x.dtype)

    return compare


@plain_kernel("SparseTensorDenseAdd")
def _dense_add(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    require_fit(indices, values, shape)
    sizes = shape.tolist()
    require(
        sizes == list(dense.shape),
        f"shapes {sizes} and {show(tuple(dense.shape))} differ",
        expected="two tensors of equal shape",
    )
    numbers = linear_indices(indices.to(torch.int64), sizes)
    flat = signed(dense).reshape(-1).index_add(0, numbers, signed(values))
    return flat.view(dense.dtype).reshape(dense.shape)


@kernel("SparseTensorDenseMatMul")
def bind_dense_matmul(node: Node, device: Device) -> Function:
    adjoint_a, adjoint_b = node.attrs["adjoint_a"], node.attrs["adjoint_b"]
    # torch sums bags of scaled rows without materializing them, for these types only.
    bags = device.type == "CPU" and node.attrs["T"] in (dtypes.float32, dtypes.float64)

    def matmul(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        require_fit(indices, values, shape)
        sizes = shape.tolist()
        require(len(sizes) == 2 and dense.ndim == 2, f"a has rank {len(sizes)}, b {dense.ndim}", expected="matrices")
        require_shape(sizes, "a_shape")
        b = dense.mH if adjoint_b else dense
        if adjoint_a:
            values = values.conj() if values.is_complex() else values
            indices, sizes = indices.flip(1), sizes[::-1]
        require(
            b.shape[0] == sizes[1],
            f"inner dimensions differ: {sizes[1]} and {b.shape[0]}",
            expected="a with as many columns as b has rows",
        )
        coordinates = indices.to(torch.int64)
        return (_multiply_bags if bags else _multiply)(coordinates, values, sizes, b)

    return matmul


def _multiply_bags(
    coordinates: torch.Tensor, values: torch.Tensor, sizes: Sequence[int], b: torch.Tensor
) -> torch.Tensor:
    """Computes each row of the product as an embedding bag of b's rows; requires indices sorted by row."""
    require_inside(coordinates, sizes)
    if not coordinates.numel() or not b.numel():
        return torch.zeros((sizes[0], b.shape[1]), dtype=b.dtype)
    rows, columns = coordinates[:, 0].contiguous(), coordinates[:, 1].contiguous()
    if bool((rows[1:] < rows[:-1]).any()):
        rows, order = torch.sort(rows, stable=True)
        columns, values = columns[order], values[order]
    starts = torch.searchsorted(rows, torch.arange(sizes[0] + 1))
    return torch.nn.functional.embedding_bag(
        columns, b.contiguous(), starts, mode="sum", per_sample_weights=values, include_last_offset=True
    )


def _multiply(coordinates: torch.Tensor, values: torch.Tensor, sizes: Sequence[int], b: torch.Tensor) -> torch.Tensor:
    """Sums scaled rows of b; on a GPU an index out of range is ignored, since a check would synchronize."""
    rows, columns = coordinates[:, 0], coordinates[:, 1]
    if coordinates.is_cpu:
        require_inside(coordinates, sizes)
    else:
        inside = (rows >= 0) & (rows < sizes[0]) & (columns >= 0) & (columns < sizes[1])
        rows, columns = torch.where(inside, rows, sizes[0]), torch.where(inside, columns, 0)
    result = torch.zeros((sizes[0] + 1, b.shape[1]), dtype=b.dtype, device=b.device)
    if b.numel():
        result.index_add_(0, rows, b[columns] * values[:, None])
    return result[: sizes[0]]


def _pick(indices: torch.Tensor, sizes: Sequence[int], dense: torch.Tensor) -> torch.Tensor:
    """Returns the elements at the indices of a dense tensor that broadcasts to the sparse shape."""
    require_broadcast(tuple(dense.shape), tuple(sizes))
    require_inside(indices, sizes)
    columns = indices[:, indices.shape[1] - dense.ndim :]
    limits = torch.tensor([max(size - 1, 0) for size in dense.shape], dtype=torch.int64, device=indices.device)
    coordinates = torch.minimum(columns, limits)
    return signed(dense).reshape(-1)[ravel(coordinates, dense.shape)].view(dense.dtype)


def _bind_cwise(function: Callable[..., torch.Tensor]) -> Function:
    def apply(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        require_fit(indices, values, shape)
        return function(values, _pick(indices, shape.tolist(), dense))

    return apply


def _by_bits(function: Callable[..., torch.Tensor]) -> Function:
    return lambda x, y: function(signed(x), signed(y)).view(x.dtype)


def _quotient(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Divides; integers are truncated."""
    if x.is_floating_point() or x.is_complex():
        return torch.div(x, y)
    if not bool((signed(y) != 0).all()):
        raise invalid("Integer division by zero")
    if x.dtype is torch.uint64:
        return on_host(lambda a, b: a // b)(x, y)
    if x.dtype in (torch.uint16, torch.uint32):
        return torch.div(x.to(torch.int64), y.to(torch.int64), rounding_mode="trunc").to(x.dtype)
    return torch.div(x, y, rounding_mode="trunc")


plain_kernel("SparseDenseCwiseAdd")(_bind_cwise(_by_bits(torch.add)))
plain_kernel("SparseDenseCwiseMul")(_bind_cwise(_by_bits(torch.mul)))
plain_kernel("SparseDenseCwiseDiv", cpu_types=[dtypes.uint64])(_bind_cwise(_quotient))


def _outer_dims(shape: Sequence[int], axes: torch.Tensor, keep: bool) -> tuple[list[int], list[int]]:
    """Returns the dimensions that a reduction keeps, and the shape of its result."""
    rank = len(shape)
    reduced = {normalize_axis(axis, rank, "reduction axis") for axis in axes.reshape(-1).tolist()}
    left = [d for d in range(rank) if d not in reduced]
    result = [1 if d in reduced else size for d, size in enumerate(shape)] if keep else [shape[d] for d in left]
    return left, result


def _greatest(values: torch.Tensor, groups: torch.Tensor, count: int) -> torch.Tensor:
    """Returns the maximum of each group, 0 for an empty one."""
    maxima = segment_reduce(values, groups, count, "amax")
    empty = torch.ones(count, dtype=torch.bool, device=values.device).index_fill_(0, groups, False)
    return signed(maxima).masked_fill(empty, 0).view(values.dtype)


_REDUCTIONS: dict[str, Function] = {"SparseReduceSum": segment_sum, "SparseReduceMax": _greatest}


@kernel(*_REDUCTIONS)
def bind_reduce(node: Node, device: Device) -> Function:
    reduce, keep = _REDUCTIONS[node.type], node.attrs["keep_dims"]

    def apply(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, axes: torch.Tensor) -> torch.Tensor:
        require_fit(indices, values, shape)
        sizes = shape.tolist()
        require_shape(sizes, "input_shape")
        require_inside(indices, sizes)
        left, result = _outer_dims(sizes, axes, keep)
        outer = [sizes[d] for d in left]
        return reduce(values, ravel(indices[:, left], outer), math.prod(outer)).reshape(result)  # type: ignore[no-any-return]

    return apply


@kernel("SparseReduceSumSparse", "SparseReduceMaxSparse")
def bind_reduce_sparse(node: Node, device: Device) -> Function:
    reduce, keep = _REDUCTIONS[node.type.removesuffix("Sparse")], node.attrs["keep_dims"]

    def apply(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, axes: torch.Tensor) -> Any:
        require_fit(indices, values, shape)
        sizes = shape.tolist()
        require_shape(sizes, "input_shape")
        require_inside(indices, sizes)
        left, result = _outer_dims(sizes, axes, keep)
        numbers, groups = torch.unique(ravel(indices[:, left], [sizes[d] for d in left]), return_inverse=True)
        reduced = reduce(values, groups, numbers.numel())
        return unravel(numbers, result), reduced, torch.tensor(result, dtype=torch.int64)

    return apply


@plain_kernel("SparseSoftmax")
def _softmax(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
    require_fit(indices, values, shape)
    sizes = shape.tolist()
    require(len(sizes) >= 2, f"the sparse tensor has rank {len(sizes)}", expected="rank at least 2")
    linear_indices(indices, sizes)
    numbers, rows = torch.unique(ravel(indices[:, :-1], sizes[:-1]), return_inverse=True)
    count = numbers.numel()
    powers = torch.exp(values - segment_reduce(values, rows, count, "amax")[rows])
    return powers / segment_sum(powers, rows, count)[rows]
