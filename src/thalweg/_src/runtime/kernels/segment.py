"""Kernels of segment reductions.

On the CPU an id out of range is an error. On a GPU such rows are dropped, as rows with a negative id are everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError, invalid
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import Function, signed
from thalweg._src.runtime.kernels.scatter import is_in_range
from thalweg._src.runtime.kernels.types import TORCH, TORCH_UNSIGNED, UNSIGNED
from thalweg._src.runtime.kernels.unsigned import where
from thalweg._src.runtime.resources.devices import Device


def _prepare(data: torch.Tensor, ids: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns rows and a vector of ids; dropped rows get an extra id, one past the last."""
    if count < 0:
        raise ShapeError(f"num_segments is {count}", expected="at least 0")
    if data.shape[: ids.ndim] != ids.shape:
        raise ShapeError(
            f"segment_ids has shape {show(tuple(ids.shape))}",
            expected=f"a prefix of data's shape {show(tuple(data.shape))}",
        )
    flat = ids.reshape(-1).to(torch.int64)
    rows = data.reshape(flat.numel(), *data.shape[ids.ndim :])
    on_cpu = flat.device.type == "cpu"
    if on_cpu and is_in_range(flat, count):
        return rows, flat
    outside = flat >= count
    if on_cpu and bool(outside.any()):
        first = np.unravel_index(int(outside.to(torch.int8).argmax()), tuple(ids.shape) or (1,))
        place = ",".join(map(str, first))
        value = int(flat[outside][0])
        raise invalid(f"segment_ids[{place}] = {value} is out of range [0, {count})")
    return rows, torch.where((flat < 0) | outside, count, flat)


def segment_sum(data: torch.Tensor, ids: torch.Tensor, count: int) -> torch.Tensor:
    """Returns the sums of the rows that share an id."""
    rows, flat = _prepare(data, ids, count)
    rows = signed(rows)
    result = rows.new_zeros((count + 1, *rows.shape[1:]))
    return result.index_add_(0, flat, rows)[:count].view(data.dtype)


def _extreme(dtype: torch.dtype, how: str) -> Any:
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return limits.min if how == "amax" else limits.max


def _reduce(data: torch.Tensor, ids: torch.Tensor, count: int, how: str, empty: Any) -> torch.Tensor:
    """Returns the product, maximum or minimum of the rows that share an id, `empty` where there are none."""
    rows, flat = _prepare(data, ids, count)
    result = rows.new_full((count + 1, *rows.shape[1:]), empty)
    if rows.numel():
        index = flat.view(-1, *[1] * (rows.ndim - 1)).expand_as(rows)
        result.scatter_reduce_(0, index, rows, how)
    return result[:count]


def segment_reduce(data: torch.Tensor, ids: torch.Tensor, count: int, how: str, empty: object = None) -> torch.Tensor:
    """Returns the product, maximum or minimum of each segment; an empty one has `empty`, or the type's extreme."""
    dtype = data.dtype
    if how == "prod":
        return _reduce(signed(data), ids, count, how, 1).view(dtype)
    if dtype in TORCH_UNSIGNED:
        # The order of unsigned integers is that of signed ones with the top bit flipped.
        top = torch.iinfo(signed(data).dtype).min
        turned = segment_reduce(signed(data) ^ top, ids, count, how)
        return (turned ^ top).view(dtype)
    return _reduce(data, ids, count, how, _extreme(dtype, how) if empty is None else empty)


plain_kernel("UnsortedSegmentSum")(lambda data, ids, count: segment_sum(data, ids, int(count)))
plain_kernel("UnsortedSegmentProd", cpu_types=dtypes.COMPLEX)(
    lambda data, ids, count: segment_reduce(data, ids, int(count), "prod")
)
plain_kernel("UnsortedSegmentMax")(lambda data, ids, count: segment_reduce(data, ids, int(count), "amax"))
plain_kernel("UnsortedSegmentMin")(lambda data, ids, count: segment_reduce(data, ids, int(count), "amin"))


def rows_of(ids: torch.Tensor) -> int:
    """Returns the number of segments, which follows from the last of the sorted ids."""
    if ids.ndim != 1:
        raise ShapeError(f"segment_ids must be a vector, got {show(tuple(ids.shape))}")
    if not ids.numel():
        return 0
    if ids.device.type != "cpu":
        return int(ids[-1]) + 1
    array = ids.numpy()  # takes a third of torch's time for vectors of this length
    if array[0] < 0:
        raise invalid("segment ids must be >= 0")
    if (array[1:] < array[:-1]).any():
        raise invalid("segment ids are not increasing")
    return int(array[-1]) + 1


def _counts(data: torch.Tensor, ids: torch.Tensor, count: int) -> torch.Tensor:
    """Returns the number of rows of each segment, in a shape that broadcasts over rows."""
    return torch.bincount(ids, minlength=count).view(-1, *[1] * (data.ndim - 1))


@kernel("SegmentSum")
def bind_segment_sum(node: Node, device: Device) -> Function:
    if device.type != "CPU" or TORCH[node.dtypes[0]] in TORCH_UNSIGNED:
        return lambda data, ids: segment_sum(data, ids, rows_of(ids))

    def of_sorted(data: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        """Sums rows by sorted ids, which are known to be in range once their order is checked."""
        count = rows_of(ids)
        if data.shape[:1] != ids.shape:
            return segment_sum(data, ids, count)
        return data.new_zeros((count, *data.shape[1:])).index_add_(0, ids, data)

    return of_sorted


@plain_kernel("SegmentMean")
def _segment_mean(data: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    count = rows_of(ids)
    total, rows = segment_sum(data, ids, count), _counts(data, ids, count).clamp(min=1)
    if data.is_floating_point() or data.is_complex():
        return total / rows.to(data.dtype)
    return torch.div(total.to(torch.int64), rows, rounding_mode="trunc").to(data.dtype)


plain_kernel("SegmentProd", cpu_types=dtypes.COMPLEX)(lambda data, ids: segment_reduce(data, ids, rows_of(ids), "prod"))


@kernel("SegmentMax", "SegmentMin", cpu_types=UNSIGNED)
def bind_segment_extreme(node: Node, device: Device) -> Function:
    how = "amax" if node.type == "SegmentMax" else "amin"
    beyond = -torch.inf if how == "amax" else torch.inf

    def extreme(data: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        count = rows_of(ids)
        extremes = segment_reduce(data, ids, count, how, beyond if data.is_floating_point() else None)
        return where(_counts(data, ids, count) > 0, extremes, torch.zeros((), dtype=data.dtype, device=data.device))

    return extreme
