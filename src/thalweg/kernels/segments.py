"""Kernels of segments."""

from __future__ import annotations

from typing import Any

import torch

from thalweg import dtypes, errors
from thalweg.graph.step_graph import Node
from thalweg.kernels.registry import Call, Input, kernel

_TYPES = dtypes.NUMERIC - {dtypes.uint16, dtypes.uint32, dtypes.uint64}


@kernel("UnsortedSegmentSum", T=_TYPES)
def bind_unsorted_segment_sum(node: Node, device: Any) -> Call:
    return Call(_sum, (Input(0), Input(1), Call(torch.Tensor.item, (Input(2),))))


def _sum(data: torch.Tensor, segment_ids: torch.Tensor, num_segments: int) -> torch.Tensor:
    rows = data.shape[segment_ids.dim() :]
    if num_segments < 0 or data.shape[: segment_ids.dim()] != segment_ids.shape:
        raise ValueError("segment_ids or num_segments do not fit")  # the shape function says why
    ids, values = segment_ids.reshape(-1), data.reshape(segment_ids.numel(), *rows)
    if not len(ids):
        return torch.zeros((num_segments, *rows), dtype=data.dtype, device=data.device)
    if ids.device.type == "cpu":
        low, high = (bound.item() for bound in torch.aminmax(ids))
        if high >= num_segments:
            place = int((ids >= num_segments).nonzero()[0])
            raise errors.InvalidArgumentError(
                None, None, f"segment_ids[{place}] = {int(ids[place])} is not in [0, {num_segments})"
            )
        if low >= 0:
            return torch.zeros((num_segments, *rows), dtype=data.dtype).index_add_(0, ids.long(), values)
    # A row more than was asked for takes what is dropped: on a device, where nothing waits for a check, all bad ids.
    total = torch.zeros((num_segments + 1, *rows), dtype=data.dtype, device=data.device)
    ids = torch.where((ids < 0) | (ids > num_segments), num_segments, ids.long())
    return total.index_add_(0, ids, values)[:num_segments]
