"""Kernels of gather and scatter.

An index out of range is an error on the CPU. On a GPU the check would need a synchronization: there such an index reads
zeros and writes nothing, as in TensorFlow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError, invalid
from thalweg._src.base.shapes import compact, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.gather import gathered
from thalweg._src.graph.ops.shape_functions import normalize_axis, require
from thalweg._src.runtime.kernels.concat import one_or_all
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import STRINGS, Function, signed
from thalweg._src.runtime.kernels.scatter import is_in_range
from thalweg._src.runtime.kernels.sorting import comparable, restored
from thalweg._src.runtime.kernels.types import UNSIGNED, TensorValue
from thalweg._src.runtime.resources.devices import Device


def refuse_index(indices: torch.Tensor, size: int, name: str = "indices") -> None:
    """Raises for the first index outside [0, size), if there is one."""
    array = np.asarray(indices)
    for position in np.argwhere((array < 0) | (array >= size))[:1]:
        where, index = ",".join(map(str, position)), array[tuple(position)]
        raise invalid(f"{name}[{where}] = {index} is not in [0, {size})")


def select_rows(
    params: torch.Tensor, axis: int, indices: torch.Tensor, original: torch.Tensor | None = None
) -> torch.Tensor:
    """Returns slices of params at a vector of indices, which the caller may have given in another shape."""
    size = params.shape[axis]
    if params.device.type == "cpu":
        try:
            return torch.index_select(params, axis, indices)
        except (IndexError, RuntimeError):
            refuse_index(indices if original is None else original, size)
            shape = [*params.shape]
            shape[axis] = indices.numel()
            if 0 in shape:  # torch refuses to gather nothing from an empty tensor
                return params.new_empty(shape)
            return torch.index_select(signed(params), axis, indices.to(torch.int64)).view(params.dtype)
    shape = [1] * params.ndim
    shape[axis] = -1
    valid = ((indices >= 0) & (indices < size)).view(shape)
    if size == 0:
        return params.new_zeros([indices.numel() if i == axis else d for i, d in enumerate(params.shape)])
    rows = torch.index_select(signed(params), axis, indices.clamp(0, size - 1))
    return rows.masked_fill_(~valid, 0).view(params.dtype)


def _take(params: torch.Tensor, indices: torch.Tensor, axis: int, batch_dims: int) -> torch.Tensor:
    if indices.dtype is torch.int16:
        indices = indices.to(torch.int64)
    if axis < 0:
        axis += params.ndim
    if batch_dims:
        return _take_batches(params, indices, axis, batch_dims)
    if indices.ndim == 1:
        return select_rows(params, axis, indices)
    rows = select_rows(params, axis, indices.reshape(-1), indices)
    return rows.reshape(params.shape[:axis] + indices.shape + params.shape[axis + 1 :])


def _take_batches(params: torch.Tensor, indices: torch.Tensor, axis: int, batch_dims: int) -> torch.Tensor:
    """Gathers from all batches at once, in one flattened dimension with an offset per batch."""
    count = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    gathered(tuple(params.shape), tuple(indices.shape), axis, count)
    batch, size = params.shape[:count], params.shape[axis]
    if indices.device.type == "cpu":
        refuse_index(indices, size)
    rows = params.movedim(axis, count)
    tail = rows.shape[count + 1 :]
    batches = math.prod(batch)
    flat = indices.reshape(batches, -1).to(torch.int64)
    start = torch.arange(batches, device=indices.device).unsqueeze(1) * size
    valid = (flat >= 0) & (flat < size)
    linear = torch.where(valid, flat + start, -1).reshape(-1)
    taken = select_rows(rows.reshape(batches * size, *tail), 0, linear)
    inner = indices.ndim - count
    taken = taken.reshape(batch + indices.shape[count:] + tail)
    return taken.movedim(tuple(range(count, count + inner)), tuple(range(axis, axis + inner)))


plain_kernel("Gather")(lambda params, indices: _take(params, indices, 0, 0))


@kernel("GatherV2")
def bind_gather_v2(node: Node, device: Device) -> Function:
    axis, batch_dims = node.constant(2), node.attrs["batch_dims"]
    if axis is not None:
        static_axis = int(axis)
        indices = node.input_shape(1)
        if static_axis >= 0 and not batch_dims and indices is not None and len(indices) == 1:
            return lambda params, indices, _: select_rows(params, static_axis, indices)
        return lambda params, indices, _: _take(params, indices, static_axis, batch_dims)
    return lambda params, indices, axis: _take(params, indices, normalize_axis(int(axis), params.ndim), batch_dims)


@kernel("Gather", "GatherV2", devices=("CPU",), priority=1, Tparams=[dtypes.string])
def bind_gather_strings(node: Node, device: Device) -> Function:
    batch_dims = node.attrs.get("batch_dims", 0)

    def gather(params: np.ndarray[Any, Any], indices: torch.Tensor, axis: Any = 0) -> Any:
        positions = torch.arange(params.size).reshape(params.shape)
        return _strings_at(params, _take(positions, indices, int(axis), batch_dims))

    return gather


def _strings_at(params: TensorValue, positions: torch.Tensor) -> Any:
    """Looks up strings by their positions, which are gathered first; the ellipsis keeps a scalar an array."""
    return params.ravel()[positions.numpy(), ...]


def linear_index(indices: torch.Tensor, dims: Sequence[int], outside: int) -> torch.Tensor:
    """Flattens index rows to linear indices; rows out of range become `outside`."""
    rows = math.prod(indices.shape[:-1])
    on_cpu = indices.device.type == "cpu"
    if on_cpu and len(dims) == 1:
        linear = indices.reshape(rows).to(torch.int64)
        if is_in_range(linear, dims[0]):
            return linear
    columns = indices.to(torch.int64).reshape(rows, len(dims)).unbind(1)
    if not columns:
        return torch.zeros(rows, dtype=torch.int64, device=indices.device)
    linear = columns[0]
    for column, size in zip(columns[1:], dims[1:]):
        linear = linear * size + column
    if on_cpu and all(is_in_range(column, size) for column, size in zip(columns, dims)):
        return linear
    valid = torch.ones(rows, dtype=torch.bool, device=indices.device)
    for column, size in zip(columns, dims):
        valid &= (column >= 0) & (column < size)
    if on_cpu:
        _refuse_row(indices, dims, int(valid.to(torch.int8).argmin()))
    return torch.where(valid, linear, outside)


def _refuse_row(indices: torch.Tensor, dims: Sequence[int], row: int) -> NoReturn:
    position = ",".join(map(str, np.unravel_index(row, tuple(indices.shape[:-1]) or (1,))))
    index = indices.reshape(-1, len(dims))[row].tolist()
    raise invalid(f"indices[{position}] = {index} does not index into param shape {compact(tuple(dims))}")


def _depth(shape: Sequence[int], indices: torch.Tensor) -> int:
    if not indices.ndim or indices.shape[-1] > len(shape):
        raise ShapeError(f"indices have too many columns for {show(tuple(shape))}")
    return indices.shape[-1]


@plain_kernel("GatherNd")
def _take_nd(params: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    depth = _depth(params.shape, indices)
    tail = params.shape[depth:]
    if depth == 0:
        return params.expand(indices.shape[:-1] + tail)
    linear = linear_index(indices, params.shape[:depth], -1)
    rows = params.reshape(math.prod(params.shape[:depth]), *tail)
    return select_rows(rows, 0, linear).reshape(indices.shape[:-1] + tail)


@plain_kernel("GatherNd", devices=("CPU",), priority=1, Tparams=[dtypes.string])
def _gather_nd_strings(params: np.ndarray[Any, Any], indices: torch.Tensor) -> Any:
    positions = torch.arange(params.size).reshape(params.shape)
    return _strings_at(params, _take_nd(positions, indices))


def _scatter(base: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor, how: str) -> torch.Tensor:
    """Returns a copy of base with updates written ("copy"), added, subtracted or min/max-combined at index rows."""
    shape = base.shape
    depth = _depth(shape, indices)
    expected = indices.shape[:-1] + shape[depth:]
    if updates.shape != expected:
        raise ShapeError(f"updates have shape {show(tuple(updates.shape))}", expected=show(tuple(expected)))
    if 0 in shape and indices.numel():
        raise ShapeError(f"a tensor of shape {show(tuple(shape))} has no elements to index", expected="no indices")
    rows, tail = math.prod(shape[:depth]), shape[depth:]
    linear = linear_index(indices, shape[:depth], rows)
    source = signed(updates).reshape(linear.numel(), *tail)
    target = signed(base).reshape(rows, *tail)
    # An extra row receives out-of-range updates, which a GPU must not write elsewhere.
    spare = 0 if base.device.type == "cpu" else 1
    result = target.new_empty((rows + spare, *tail))
    result[:rows] = target
    if how == "copy":
        result.index_copy_(0, linear, source)
    elif how in ("amax", "amin"):
        result.scatter_reduce_(0, linear.view(-1, *[1] * len(tail)).expand_as(source), source, how)
    else:
        result.index_add_(0, linear, source, alpha=1 if how == "add" else -1)
    return result[:rows].reshape(shape).view(base.dtype)


@kernel("ScatterNd")
def bind_scatter_nd(node: Node, device: Device) -> Function:
    def scatter(indices: torch.Tensor, updates: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
        return _scatter(updates.new_zeros(()).expand(shape.tolist()), indices, updates, "add")

    def scatter_on_cpu(indices: torch.Tensor, updates: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
        """Adds to zeros, which is cheaper than copying zeros."""
        dims = shape.tolist()
        depth = _depth(dims, indices)
        if min(dims, default=0) <= 0 or updates.shape != indices.shape[:-1] + tuple(dims[depth:]):
            return scatter(indices, updates, shape)
        linear = linear_index(indices, dims[:depth], 0)
        rows = signed(updates).reshape(linear.numel(), *dims[depth:])
        result = rows.new_zeros((math.prod(dims[:depth]), *dims[depth:])).index_add_(0, linear, rows)
        return result.reshape(dims).view(updates.dtype)

    return scatter_on_cpu if device.type == "CPU" else scatter


@kernel("ScatterNd", **STRINGS)
def bind_scatter_nd_strings(node: Node, device: Device) -> Function:
    def scatter(indices: torch.Tensor, updates: Any, shape: torch.Tensor) -> Any:
        check(node, indices.shape, updates.shape, shape.shape, values={2: shape.numpy()})
        result = np.full(shape.tolist(), b"", dtype=object)
        depth = indices.shape[-1]
        linear_index(indices, result.shape[:depth], 0)
        np.add.at(result, tuple(indices.numpy()[..., i] for i in range(depth)), updates)
        return result

    return scatter


plain_kernel("TensorScatterUpdate")(lambda tensor, indices, updates: _scatter(tensor, indices, updates, "copy"))


@kernel("TensorScatterUpdate", **STRINGS)
def bind_tensor_scatter_update_strings(node: Node, device: Device) -> Function:
    def scatter(tensor: Any, indices: torch.Tensor, updates: Any) -> Any:
        check(node, tensor.shape, indices.shape, updates.shape)
        result, depth = tensor.copy(), indices.shape[-1]
        linear_index(indices, result.shape[:depth], 0)
        result[tuple(indices.numpy()[..., i] for i in range(depth))] = updates
        return result

    return scatter


plain_kernel("TensorScatterAdd")(lambda tensor, indices, updates: _scatter(tensor, indices, updates, "add"))
plain_kernel("TensorScatterSub")(lambda tensor, indices, updates: _scatter(tensor, indices, updates, "subtract"))


@kernel("TensorScatterMax", "TensorScatterMin", T=dtypes.REAL)
def bind_tensor_scatter_extreme(node: Node, device: Device) -> Function:
    how = "amax" if node.type == "TensorScatterMax" else "amin"

    def scatter(tensor: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
        result = _scatter(comparable(tensor), indices, comparable(updates), how)
        return restored(result, tensor.dtype)

    return scatter


@kernel("UnravelIndex", devices=("CPU",))
def bind_unravel_index(node: Node, device: Device) -> Function:
    def unravel(indices: torch.Tensor, dims: torch.Tensor) -> torch.Tensor:
        check(node, indices.shape, dims.shape, values={1: dims.numpy()})
        refuse_index(indices, math.prod(dims.tolist()))
        rest, columns = indices, []
        for size in reversed(dims.tolist()):
            columns.append(rest % size)
            rest = rest // size
        return torch.stack(columns[::-1]) if columns else indices.new_empty((0, *indices.shape))

    return unravel


def _require_beginning(data: TensorValue, partitions: torch.Tensor) -> None:
    require(
        tuple(data.shape[: partitions.ndim]) == tuple(partitions.shape),
        f"partitions has shape {show(tuple(partitions.shape))}",
        expected=f"a prefix of data's shape {show(tuple(data.shape))}",
    )


@kernel("DynamicPartition", cpu_types=UNSIGNED)
def bind_dynamic_partition(node: Node, device: Device) -> Function:
    count = node.attrs["num_partitions"]

    def partition(data: torch.Tensor, partitions: torch.Tensor) -> Any:
        _require_beginning(data, partitions)
        if partitions.device.type == "cpu":
            refuse_index(partitions, count, "partitions")
        return one_or_all([data[partitions == number] for number in range(count)])

    return partition


@kernel("DynamicPartition", **STRINGS)
def bind_dynamic_partition_strings(node: Node, device: Device) -> Function:
    count = node.attrs["num_partitions"]

    def partition(data: Any, partitions: torch.Tensor) -> Any:
        _require_beginning(data, partitions)
        refuse_index(partitions, count, "partitions")
        return one_or_all([data[partitions.numpy() == number] for number in range(count)])

    return partition


@kernel("DynamicStitch", "ParallelDynamicStitch")
def bind_dynamic_stitch(node: Node, device: Device) -> Function:
    count = node.attrs["N"]

    def stitch(*values: torch.Tensor) -> torch.Tensor:
        indices, data = values[:count], values[count:]
        tail = data[0].shape[indices[0].ndim :]
        for index, block in zip(indices, data):
            require(block.shape == index.shape + tail, f"data has shape {show(tuple(block.shape))}")
        flat = torch.cat([index.reshape(-1) for index in indices]).to(torch.int64)
        rows = torch.cat(
            [
                block.reshape(-1, *tail) if block.numel() else block.reshape(index.numel(), *tail)
                for index, block in zip(indices, data)
            ]
        )
        if not flat.numel():
            return rows
        if int(flat.min()) < 0:
            raise invalid(f"index {int(flat.min())} is negative")
        result = signed(rows.new_zeros((int(flat.max()) + 1, *tail)))
        return result.index_copy_(0, flat, signed(rows)).view(rows.dtype)

    return stitch


@kernel("DynamicStitch", "ParallelDynamicStitch", **STRINGS)
def bind_dynamic_stitch_strings(node: Node, device: Device) -> Function:
    count = node.attrs["N"]

    def stitch(*values: TensorValue) -> Any:
        indices, data = [np.asarray(v) for v in values[:count]], values[count:]
        rows = max((int(i.max()) for i in indices if i.size), default=-1) + 1
        result = np.full((rows, *data[0].shape[indices[0].ndim :]), b"", dtype=object)
        for index, block in zip(indices, data):
            result[index] = block if block.ndim else block.item()
        return result

    return stitch
