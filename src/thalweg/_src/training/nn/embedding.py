"""Embedding lookup in one table or a partitioned one, of single or combined rows."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.shapes import as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.ops import cast as cast_ops, math, reshape as reshape_ops, sequences as sequences_ops
from thalweg._src.graph.ops.comparison import greater, greater_equal, logical_and
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.gather import dynamic_partition, dynamic_stitch, gather
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reduction import reduce_prod, reduce_sum
from thalweg._src.graph.ops.reshape import ones, rank, reshape, size, zeros, zeros_like
from thalweg._src.graph.ops.segment import segment_sum
from thalweg._src.graph.ops.sparse import sparse_retain
from thalweg._src.graph.ops.sparse_rows import sparse_fill_empty_rows
from thalweg._src.graph.ops.sparse_segments import sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum
from thalweg._src.graph.ops.sparse_shaping import sparse_reshape
from thalweg._src.graph.ops.where import unique, where
from thalweg._src.graph.scopes import colocate_with, name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.partitions import PartitionedVariable
from thalweg._src.training.variables.variables import Variable


@export("nn.embedding_lookup")
@dispatches
def embedding_lookup(
    params: TensorLike | PartitionedVariable,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: TensorLike | None = None,
) -> Tensor:
    """Returns the rows of a table for ids; partitions hold the rows as `partition_strategy` says.

    Args:
        ids: Integer ids to look up.
        validate_indices: Ignored: ids are always checked.
    """
    partitions = _partitions_of(params)
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
    with name_scope(name, "embedding_lookup", [*partitions, ids]):
        ids = convert_to_tensor(ids, name="ids")
        partitions = [
            partition if hasattr(partition, "op") else convert_to_tensor(partition) for partition in partitions
        ]
        if len(partitions) == 1:
            return identity(_rows(partitions[0], ids, max_norm))
        return _from_partitions(partitions, ids, partition_strategy, max_norm)


def _partitions_of(params: Any) -> list[Any]:
    """Returns the partitions of a table: of a list, of a partitioned variable, or the table itself."""
    if params is None:
        raise ValueError("params must be specified")
    if not isinstance(params, list | tuple) and hasattr(params, "_get_variable_list"):
        params = params._get_variable_list()
    partitions = list(params) if isinstance(params, list | tuple) else [params]
    if not partitions:
        raise ValueError("Need at least one param")
    return partitions


def _rows(table: Variable | Tensor, ids: Tensor, max_norm: TensorLike | None) -> Tensor:
    """Gathers rows where the table is; those of a variable without reading the whole variable."""
    reader = getattr(table, "sparse_read", None)
    with colocate_with(table):
        return _clip(reader(ids) if reader is not None else gather(table, ids), ids, max_norm)


def _clip(rows: Tensor, ids: Tensor, max_norm: TensorLike | None) -> Tensor:
    """Clips rows to the norm max_norm."""
    if max_norm is None:
        return rows
    if ids.dims is not None and rows.dims is not None:
        axes: Any = list(range(len(ids.dims), len(rows.dims)))
    else:
        axes = sequences_ops.range(rank(ids), rank(rows))
    total = reduce_sum(math.square(rows), axes, keepdims=True)
    norm = math.sqrt(math.maximum(total, 1e-24))
    return math.divide(rows * max_norm, math.maximum(norm, cast_ops.cast(max_norm, rows.dtype)))


def _from_partitions(partitions: list[Any], ids: Tensor, strategy: str, max_norm: TensorLike | None) -> Tensor:
    """Looks each id up in its partition and restores the order of the rows."""
    flat = reshape(ids, [-1])
    places = sequences_ops.range(size(flat))
    count = len(partitions)
    if strategy == "mod":
        owners, local = math.floormod(flat, count), math.floordiv(flat, count)
    else:
        owners, local = _divided(partitions, flat)
    owners = cast_ops.cast(owners, "int32")
    local_ids = dynamic_partition(local, owners, count)
    positions = dynamic_partition(places, owners, count)
    rows = [_rows(partition, partition_ids, max_norm) for partition, partition_ids in zip(partitions, local_ids)]
    result = dynamic_stitch(positions, rows)
    table = as_shape(partitions[0].shape)
    row: Any = reshape_ops.shape(partitions[0])[1:] if table is None or None in table[1:] else list(table[1:])
    result = reshape(result, concat([reshape_ops.shape(ids), row], 0))
    if ids.dims is not None and table is not None:
        result.set_shape((*ids.dims, *table[1:]))
    return result


def _divided(partitions: list[Any], flat: Tensor) -> tuple[Tensor, Tensor]:
    """Returns partition and row of ids under the "div" strategy: contiguous ranges, the first ones longer by a row."""
    sizes = [as_shape(partition.shape) for partition in partitions]
    if all(shape is not None and shape[0] is not None for shape in sizes):
        total: Any = sum(shape[0] for shape in sizes)  # type: ignore[index, misc]
    else:
        total = sum(cast_ops.cast(reshape_ops.shape(partition)[0], flat.dtype) for partition in partitions)
    count = len(partitions)
    short, longer = total // count, total % count
    border = longer * (short + 1)
    owners = math.maximum(flat // (short + 1), (flat - longer) // short)
    local = where(flat < border, flat % (short + 1), (flat - longer) % short)
    return owners, local


_COMBINED = {"sum": sparse_segment_sum, "mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n}


@export("nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: TensorLike | PartitionedVariable,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: TensorLike | None = None,
) -> Tensor:
    """Combines the embeddings of each row of ids: sum, mean, or sum divided by the square root of the count.

    Each row of the table is gathered once, even if its id is repeated.

    Args:
        sp_ids: Sparse tensor of ids, one row for each example.
        sp_weights: Sparse tensor of the weights of the ids, or None for equal weights.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in _COMBINED:
        raise ValueError(f"combiner is {combiner!r}, expected 'mean', 'sqrtn' or 'sum'")
    _require_sparse(sp_ids, sp_weights)
    partitions = _partitions_of(params)
    with name_scope(name, "embedding_lookup_sparse", [*partitions, sp_ids]) as scope:
        owners = cast_ops.cast(sp_ids.indices[:, 0], dtypes.int32)
        ids, places = unique(sp_ids.values)
        rows = embedding_lookup(partitions, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        half = rows.dtype in (dtypes.float16, dtypes.bfloat16)
        wide = cast_ops.cast(rows, dtypes.float32) if half else rows
        if sp_weights is None:
            result = _COMBINED[combiner](wide, places, owners, name=None if half else scope)
        else:
            result = _weighted(wide, places, owners, sp_weights.values, combiner, None if half else scope)
        return cast_ops.cast(result, rows.dtype, name=scope) if half else result


def _require_sparse(sp_ids: object, sp_weights: object) -> None:
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is None:
        return
    if not isinstance(sp_weights, SparseTensor):
        raise TypeError(f"sp_weights is a {type(sp_weights).__name__}, expected a SparseTensor or None")
    for component in ("values", "indices", "dense_shape"):
        getattr(sp_ids, component).get_shape().assert_is_compatible_with(getattr(sp_weights, component).get_shape())


def _weighted(rows: Tensor, places: Tensor, owners: Tensor, weights: Tensor, combiner: str, name: str | None) -> Tensor:
    """Combines rows with weights: the weighted sum, divided by the sum or the root sum of squares of the weights."""
    weights = cast_ops.cast(weights, rows.dtype)
    weighted_rows = gather(rows, places)
    depth = None if weighted_rows.dims is None else len(weighted_rows.dims)
    trailing: Any = ones([rank(weighted_rows) - 1], dtypes.int32) if depth is None else [1] * (depth - 1)
    factors = reshape(weights, concat([reshape_ops.shape(weights), trailing], 0))
    if depth is not None:
        factors.set_shape([weighted_rows.dims[0] if weighted_rows.dims else None, *[1] * (depth - 1)])
    weighted_rows = weighted_rows * factors
    if combiner == "sum":
        return segment_sum(weighted_rows, owners, name=name)
    total = segment_sum(weighted_rows, owners)
    if combiner == "mean":
        return math.divide(total, segment_sum(factors, owners), name=name)
    return math.divide(total, math.sqrt(segment_sum(math.square(factors), owners)), name=name)


@export("nn.safe_embedding_lookup_sparse", "contrib.layers.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike | PartitionedVariable,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: TensorLike | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: TensorLike | None = None,
) -> Tensor:
    """Combines embeddings as `embedding_lookup_sparse`, without negative ids and weights of 0, for ids of any rank.

    Rows without ids get the embedding of default_id, or zeros if it is None.
    """
    partitions = _partitions_of(embedding_weights)
    kind = as_dtype_of(partitions[0])
    require_kind("sparse_ids", sparse_ids, SparseTensor, "a SparseTensor")
    if sparse_weights is not None:
        require_kind("sparse_weights", sparse_weights, SparseTensor, "a SparseTensor or None")
    if sparse_weights is not None and not sparse_weights.dtype.is_compatible_with(kind):
        raise TypeError(f"sparse_weights are {sparse_weights.dtype.name}, the embedding weights {kind.name}")
    with name_scope(name, "embedding_lookup", [*partitions, sparse_ids, sparse_weights]) as scope:
        shape = sparse_ids.dense_shape
        static = sparse_ids.dims
        depth = size(shape) if static is None else len(static)
        ids = _as_matrix(sparse_ids, depth)
        weights = None if sparse_weights is None else SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
        ids, weights = _pruned(ids, weights, combiner)
        ids, empty = sparse_fill_empty_rows(ids, 0 if default_id is None else default_id)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        result = embedding_lookup_sparse(
            partitions, ids, weights, combiner=combiner, partition_strategy=partition_strategy, max_norm=max_norm
        )
        if default_id is None:
            result = where(empty, zeros_like(result), result)
        leading = cast_ops.cast(shape, dtypes.int32)[: depth - 1]
        final = reshape(result, concat([leading, reshape_ops.shape(result)[1:]], 0), name=scope)
        if static is not None and result.dims is not None:
            final.set_shape((*static[:-1], *result.dims[1:]))
        return final


def as_dtype_of(table: Variable | Tensor) -> dtypes.DType:
    dtype = getattr(table, "dtype", None)
    return dtypes.as_dtype(dtype).base_dtype if dtype is not None else convert_to_tensor(table).dtype


def _as_matrix(sparse: SparseTensor, depth: int | Tensor) -> SparseTensor:
    """Reshapes a sparse tensor to a matrix with the same last dimension."""
    shape = sparse.dense_shape
    leading = reduce_prod(shape[: depth - 1], keepdims=True)
    return sparse_reshape(sparse, concat([leading, shape[depth - 1 : depth]], 0))


def _pruned(ids: SparseTensor, weights: SparseTensor | None, combiner: str) -> tuple[SparseTensor, SparseTensor | None]:
    """Removes negative ids; unless they are summed, also those without weight."""
    valid = greater_equal(ids.values, zeros([], ids.dtype))
    if weights is not None and combiner != "sum":
        valid = logical_and(valid, greater(weights.values, zeros([], weights.dtype)))
    return sparse_retain(ids, valid), None if weights is None else sparse_retain(weights, valid)
