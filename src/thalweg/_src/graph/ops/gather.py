"""Gather and scatter: rows and elements by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, merge, show
from thalweg._src.graph import attr, nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.infer import Inference, complete, static_value
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reduction import reduce_prod
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, reshape, shape, squeeze
from thalweg._src.graph.ops.sequences import range
from thalweg._src.graph.ops.shape_functions import at_least_rank, normalize_axis, require, require_sizes, vector_size
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_INDICES = dtypes.INDEX | {dtypes.int16}


def gathered(params: Shape, indices: Shape, axis: int | None, batch_dims: int) -> Shape:
    """Returns the shape of a gather."""
    if indices is not None and batch_dims < 0:
        batch_dims = normalize_axis(batch_dims, len(indices), "batch_dims")
    if params is None or indices is None:
        return None
    if axis is None:
        return (None,) * (len(params) - 1 + len(indices) - batch_dims)
    axis = normalize_axis(axis, len(params))
    require(batch_dims <= len(indices), f"batch_dims {batch_dims} exceeds the rank of indices {len(indices)}")
    require(batch_dims <= axis, f"batch_dims {batch_dims} exceeds axis {axis}")
    batch = merge(params[:batch_dims], indices[:batch_dims])
    assert batch is not None
    return batch + params[batch_dims:axis] + indices[batch_dims:] + params[axis + 1 :]


def _gather(c: Inference) -> Sequence[Shape]:
    return [gathered(at_least_rank(c, 0, 1), c.shapes[1], 0, 0)]


def _gather_v2(c: Inference) -> Sequence[Shape]:
    params, axis = at_least_rank(c, 0, 1), c.value(2)
    require(c.shapes[2] in ((), None), f"axis must be a scalar, got {show(c.shapes[2])}")
    return [gathered(params, c.shapes[1], None if axis is None else int(axis), c.attrs["batch_dims"])]


def _gather_value(c: Inference) -> Any:
    params, indices = c.partial(0), c.value(1)
    axis = c.value(2) if len(c.shapes) > 2 else np.array(0)
    if params is None or indices is None or axis is None or c.attrs.get("batch_dims"):
        return None
    return np.asarray(np.take(params, indices, int(axis)), dtype=params.dtype)


gather_v1_op = op(
    "Gather",
    "params: Tparams, indices: Tindices -> output: Tparams",
    validate_indices=True,
    Tparams=attr.types(),
    Tindices=dtypes.INDEX,
    infer=_gather,
    evaluate=_gather_value,
    doc="Gathers slices along the first dimension; the first version of GatherV2.",
)
gather_op = op(
    "GatherV2",
    "params: Tparams, indices: Tindices, axis: Taxis -> output: Tparams",
    batch_dims=0,
    Tparams=attr.types(),
    Tindices=_INDICES,
    Taxis=attr.types(dtypes.INDEX),
    host="axis",
    infer=_gather_v2,
    evaluate=_gather_value,
    doc="Gathers slices of a tensor along an axis.",
)


def _depth(indices: Shape) -> int | None:
    """Returns the number of leading dimensions that index vectors address."""
    require(indices is None or len(indices) > 0, "indices must have rank at least 1")
    return None if indices is None else indices[-1]


def _gather_nd(c: Inference) -> Sequence[Shape]:
    params, indices = c.shapes
    depth = _depth(indices)
    if params is None or indices is None or depth is None:
        return [None]
    require(depth <= len(params), f"indices address {depth} dimensions", expected=f"at most {len(params)}")
    return [indices[:-1] + params[depth:]]


gather_nd_op = op(
    "GatherNd",
    "params: Tparams, indices: Tindices -> output: Tparams",
    Tparams=attr.types(),
    Tindices=_INDICES,
    bad_indices_policy="",
    infer=_gather_nd,
    doc="Gathers elements or slices of a tensor by index vectors.",
)


def _require_updates(target: Shape, indices: Shape, updates: Shape) -> None:
    depth = _depth(indices)
    if target is None or indices is None or depth is None:
        return
    require(depth <= len(target), f"indices address {depth} dimensions", expected=f"at most {len(target)}")
    if 0 in target:
        require(0 in indices, f"a tensor of shape {show(target)} has no elements to index", expected="no indices")
    expected = indices[:-1] + target[depth:]
    fits = updates is None or (
        len(updates) == len(expected) and all(None in (u, w) or u == w for u, w in zip(updates, expected))
    )
    require(fits, f"updates have shape {show(updates)}", expected=f"updates of shape {show(expected)}")


def _scatter_nd(c: Inference) -> Sequence[Shape]:
    require_sizes(c, 2)
    target = c.shape_value(2)
    _require_updates(target, c.shapes[0], c.shapes[1])
    return [target]


def _tensor_scatter(c: Inference) -> Sequence[Shape]:
    _require_updates(c.shapes[0], c.shapes[1], c.shapes[2])
    return c.shapes[:1]


scatter_nd_op = op(
    "ScatterNd",
    "indices: Tindices, updates: T, shape: Tindices -> output: T",
    T=attr.types(),
    Tindices=_INDICES,
    bad_indices_policy="",
    host="shape",
    infer=_scatter_nd,
    doc="Scatters updates into zeros of a shape by index vectors; duplicates are summed.",
)
_SCATTER: dict[str, Any] = {"T": attr.types(), "bad_indices_policy": "", "infer": _tensor_scatter}
_SCATTER_SIGNATURE = "tensor: T, indices: Tindices, updates: T -> output: T"
tensor_scatter_update_op = op(
    "TensorScatterUpdate",
    _SCATTER_SIGNATURE,
    Tindices=_INDICES | {dtypes.uint16},
    **_SCATTER,
    doc="Returns a copy of a tensor with the elements at indices replaced.",
)
tensor_scatter_add_op = op(
    "TensorScatterAdd",
    _SCATTER_SIGNATURE,
    Tindices=dtypes.INDEX,
    **_SCATTER,
    doc="Returns a copy of a tensor with updates added at indices.",
)
tensor_scatter_sub_op = op(
    "TensorScatterSub",
    _SCATTER_SIGNATURE,
    Tindices=dtypes.INDEX,
    **_SCATTER,
    doc="Returns a copy of a tensor with updates subtracted at indices.",
)
tensor_scatter_max_op = op(
    "TensorScatterMax",
    _SCATTER_SIGNATURE,
    Tindices=dtypes.INDEX,
    **_SCATTER,
    doc="Returns a copy of a tensor with the maximum of old values and updates at indices.",
)
tensor_scatter_min_op = op(
    "TensorScatterMin",
    _SCATTER_SIGNATURE,
    Tindices=dtypes.INDEX,
    **_SCATTER,
    doc="Returns a copy of a tensor with the minimum of old values and updates at indices.",
)


def _unravel(c: Inference) -> Sequence[Shape]:
    indices, rank = c.shapes[0], vector_size(c, 1)
    require(indices is None or len(indices) <= 1, f"indices has shape {show(indices)}", expected="a scalar or a vector")
    sizes = c.partial(1)
    bad = [d for d in ([] if sizes is None else sizes.tolist()) if d is not None and d <= 0]
    require(not bad, f"dims has {bad[:1]}", expected="sizes of at least 1")
    return [None if indices is None else (rank, *indices)]


unravel_index = export("unravel_index", indices="Flat indices.", dims="Shape that the indices refer to.")(
    nondifferentiable_op(
        "UnravelIndex",
        "indices: Tidx, dims: Tidx -> output: Tidx",
        "Converts flat indices to coordinates, one row per dimension.",
        Tidx=attr.types(dtypes.INDEX, dtypes.int32),
        host="dims",
        infer=_unravel,
    )
)


@export("gather")
@dispatches
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """Gathers slices of params along an axis; of a variable only these are read.

    Args:
        indices: The indices of the slices.
        validate_indices: Ignored: indices are always checked.
        axis: The axis of `params` to take slices from.
    """
    if axis is None:
        axis = batch_dims
    if batch_dims == 0 and isinstance(axis, int) and axis == 0 and hasattr(params, "sparse_read"):
        return params.sparse_read(indices, name=name)  # type: ignore[no-any-return]
    return gather_op(params, _as_indices(indices), axis, batch_dims=batch_dims, name=name)


def gather_v2(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Gathers slices of params along an axis."""
    return gather(params, indices, validate_indices, name, axis, batch_dims)


def _as_indices(indices: TensorLike) -> Any:
    """Returns an empty list of indices as integers, since NumPy would make it floats."""
    if isinstance(indices, list | tuple) and not nest.flatten(indices):
        return np.array(indices, np.int32)
    return indices


@export("batch_gather")
@dispatches
def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Gathers slices of params at indices with the same leading dimensions.

    Args:
        indices: Indices along the last dimension that `params` and `indices` have in common.
    """
    with name_scope(name, "BatchGather", [params, indices]) as scope:
        indices = convert_to_tensor(indices, name="indices")
        if indices.dims is None:
            raise ValueError("batch_gather requires indices of known rank")
        count = len(indices.dims) - 1
        return gather_op(params, indices, count, batch_dims=count, name=scope)


@export("gather_nd", "manip.gather_nd")
@dispatches
def gather_nd(params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0) -> Tensor:
    """Gathers the elements or slices of params at index vectors.

    Args:
        indices: Positions to take; the last dimension holds one index vector.
    """
    if batch_dims == 0:
        read = getattr(params, "gather_nd", None)
        if read is not None and not isinstance(params, Tensor):
            return read(indices, name=name)  # type: ignore[no-any-return]
        return gather_nd_op(params, indices, name=name)
    with name_scope(name, "BatchGatherNd", [params, indices]) as scope:
        tensor, rows = convert_to_tensor(params, name="params"), convert_to_tensor(indices, name="indices")
        if rows.dims is None or not 0 <= batch_dims < len(rows.dims):
            raise ValueError(f"batch_dims = {batch_dims} must be less than rank(indices), of {show(rows.dims)}")
        return gather_nd_op(tensor, concat([*_batch_positions(rows, batch_dims), rows], -1), name=scope)


def _batch_positions(rows: Tensor, batch_dims: int) -> list[Tensor]:
    """Returns the batch indices as columns to put before the index vectors."""
    rank = len(rows.dims or ())
    ones = ones_like(rows[..., :1])
    positions = []
    for axis in np.arange(batch_dims).tolist():
        count = shape(rows, out_type=rows.dtype)[axis]
        column = reshape(range(count, dtype=rows.dtype), [1] * axis + [-1] + [1] * (rank - axis - 1))
        positions.append(column * ones)
    return positions


@export("scatter_nd", "manip.scatter_nd")
def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: ShapeLike | TensorLike, name: str | None = None
) -> Tensor:
    """Scatters updates into zeros of a shape at index vectors; duplicates are summed.

    Args:
        indices: Positions to update; the last dimension holds one index vector.
        updates: The new values, one element or slice for each index vector.
    """
    return scatter_nd_op(indices, updates, shape, name=name)


@export("tensor_scatter_nd_update", "tensor_scatter_update")
def tensor_scatter_update(
    tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
) -> Tensor:
    """Returns a copy of a tensor with the elements or slices at index vectors replaced by updates.

    Args:
        tensor: The tensor to start from.
        indices: Positions to update; the last dimension holds one index vector.
        updates: The new values, one element or slice for each index vector.
    """
    return tensor_scatter_update_op(tensor, indices, updates, name=name)


@export("tensor_scatter_add", "tensor_scatter_nd_add")
def tensor_scatter_add(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
    """Returns a copy of a tensor with updates added at index vectors.

    Args:
        tensor: The tensor to start from.
        indices: Positions to update; the last dimension holds one index vector.
        updates: The new values, one element or slice for each index vector.
    """
    return tensor_scatter_add_op(tensor, indices, updates, name=name)


@export("tensor_scatter_nd_sub", "tensor_scatter_sub")
def tensor_scatter_sub(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
    """Returns a copy of a tensor with updates subtracted at index vectors.

    Args:
        tensor: The tensor to start from.
        indices: Positions to update; the last dimension holds one index vector.
        updates: The new values, one element or slice for each index vector.
    """
    return tensor_scatter_sub_op(tensor, indices, updates, name=name)


@export("tensor_scatter_nd_max")
def tensor_scatter_max(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
    """Returns a copy of a tensor with the maximum of it and updates at index vectors.

    Args:
        tensor: The tensor to start from.
        indices: Positions to update; the last dimension holds one index vector.
        updates: The new values, one element or slice for each index vector.
    """
    return tensor_scatter_max_op(tensor, indices, updates, name=name)


@export("tensor_scatter_nd_min")
def tensor_scatter_min(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
    """Returns a copy of a tensor with the minimum of it and updates at index vectors.

    Args:
        tensor: The tensor to start from.
        indices: Positions to update; the last dimension holds one index vector.
        updates: The new values, one element or slice for each index vector.
    """
    return tensor_scatter_min_op(tensor, indices, updates, name=name)


tensor_scatter_nd_max = tensor_scatter_max
tensor_scatter_nd_min = tensor_scatter_min
tensor_scatter_nd_update = tensor_scatter_update
tensor_scatter_nd_add = tensor_scatter_add
tensor_scatter_nd_sub = tensor_scatter_sub


@export("boolean_mask")
@dispatches
def boolean_mask(
    tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: TensorLike | None = None
) -> Tensor:
    """Returns the elements or slices of a tensor, along the dimensions of the mask, where the mask is true.

    Args:
        mask: Boolean tensor whose shape is a prefix of the tensor's from `axis` on.
        axis: The axis of the tensor where the mask begins; 0 by default.
    """
    with name_scope(name, "boolean_mask", [tensor, mask]):
        value, chosen = convert_to_tensor(tensor, name="tensor"), convert_to_tensor(mask, name="mask")
        dims = chosen.dims
        if dims is None:
            raise ValueError("the rank of a boolean mask must be known when the graph is built; sizes may be unknown")
        if not dims:
            raise ValueError("mask cannot be scalar.")
        first = 0 if axis is None else axis
        if not isinstance(first, int):
            static_axis = complete(static_value(convert_to_tensor(first)))
            if static_axis is None:
                raise ValueError("the axis of a boolean mask must be known when the graph is built")
            first = int(static_axis)
        last = first + len(dims)
        source = value.dims
        if source is not None:
            if first < 0:
                first, last = first + len(source), last + len(source)
            merge(source[first:last], dims)
        if len(dims) > 1:
            value = _merged_dimensions(value, first, last)
            chosen = reshape(chosen, [-1])
        return gather(value, squeeze(where(chosen), axis=[1]), axis=first)


def _merged_dimensions(value: Tensor, first: int, last: int) -> Tensor:
    dims: Any = shape(value)
    merged = reduce_prod(dims[first:last], [0])
    return reshape(value, concat([dims[:first], expand_dims(merged, 0), dims[last:]], 0))


def _partitioned(c: Inference) -> Sequence[Shape]:
    data, partitions = c.shapes
    if data is None or partitions is None:
        return [None] * c.num_outputs
    require(len(data) >= len(partitions), f"partitions has rank {len(partitions)}", expected=f"at most {len(data)}")
    merge(data[: len(partitions)], partitions)
    return [(None, *data[len(partitions) :])] * c.num_outputs


dynamic_partition_op = op(
    "DynamicPartition",
    "data: T, partitions: int32 -> outputs: num_partitions*T",
    num_partitions=attr.integer(1),
    T=attr.types(),
    infer=_partitioned,
    doc="Partitions the rows of a tensor by their partition indices.",
    capturable=False,
)


def _stitched(c: Inference) -> Sequence[Shape]:
    count = c.attrs["N"]
    tail: Shape = None
    for indices, data in zip(c.shapes[:count], c.shapes[count:]):
        if indices is not None and data is not None:
            merge(data[: len(indices)], indices)
            tail = merge(tail, data[len(indices) :])
    values = [c.value(i) for i in np.arange(count).tolist()]
    if tail is None:
        return [None]
    if any(value is None for value in values):
        return [(None, *tail)]
    return [(max((int(v.max()) for v in values if v is not None and v.size), default=-1) + 1, *tail)]


_STITCH = "indices: N*int32, data: N*T -> merged: T"
dynamic_stitch = export(
    "dynamic_stitch",
    indices="List of integer tensors: rows of the result that the data go to.",
    data="List of tensors with one slice for each index.",
)(
    op(
        "DynamicStitch",
        _STITCH,
        T=attr.types(),
        infer=_stitched,
        doc="Merges the rows of several tensors into one, at the given indices; later rows replace earlier ones.",
        capturable=False,
    )
)
parallel_dynamic_stitch = op(
    "ParallelDynamicStitch",
    _STITCH,
    T=attr.types(),
    infer=_stitched,
    doc="Interleaves tensors by index into one; the order of writes to equal indices is undefined.",
    capturable=False,
)


@export("dynamic_partition")
def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Partitions the rows of data into num_partitions tensors by their partition indices.

    Args:
        data: The rows to distribute.
        partitions: Number of the part that each row of `data` belongs to.
        num_partitions: Number of parts.
    """
    return dynamic_partition_op.many(data, partitions, num_partitions=num_partitions, name=name)  # type: ignore[no-any-return]
