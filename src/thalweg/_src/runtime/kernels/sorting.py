"""Kernels of sorting."""

from __future__ import annotations

import torch

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.resources.devices import Device

_TOP_BIT = -(2**63)
_NARROW = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


def comparable(x: torch.Tensor) -> torch.Tensor:
    """Returns numbers as a type that torch sorts in the same order: uint64 with the top bit flipped."""
    if x.dtype is torch.uint64:
        return x.view(torch.int64) ^ _TOP_BIT
    return x.to(torch.int64) if x.dtype in (torch.uint16, torch.uint32) else x


def restored(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Returns the result of `comparable` in the original type."""
    return (x ^ _TOP_BIT).view(torch.uint64) if dtype is torch.uint64 else x.to(dtype)


@kernel("LowerBound", "UpperBound", T=dtypes.REAL)
def bind_bound(node: Node, device: Device) -> Function:
    right, short = node.type == "UpperBound", node.attrs["out_type"] is dtypes.int32

    def bound(rows: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        check(node, rows.shape, values.shape)
        wide = _NARROW.get(rows.dtype)
        rows, values = (comparable(x if wide is None else x.to(wide)).contiguous() for x in (rows, values))
        if not rows.numel():
            return torch.zeros(values.shape, dtype=torch.int32 if short else torch.int64, device=values.device)
        return torch.searchsorted(rows, values, out_int32=short, right=right)

    return bound


@kernel("NthElement")
def bind_nth_element(node: Node, device: Device) -> Function:
    reverse = node.attrs["reverse"]

    def nth(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        check(node, x.shape, n.shape, values={1: n.numpy()})
        place = x.shape[-1] - 1 - int(n) if reverse else int(n)
        if not x.numel():
            return x.new_empty(x.shape[:-1])
        return restored(torch.kthvalue(comparable(x), place + 1, -1).values, x.dtype)

    return nth


@kernel("ApproxTopK")
def bind_approx_top_k(node: Node, device: Device) -> Function:
    k, axis, largest = node.attrs["k"], node.attrs["reduction_dimension"], node.attrs["is_max_k"]

    def select(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        check(node, x.shape)
        values, positions = torch.sort(x, dim=axis, descending=largest, stable=True)
        return values.narrow(axis, 0, k), positions.narrow(axis, 0, k).to(torch.int32)

    return select
