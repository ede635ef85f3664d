"""Kernels of sparse segment reductions (over selected rows)."""

from __future__ import annotations

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.gather import select_rows
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.segment import rows_of, segment_sum
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor
_VERBS = ("Sum", "Mean", "SqrtN")


def _scale(ids: Tensor, count: int, verb: str, dtype: torch.dtype) -> Tensor:
    """Returns the divisor of each segment's sum."""
    rows = torch.bincount(ids, minlength=count).clamp(min=1).to(dtype)
    return rows.sqrt() if verb == "SqrtN" else rows


def _over_rows(factors: Tensor, rows: Tensor) -> Tensor:
    return factors.view(-1, *[1] * (rows.ndim - 1))


@kernel(*[f"SparseSegment{verb}{kind}" for verb in _VERBS for kind in ("", "WithNumSegments")])
def bind_sparse_segments(node: Node, device: Device) -> Function:
    verb = node.type.removeprefix("SparseSegment").removesuffix("WithNumSegments")

    def reduce(data: Tensor, indices: Tensor, ids: Tensor, count: Tensor | None = None) -> Tensor:
        if count is None:
            check(node, data.shape, indices.shape, ids.shape)
        else:
            check(node, data.shape, indices.shape, ids.shape, count.shape, values={3: count.numpy()})
        num_rows = rows_of(ids)
        limit = num_rows if count is None else int(count)
        if num_rows > limit:
            raise invalid(f"segment ids must be < num_segments = {limit}, got {num_rows - 1}")
        rows = select_rows(data, 0, indices)
        wide = torch.float32 if data.dtype in (torch.float16, torch.bfloat16) else data.dtype
        total = segment_sum(rows.to(wide), ids, limit)
        if verb == "Sum":
            return total.to(data.dtype)
        return (total / _over_rows(_scale(ids, limit, verb, wide), total)).to(data.dtype)

    return reduce


@kernel(*[f"SparseSegment{verb}Grad" for verb in _VERBS])
def bind_sparse_segments_grad(node: Node, device: Device) -> Function:
    verb = node.type.removeprefix("SparseSegment").removesuffix("Grad")

    def scatter(grad: Tensor, indices: Tensor, ids: Tensor, rows: Tensor) -> Tensor:
        check(node, grad.shape, indices.shape, ids.shape, rows.shape, values={3: rows.numpy()})
        if indices.device.type == "cpu" and indices.numel() and int(indices.min()) < 0:
            raise invalid(f"index {int(indices.min())} is out of range [0, {int(rows)})")
        if verb != "Sum":
            counted = ids.clamp(min=0).to(torch.int64)
            grad = grad / _over_rows(_scale(counted, grad.shape[0], verb, grad.dtype)[: grad.shape[0]], grad)
        return segment_sum(select_rows(grad, 0, ids), indices, int(rows))

    return scatter
