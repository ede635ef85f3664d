"""Kernels of selection (where), one_hot and unique."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import STRINGS, Function
from thalweg._src.runtime.kernels.scatter import movable
from thalweg._src.runtime.kernels.types import TORCH, TORCH_UNSIGNED, UNSIGNED, TensorValue
from thalweg._src.runtime.kernels.unsigned import where
from thalweg._src.runtime.resources.devices import Device

plain_kernel("Where")(lambda value: (value if value.dtype is torch.bool else value != 0).nonzero())


@kernel("Select")
def bind_select(node: Node, device: Device) -> Function | Call:
    condition, t, e = (node.input_shape(i) for i in range(3))
    is_plain = node.attrs["T"] not in UNSIGNED
    if is_plain and condition is not None and t is not None and t == e and None not in (*condition, *t):
        if condition == t:
            return Call(torch.where, (Input(0), Input(1), Input(2)))
        if len(condition) == 1 and condition[0] == t[0]:
            rows = Call(torch.reshape, (Input(0), (t[0], *[1] * (len(t) - 1))))
            return Call(torch.where, (rows, Input(1), Input(2)))

    def select(condition: torch.Tensor, t: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
        return where(_rows(condition, t, e), t, e)

    return select


def _rows(condition: torch.Tensor, t: torch.Tensor, e: torch.Tensor) -> Any:
    """Reshapes the condition to broadcast as Select requires: a vector selects rows."""
    require(
        t.shape == e.shape, f"t and e have shapes {show(tuple(t.shape))} and {show(tuple(e.shape))}", expected="equal"
    )
    if condition.ndim == 1 and t.ndim > 1 and condition.shape[0] == t.shape[0]:
        return (
            condition.reshape((-1,) + (1,) * (t.ndim - 1))
            if condition.shape[0]
            else condition.reshape((0,) + (1,) * (t.ndim - 1))
        )
    require(
        condition.ndim == 0 or condition.shape == t.shape,
        f"condition has shape {show(tuple(condition.shape))}",
        expected=f"a scalar, a vector for the rows, or {show(tuple(t.shape))}",
    )
    return condition


plain_kernel("Select", **STRINGS)(lambda condition, t, e: np.where(_rows(condition, t, e).numpy(), t, e))
plain_kernel("SelectV2")(Call(torch.where, (Input(0), Input(1), Input(2))))
plain_kernel("SelectV2", T=UNSIGNED, priority=1)(where)
plain_kernel("SelectV2", **STRINGS)(lambda condition, t, e: np.where(condition.numpy(), t, e))


_WRITTEN = {dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.bool}


@kernel("OneHot")
def bind_one_hot(node: Node, device: Device) -> Function:
    axis = node.attrs["axis"]

    def one_hot(indices: torch.Tensor, depth: torch.Tensor, on: torch.Tensor, off: torch.Tensor) -> torch.Tensor:
        return where(_hits(indices, int(depth), axis), on, off)

    values = node.constant(2), node.constant(3)
    if device.type != "CPU" or node.dtypes[0] not in _WRITTEN or any(value is None for value in values):
        return one_hot
    hot, cold = (value.item() for value in values if value is not None)
    static_depth, dtype, widen = node.constant(1), TORCH[node.dtypes[0]], node.input_dtype(0) is not dtypes.int64

    def marked(indices: torch.Tensor, depth: torch.Tensor, on: torch.Tensor, off: torch.Tensor) -> torch.Tensor:
        """Writes one element per index; if an index is out of range, falls back to comparing all."""
        count = int(depth if static_depth is None else static_depth)
        columns = indices.unsqueeze(axis)
        if count <= 0:
            return one_hot(indices, depth, on, off)
        shape = [*columns.shape]
        shape[axis] = count
        try:
            return torch.full(shape, cold, dtype=dtype).scatter_(axis, columns.long() if widen else columns, hot)
        except RuntimeError:
            return one_hot(indices, depth, on, off)

    return marked


@kernel("OneHot", **STRINGS)
def bind_one_hot_strings(node: Node, device: Device) -> Function:
    axis = node.attrs["axis"]
    return lambda indices, depth, on, off: np.where(_hits(indices, int(depth), axis).numpy(), on, off)


def _hits(indices: torch.Tensor, depth: int, axis: int) -> torch.Tensor:
    """Compares each index with all positions along a new dimension."""
    require(depth >= 0, f"depth is {depth}", expected="depth >= 0")
    columns = indices.unsqueeze(axis)
    shape = [1] * columns.ndim
    shape[axis] = depth
    return columns == torch.arange(depth, dtype=torch.int64, device=indices.device).view(shape)


def distinct(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns distinct slices by first appearance, the index of each slice among them, and their counts."""
    if x.dtype in TORCH_UNSIGNED:
        values, which, counts = distinct(x.to(torch.int64), dim)
        return values.to(x.dtype), which, counts
    size = x.shape[dim]
    if not x.numel():
        return (
            x.narrow(dim, 0, min(size, 1)),  # empty slices are equal
            torch.zeros(size, dtype=torch.int64, device=x.device),
            torch.full((min(size, 1),), size, device=x.device),
        )
    if x.ndim == 1:
        values, which, counts = torch.unique(x, return_inverse=True, return_counts=True)
    else:
        values, which, counts = torch.unique(x, return_inverse=True, return_counts=True, dim=dim)
    first = torch.full((counts.numel(),), size, dtype=torch.int64, device=x.device)
    first.scatter_reduce_(0, which, torch.arange(size, device=x.device), "amin")
    order = first.argsort()
    rank = torch.empty_like(order)
    rank[order] = torch.arange(order.numel(), device=x.device)
    return values.index_select(dim, order), rank[which], counts[order]


@kernel("Unique", "UniqueWithCounts")
def bind_unique(node: Node, device: Device) -> Function:
    return _bind_unique(node, distinct)


def _bind_unique(node: Node, find: Function) -> Function:
    kind, outputs = TORCH[node.attrs["out_idx"]], len(node.dtypes)

    def unique(x: TensorValue) -> tuple[Any, ...]:
        require(x.ndim == 1, f"x must be a vector, got {show(tuple(x.shape))}")
        values, which, counts = find(x, 0)
        return (values, which.to(kind), counts.to(kind))[:outputs]

    return unique


@kernel("UniqueV2")
def bind_unique_v2(node: Node, device: Device) -> Function:
    return _bind_unique_v2(node, distinct)


def _bind_unique_v2(node: Node, find: Function) -> Function:
    kind = TORCH[node.attrs["out_idx"]]

    def unique(x: TensorValue, axis: torch.Tensor) -> tuple[Any, torch.Tensor]:
        require(axis.ndim == 1, f"axis must be a vector, got {show(tuple(axis.shape))}")
        require(axis.numel() == 1 or x.ndim == 1, f"x must be a vector without an axis, got {show(tuple(x.shape))}")
        values, which, _ = find(x, int(axis) if axis.numel() else 0)
        return values, which.to(kind)

    return unique


def distinct_strings(x: Any, dim: int) -> tuple[Any, torch.Tensor, torch.Tensor]:
    """Does the same as `distinct` for strings."""
    slices = np.moveaxis(x, dim, 0)
    keys = x.tolist() if x.ndim == 1 else [tuple(row.ravel().tolist()) for row in slices]
    position: dict[Any, int] = {}
    which = torch.tensor([position.setdefault(key, len(position)) for key in keys], dtype=torch.int64)
    first = np.unique(which.numpy(), return_index=True)[1]
    return np.moveaxis(slices[first], 0, dim), which, torch.bincount(which, minlength=len(position))


@kernel("Unique", "UniqueWithCounts", **STRINGS)
def bind_unique_strings(node: Node, device: Device) -> Function:
    return _bind_unique(node, distinct_strings)


@kernel("UniqueV2", **STRINGS)
def bind_unique_v2_strings(node: Node, device: Device) -> Function:
    return _bind_unique_v2(node, distinct_strings)


@kernel("ListDiff")
def bind_list_diff(node: Node, device: Device) -> Function:
    kind = TORCH[node.attrs["out_idx"]]

    def difference(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        bits, without = movable(x), movable(y)
        positions = (~torch.isin(bits, without)).nonzero().squeeze(1)
        return bits.index_select(0, positions).view(x.dtype), positions.to(kind)

    return difference


@kernel("ListDiff", **STRINGS)
def bind_list_diff_strings(node: Node, device: Device) -> Function:
    kind = TORCH[node.attrs["out_idx"]]

    def difference(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> tuple[Any, torch.Tensor]:
        without = set(y.tolist())
        positions = [i for i, item in enumerate(x.tolist()) if item not in without]
        return x[positions], torch.tensor(positions, dtype=kind)

    return difference
