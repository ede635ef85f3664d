"""Kernels of row operations on sparse tensors: filling empty rows, bincount."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import Function, signed
from thalweg._src.runtime.kernels.segment import segment_sum
from thalweg._src.runtime.kernels.sparse import require_fit, require_inside, require_shape
from thalweg._src.runtime.kernels.sparse_shaping import join, take
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device


@plain_kernel("SparseFillEmptyRows")
def _fill_empty_rows(indices: torch.Tensor, values: TensorValue, shape: torch.Tensor, default: TensorValue) -> Any:
    require_fit(indices, values, shape)
    sizes = shape.tolist()
    require(bool(sizes), "the sparse tensor is a scalar", expected="rank at least 1")
    require(np.ndim(default) == 0, f"default_value has rank {np.ndim(default)}", expected="a scalar")
    count = sizes[0]
    require(count >= 0, f"dense_shape {sizes} has a negative dimension", expected="at least 0")
    rows = indices[:, 0]
    _require_rows(rows, count)
    empty = torch.ones(count, dtype=torch.bool, device=rows.device).index_fill_(0, rows, False)
    added = empty.nonzero().reshape(-1)
    new = torch.zeros((added.numel(), indices.shape[1]), dtype=torch.int64, device=rows.device)
    new[:, 0] = added
    order = torch.argsort(torch.cat([rows, added]), stable=True)
    positions = torch.empty_like(order)
    positions[order] = torch.arange(order.numel(), device=order.device)
    filled = join([values, _repeated(default, added.numel())])
    return torch.cat([indices, new])[order], take(filled, order), empty, positions[: rows.numel()]


def _require_rows(rows: torch.Tensor, count: int) -> None:
    outside = (rows < 0) | (rows >= count)
    if bool(outside.any()):
        position = int(outside.to(torch.int8).argmax())
        raise invalid(f"indices({position}, 0) is invalid: {int(rows[position])} >= {count}")


def _repeated(value: object, count: int) -> Any:
    if isinstance(value, torch.Tensor):
        return value.expand(count)
    result = np.empty(count, dtype=object)
    result[:] = np.asarray(value, dtype=object).item()
    return result


@plain_kernel("SparseFillEmptyRowsGrad", T=dtypes.NUMERIC)
def _fill_empty_rows_grad(positions: torch.Tensor, grad: torch.Tensor) -> Any:
    require(positions.ndim == 1, f"reverse_index_map has shape {show(tuple(positions.shape))}", "a vector")
    require(grad.ndim == 1, f"grad_values has shape {show(tuple(grad.shape))}", expected="a vector")
    count = grad.numel()
    outside = (positions < 0) | (positions >= count)
    if bool(outside.any()):
        where = int(outside.to(torch.int8).argmax())
        raise invalid(f"reverse_index_map[{where}] = {int(positions[where])} is not in [0, {count})")
    added = torch.ones(count, dtype=torch.bool, device=grad.device).index_fill_(0, positions, False)
    rest = torch.where(added, signed(grad), 0).sum().to(signed(grad).dtype)
    return signed(grad)[positions].view(grad.dtype), rest.view(grad.dtype)


def _numbers(values: torch.Tensor) -> torch.Tensor:
    """Returns the integers to count, which must be non-negative."""
    flat = values.reshape(-1).to(torch.int64)
    if bool((flat < 0).any()):
        raise invalid("Input must be non-negative")
    return flat


def _weights(values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor | None:
    """Returns one weight per value, None if each counts once."""
    if not weights.numel():
        return None
    require(
        weights.shape == values.shape,
        f"weights has shape {show(tuple(weights.shape))}",
        expected=f"one weight per value, {show(tuple(values.shape))}, or none",
    )
    return weights.reshape(-1)


@kernel("SparseBincount")
def bind_bincount(node: Node, device: Device) -> Function:
    binary = node.attrs["binary_output"]

    def count(
        indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, size: torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        require_fit(indices, values, shape)
        sizes = shape.tolist()
        require(len(sizes) in (1, 2), f"the sparse tensor has rank {len(sizes)}", expected="rank 1 or 2")
        require(size.ndim == 0, f"size has shape {show(tuple(size.shape))}", expected="a scalar")
        bins = int(size)
        require(bins >= 0, f"size is {bins}", expected="at least 0")
        result = [*sizes[:-1], bins]
        total = require_shape(result)
        numbers, factors = _numbers(values), _weights(values, weights)
        if len(sizes) == 2:
            require_inside(indices, sizes)
            # A value that is too large must not be counted in the next row.
            flat_bins = torch.where(numbers < bins, indices[:, 0] * bins + numbers, total)
        else:
            flat_bins = torch.where(numbers < bins, numbers, total)
        flat = torch.zeros(total + 1, dtype=weights.dtype, device=values.device)
        if binary:
            flat.index_fill_(0, flat_bins, 1)
        else:
            flat.index_add_(0, flat_bins, torch.ones_like(flat_bins, dtype=flat.dtype) if factors is None else factors)
        return flat[:total].reshape(result)

    return count


def _counted(
    node: Node, rows: torch.Tensor, count: int | None, values: torch.Tensor, weights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the number of occurrences of each value per row: indices, counts, shape."""
    least, most = node.attrs["minlength"], node.attrs["maxlength"]
    numbers, factors = _numbers(values), _weights(values, weights)
    counted = numbers < most if most >= 0 else torch.ones_like(numbers, dtype=torch.bool)
    numbers, rows = numbers[counted], rows[counted]
    width = most if most >= 0 else max(int(numbers.max()) + 1 if numbers.numel() else 1, least)
    pairs, owners = torch.unique(torch.stack([rows, numbers], dim=1), dim=0, return_inverse=True)
    ones = torch.ones(numbers.numel(), dtype=weights.dtype, device=values.device)
    if node.attrs["binary_output"]:
        counts = torch.ones(pairs.shape[0], dtype=weights.dtype, device=values.device)
    else:
        counts = segment_sum(ones if factors is None else factors[counted], owners, pairs.shape[0])
    if count is None:
        return pairs[:, 1:], counts, torch.tensor([width])
    return pairs, counts, torch.tensor([count, width])


@kernel("SparseCountSparseOutput")
def bind_count_sparse(node: Node, device: Device) -> Function:
    def count(indices: torch.Tensor, values: torch.Tensor, shape: torch.Tensor, weights: torch.Tensor) -> Any:
        require_fit(indices, values, shape)
        sizes = shape.tolist()
        require(len(sizes) in (1, 2), f"the sparse tensor has rank {len(sizes)}", expected="rank 1 or 2")
        require_inside(indices, sizes)
        if len(sizes) == 1:
            return _counted(node, torch.zeros_like(indices[:, 0]), None, values, weights)
        return _counted(node, indices[:, 0], sizes[0], values, weights)

    return count


@kernel("DenseCountSparseOutput")
def bind_count_dense(node: Node, device: Device) -> Function:
    def count(values: torch.Tensor, weights: torch.Tensor) -> Any:
        require(values.ndim in (1, 2), f"values has shape {show(tuple(values.shape))}", expected="rank 1 or 2")
        if values.ndim == 1:
            return _counted(node, torch.zeros_like(values, dtype=torch.int64), None, values, weights)
        rows = torch.arange(values.shape[0], device=values.device)[:, None].expand_as(values).reshape(-1)
        return _counted(node, rows, values.shape[0], values, weights)

    return count
