"""Kernels of reordering, reshaping, concatenating and slicing sparse tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.reshape import reshaped
from thalweg._src.graph.ops.shape_functions import normalize_axis, require
from thalweg._src.graph.ops.sparse_shaping import split_sizes
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import Function, signed
from thalweg._src.runtime.kernels.sparse import (
    LIMIT,
    is_inside,
    ravel,
    require_fit,
    require_inside,
    require_shape,
    unravel,
)
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device


def take(values: TensorValue, positions: torch.Tensor) -> Any:
    """Returns the values of any type at positions, or where a mask is true."""
    if isinstance(values, np.ndarray):
        return values[positions.numpy()]
    return signed(values)[positions].view(values.dtype)


def join(values: Sequence[Any]) -> Any:
    if isinstance(values[0], np.ndarray):
        return np.concatenate(values)
    return torch.cat([signed(value) for value in values]).view(values[0].dtype)


def in_order(indices: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Returns the stable sorting permutation of indices, which may be out of bounds."""
    if math.prod(shape) <= LIMIT and is_inside(indices, shape):
        return torch.argsort(ravel(indices, shape), stable=True)
    order = torch.arange(indices.shape[0], device=indices.device)
    for axis in reversed(range(indices.shape[1])):
        order = order[torch.argsort(indices[order, axis], stable=True)]
    return order


@plain_kernel("SparseReorder")
def _reorder(indices: torch.Tensor, values: TensorValue, shape: torch.Tensor) -> Any:
    require_fit(indices, values, shape)
    order = in_order(indices, shape.tolist())
    return indices[order], take(values, order)


@plain_kernel("SparseReshape")
def _reshape(indices: torch.Tensor, shape: torch.Tensor, new_shape: torch.Tensor) -> Any:
    require_fit(indices, None, shape)
    sizes = shape.tolist()
    require_shape(sizes, "input_shape")
    target: Any = reshaped(tuple(sizes), new_shape.tolist())
    require_shape(target, "new_shape")
    require(
        0 not in sizes or not indices.shape[0],
        f"{indices.shape[0]} indices in a tensor of shape {sizes}",
        expected="no indices in an empty tensor",
    )
    if target == tuple(sizes):
        return indices, shape
    if not len(target):
        return indices.new_zeros((indices.shape[0], 0)), torch.tensor([], dtype=torch.int64)
    return unravel(ravel(indices, sizes), target), torch.tensor(target, dtype=torch.int64)


@kernel("SparseConcat")
def bind_concat(node: Node, device: Device) -> Function:
    count, axis = node.attrs["N"], node.attrs["concat_dim"]

    def concat(*inputs: Any) -> Any:
        indices, values, shapes = inputs[:count], inputs[count : 2 * count], inputs[2 * count :]
        for rows_of_input in zip(indices, values, shapes):
            require_fit(*rows_of_input)
        rank = shapes[0].numel()
        require(all(s.numel() == rank for s in shapes), "the inputs differ in rank", expected="one rank for all")
        along = normalize_axis(axis, rank, "concat_dim")
        total, rows = 0, []
        sizes = shapes[0].tolist()
        for rows_of_input, shape in zip(indices, shapes):
            its = shape.tolist()
            require(
                all(a == b for d, (a, b) in enumerate(zip(its, sizes)) if d != along),
                f"shapes {its} and {sizes} differ",
                expected=f"equal sizes in all dimensions but concat_dim {along}",
            )
            shift = torch.zeros(rank, dtype=torch.int64, device=rows_of_input.device)
            shift[along] = total
            rows.append(rows_of_input + shift)
            total += its[along]
            require(total <= LIMIT, f"the sizes along concat_dim add up to {total}", expected="less than 2**63")
        sizes[along] = total
        joined = torch.cat(rows)
        order = in_order(joined, sizes)
        return joined[order], take(join(values), order), torch.tensor(sizes, dtype=torch.int64)

    return concat


@kernel("SparseSplit")
def bind_split(node: Node, device: Device) -> Function:
    number_of_pieces = node.attrs["num_split"]

    def split(axis: torch.Tensor, indices: torch.Tensor, values: TensorValue, shape: torch.Tensor) -> Any:
        require_fit(indices, values, shape)
        require(axis.ndim == 0, f"split_dim has shape {list(axis.shape)}", expected="a scalar")
        sizes = shape.tolist()
        along, pieces = split_sizes(sizes, int(axis.item()), number_of_pieces)
        require_inside(indices, sizes)
        rows, elements, shapes = [], [], []
        start = 0
        for size in pieces:
            column = indices[:, along]
            inside = (column >= start) & (column < start + size)
            piece = indices[inside]
            piece[:, along] -= start
            rows.append(piece)
            elements.append(take(values, inside))
            shapes.append(torch.tensor([*sizes[:along], size, *sizes[along + 1 :]], dtype=torch.int64))
            start += size
        return [*rows, *elements, *shapes]

    return split


@plain_kernel("SparseSlice")
def _slice(
    indices: torch.Tensor, values: TensorValue, shape: torch.Tensor, start: torch.Tensor, size: torch.Tensor
) -> Any:
    require_fit(indices, values, shape)
    starts, sizes, limits = start.tolist(), size.tolist(), shape.tolist()
    require(
        len(starts) == len(sizes) == len(limits),
        f"start has {len(starts)} entries, size {len(sizes)}",
        expected=f"{len(limits)}, one per dimension",
    )
    require(min(sizes, default=0) >= 0, f"size is {sizes}", expected="non-negative sizes")
    require_shape(limits)
    inside = torch.ones(indices.shape[0], dtype=torch.bool, device=indices.device)
    for axis, (first, length, limit) in enumerate(zip(starts, sizes, limits)):
        column = indices[:, axis]
        inside &= (column >= first) & (column < min(first + length, limit))
    result = [max(min(length, limit - first), 0) for first, length, limit in zip(starts, sizes, limits)]
    shift = torch.tensor(starts, dtype=torch.int64, device=indices.device)
    return indices[inside] - shift, take(values, inside), torch.tensor(result, dtype=torch.int64)


def match(rows: torch.Tensor, others: torch.Tensor, *, once: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns for each row the position of an equal one among others, and whether there is one.

    Each of the others matches all equal rows, or with `once` just one: the first matches the first, and so on.
    """
    both = torch.cat([others, rows])
    if not others.shape[0] or not rows.shape[0]:
        none = torch.zeros(rows.shape[0], dtype=torch.int64, device=rows.device)
        return none, none.to(torch.bool)
    low, high = both.amin(0), both.amax(0)
    extents = [b - a + 1 for a, b in zip(low.tolist(), high.tolist())]
    if math.prod(extents) <= LIMIT:
        numbers = ravel(both - low, extents)
    else:
        numbers = torch.unique(both, dim=0, return_inverse=True)[1]
    keys, row_keys = numbers[: others.shape[0]], numbers[others.shape[0] :]
    ordered, order = torch.sort(keys, stable=True)
    first = torch.searchsorted(ordered, row_keys)
    at = first + _occurrence(row_keys) if once else first
    is_match = at < keys.numel()
    at = at.clamp_(max=keys.numel() - 1)
    return order[at], is_match & (ordered[at] == row_keys)


def _occurrence(numbers: torch.Tensor) -> torch.Tensor:
    """Returns for each value the number of equal ones before it."""
    ordered, order = torch.sort(numbers, stable=True)
    result = torch.empty_like(order)
    result[order] = torch.arange(order.numel(), device=order.device) - torch.searchsorted(ordered, ordered)
    return result


def require_gradients(values: torch.Tensor, rows: torch.Tensor, others: torch.Tensor) -> None:
    """Requires one gradient per row of the others, whose indices must have the rows' rank."""
    require(
        values.shape == others.shape[:1],
        f"backprop_val_grad has shape {list(values.shape)}",
        expected=f"one gradient per index, {others.shape[0]}",
    )
    require(rows.shape[1] == others.shape[1], "the indices differ in length", expected="indices of equal rank")


def values_of_matches(values: torch.Tensor, at: torch.Tensor, is_match: torch.Tensor) -> torch.Tensor:
    """Returns the values at matched positions, 0 elsewhere."""
    if not values.numel():
        return torch.zeros(at.numel(), dtype=values.dtype, device=values.device)
    return torch.where(is_match, signed(values)[at], 0).view(values.dtype)


@plain_kernel("SparseSliceGrad")
def _slice_grad(grad: torch.Tensor, indices: torch.Tensor, start: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    require(indices.ndim == outputs.ndim == 2, "indices must be matrices", expected="input_indices of rank 2")
    require(
        start.shape == indices.shape[1:],
        f"input_start has shape {list(start.shape)}",
        expected=f"[{indices.shape[1]}], one start per dimension",
    )
    require_gradients(grad, indices, outputs)
    at, is_match = match(indices - start.to(indices.device), outputs, once=True)
    missing = outputs.shape[0] - int(is_match.sum())
    require(not missing, f"{missing} of output_indices are not in the input", expected="indices of a slice of it")
    return values_of_matches(grad, at, is_match)
