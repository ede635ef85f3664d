"""Gradients of gather and scatter, which are each other's; gathers of whole rows have sparse gradients."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.infer import complete, static_value
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.gather import (
    dynamic_partition,
    gather,
    gather_nd_op,
    parallel_dynamic_stitch,
    scatter_nd_op,
    tensor_scatter_update_op,
)
from thalweg._src.graph.ops.math import add, floormod, multiply, negative, realdiv
from thalweg._src.graph.ops.reduction import reduce_prod
from thalweg._src.graph.ops.reshape import expand_dims, rank, reshape, shape, size, squeeze, transpose_op, zeros_like
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.graph.ops.sequences import range
from thalweg._src.graph.tensor import Tensor


@gradient("Gather")
def gather_v1(op: Operation, grad: Tensor) -> list[Any]:
    return [_rows(op.inputs[0], op.inputs[1], grad), None]


@gradient("GatherV2")
def gather_v2(op: Operation, grad: Tensor) -> list[Any]:
    params, indices, axis = op.inputs
    static_axis = complete(static_value(axis))
    if static_axis is not None and int(static_axis) == 0 and op.attrs["batch_dims"] == 0:
        return [_rows(params, indices, grad), None, None]
    return [_along_axis(params, indices, axis, op.attrs["batch_dims"], grad), None, None]


def _rows(params: Tensor, indices: Tensor, grad: Tensor) -> IndexedSlices:
    """Returns the gradient of gathered rows as IndexedSlices."""
    dims: Any = shape(params)
    count = expand_dims(size(indices), 0)
    values = reshape(grad, concat([count, dims[1:]], 0))
    return IndexedSlices(values, reshape(indices, count), dims)


def _along_axis(params: Tensor, indices: Tensor, axis: Tensor, batch_dims: int, grad: Tensor) -> Tensor:
    """Scatter-adds gradients along an axis, with batch dimensions flattened to one and all others to two."""
    dims: Any = shape(params)
    static_axis = complete(static_value(axis))
    where: Any = floormod(axis, cast(rank(params), axis.dtype)) if static_axis is None else int(static_axis)
    length = dims[where]
    if batch_dims < 0 and indices.dims is not None:
        batch_dims += len(indices.dims)
    after = dims[:0] if where == -1 else dims[where + 1 :]
    batches, outer, inner = (reduce_prod(sizes) for sizes in (dims[:batch_dims], dims[batch_dims:where], after))
    count: Any = reduce_prod(shape(indices)[batch_dims:])
    spread = transpose_op(reshape(grad, [batches, outer, count, inner]), [0, 2, 1, 3])
    starts = multiply(range(batches), length)
    ids = add(reshape(indices, [batches, count]), cast(expand_dims(starts, 1), indices.dtype))
    total = unsorted_segment_sum(
        reshape(spread, [multiply(batches, count), outer, inner]), reshape(ids, [-1]), multiply(batches, length)
    )
    return reshape(transpose_op(reshape(total, [batches, length, outer, inner]), [0, 2, 1, 3]), dims)


@gradient("GatherNd")
def gather_nd(op: Operation, grad: Tensor) -> list[Any]:
    params, indices = op.inputs
    if indices.dtype not in dtypes.INDEX:
        indices = cast(indices, dtypes.int32)
    dims = shape(params, out_type=indices.dtype)
    if indices.dims is not None and len(indices.dims) == 2 and indices.dims[-1] == 1:
        return [IndexedSlices(grad, squeeze(indices, [-1]), dims), None]
    return [scatter_nd_op(indices, grad, dims), None]


@gradient("ScatterNd")
def scatter_nd(op: Operation, grad: Tensor) -> list[Any]:
    return [None, gather_nd_op(grad, op.inputs[0]), None]


@gradient("TensorScatterUpdate")
def tensor_scatter_update(op: Operation, grad: Tensor) -> list[Any]:
    _, indices, updates = op.inputs
    return [tensor_scatter_update_op(grad, indices, zeros_like(updates)), None, gather_nd_op(grad, indices)]


@gradient("TensorScatterAdd")
def tensor_scatter_add(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, gather_nd_op(grad, op.inputs[1])]


@gradient("TensorScatterSub")
def tensor_scatter_sub(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, negative(gather_nd_op(grad, op.inputs[1]))]


@gradient("TensorScatterMax", "TensorScatterMin")
def tensor_scatter_extreme(op: Operation, grad: Tensor) -> list[Any]:
    """Divides the gradient of an element among all that are equal to it."""
    tensor, indices, updates = op.inputs
    result = op.outputs[0]
    unchanged = cast(equal(tensor, result), grad.dtype)
    written = cast(equal(updates, gather_nd_op(result, indices)), grad.dtype)
    winners = add(unchanged, scatter_nd_op(indices, written, shape(tensor, out_type=indices.dtype)))
    share = realdiv(grad, winners)
    return [multiply(share, unchanged), None, multiply(gather_nd_op(share, indices), written)]


@gradient("DynamicPartition")
def partition(op: Operation, *grads: Tensor) -> list[Any]:
    """Returns every row to its original position: the positions are partitioned in the same way."""
    data, partitions = op.inputs
    prefix = shape(partitions)
    positions = reshape(range(reduce_prod(prefix)), prefix)
    places = dynamic_partition(positions, partitions, op.attrs["num_partitions"])
    return [reshape(parallel_dynamic_stitch(places, list(grads)), shape(data)), None]


@gradient("DynamicStitch", "ParallelDynamicStitch")
def stitch(op: Operation, grad: Tensor) -> list[Any]:
    count = op.attrs["N"]
    return [None] * count + [gather(grad, indices) for indices in op.inputs[:count]]
