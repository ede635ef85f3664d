"""Order and shape of sparse tensors: reorder, reshape, transpose, concat, split, slice, merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, num_elements
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference, complete, static_value
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops import cast as cast_ops, reshape as reshape_ops, sequences as sequences_ops
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reduction import one_of, reduce_max
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, reshaped, transpose
from thalweg._src.graph.ops.shape_functions import (
    normalize_axis,
    require,
    require_sizes,
    same_dimension,
    scalar_value,
    vector_size,
)
from thalweg._src.graph.ops.sparse import as_sparse, count_and_rank, sparse_tensor_to_dense
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _reorder(c: Inference) -> Sequence[Shape]:
    count, rank = count_and_rank(c, 0, 1, 2)
    return [(count, rank), (count,)]


def _reshape(c: Inference) -> Sequence[Shape]:
    count, _ = count_and_rank(c, 0, None, 1)
    rank = vector_size(c, 2)
    sizes = c.value(2)
    require_sizes(c, 1)
    if sizes is not None:
        reshaped(c.shape_value(1), sizes.tolist())
    return [(count, rank), (rank,)]


def _concat(c: Inference) -> Sequence[Shape]:
    number = c.attrs["N"]
    rank: int | None = None
    total: int | None = 0
    for i in range(number):
        count, its = count_and_rank(c, i, number + i, 2 * number + i)
        rank = same_dimension(rank, its, "ranks of the inputs", expected="inputs of equal rank")
        total = None if count is None or total is None else total + count
    if rank is not None:
        axis = normalize_axis(c.attrs["concat_dim"], rank, "concat_dim")
        _require_same_sizes([c.shape_value(2 * number + i) for i in range(number)], axis)
    return [(total, rank), (total,), (rank,)]


def _require_same_sizes(shapes: Sequence[Shape], axis: int) -> None:
    """Requires shapes that agree in all dimensions except one."""
    first: list[int | None] = [None] * len(next((s for s in shapes if s is not None), ()))
    for shape in shapes:
        for d, size in enumerate(shape or ()):
            if d != axis:
                first[d] = same_dimension(
                    first[d],
                    size,
                    f"sizes of dimension {d}",
                    expected=f"equal sizes in all dimensions except concat_dim {axis}",
                    hint="expand_nonconcat_dim=True expands smaller ones",
                )


def _split(c: Inference) -> Sequence[Shape]:
    number = c.attrs["num_split"]
    _, rank = count_and_rank(c, 1, 2, 3)
    axis, shape = scalar_value(c, 0), c.shape_value(3)
    if axis is not None and rank is not None:
        split_sizes(shape or (None,) * rank, int(axis), number)
    return [(None, rank)] * number + [(None,)] * number + [(rank,)] * number


def split_sizes(shape: Sequence[int | None], axis: int, number: int) -> tuple[int, list[int]]:
    """Returns the dimension that is split and the sizes of its pieces, the first of which may be one larger."""
    axis = normalize_axis(axis, len(shape), "split_dim")
    size = shape[axis]
    if size is None:
        return axis, []
    require(number <= size, f"num_split is {number}", expected=f"at most {size}, the size of dimension {axis}")
    return axis, [size // number + (i < size % number) for i in range(number)]


def _slice(c: Inference) -> Sequence[Shape]:
    _, rank = count_and_rank(c, 0, 1, 2)
    for index in (3, 4):
        rank = same_dimension(rank, vector_size(c, index), "ranks", expected="start and size for each dimension")
    require_sizes(c, 2)
    sizes = c.value(4)
    require(sizes is None or min(sizes.tolist(), default=0) >= 0, f"size is {sizes}", expected="non-negative sizes")
    return [(None, rank), (None,), (rank,)]


def _slice_grad(c: Inference) -> Sequence[Shape]:
    count, _ = count_and_rank(c, 1, None, 2)
    output_count, _ = count_and_rank(c, 3, 0, 2)
    fits = count is None or output_count is None or output_count <= count
    require(fits, f"output_indices has {output_count} rows, input_indices {count}", expected="at most as many")
    return [(count,)]


sparse_reorder_op = op(
    "SparseReorder",
    "input_indices: int64, input_values: T, input_shape: int64 -> output_indices: int64, output_values: T",
    T=attr.types(),
    host="input_shape",
    infer=_reorder,
    doc="Sorts the indices of a sparse tensor in row-major order.",
    capturable=False,
)
sparse_reshape_op = nondifferentiable_op(
    "SparseReshape",
    "input_indices: int64, input_shape: int64, new_shape: int64 -> output_indices: int64, output_shape: int64",
    "Reshapes a sparse tensor.",
    host="input_shape, new_shape, output_shape",
    infer=_reshape,
)
sparse_concat_op = nondifferentiable_op(
    "SparseConcat",
    "indices: N*int64, values: N*T, shapes: N*int64 -> output_indices: int64, output_values: T, output_shape: int64",
    "Concatenates sparse tensors along a dimension.",
    concat_dim=attr.integer(),
    N=attr.integer(2),
    T=attr.types(),
    host="shapes, output_shape",
    infer=_concat,
    capturable=False,
)
sparse_split_op = nondifferentiable_op(
    "SparseSplit",
    "split_dim: int64, indices: int64, values: T, shape: int64 -> "
    "output_indices: num_split*int64, output_values: num_split*T, output_shape: num_split*int64",
    "Splits a sparse tensor along a dimension.",
    num_split=attr.integer(1),
    T=attr.types(),
    host="split_dim, shape, output_shape",
    infer=_split,
    capturable=False,
)
sparse_slice_op = op(
    "SparseSlice",
    "indices: int64, values: T, shape: int64, start: int64, size: int64 -> "
    "output_indices: int64, output_values: T, output_shape: int64",
    T=attr.types(),
    host="shape, start, size, output_shape",
    infer=_slice,
    doc="Extracts a slice of a sparse tensor.",
    capturable=False,
)
sparse_slice_grad_op = op(
    "SparseSliceGrad",
    "backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64 -> val_grad: T",
    T=dtypes.NUMERIC,
    host="input_start",
    infer=_slice_grad,
    doc="Computes the gradient of SparseSlice with respect to the input's values.",
)


@export("sparse_reorder", "sparse.reorder")
def sparse_reorder(sp_input: SparseTensor | SparseTensorValue, name: str | None = None) -> SparseTensor:
    """Returns the sparse tensor with its indices in row-major order."""
    sparse = as_sparse(sp_input)
    indices, values = sparse_reorder_op.many(sparse.indices, sparse.values, sparse.dense_shape, name=name)
    return _with_shape(SparseTensor(indices, values, identity(sparse.dense_shape)), sparse.dims)


def _with_shape(sparse: SparseTensor, shape: Shape) -> SparseTensor:
    sparse.set_shape(shape)
    return sparse


@export("sparse_reshape", "sparse.reshape")
def sparse_reshape(
    sp_input: SparseTensor | SparseTensorValue, shape: ShapeLike | TensorLike, name: str | None = None
) -> SparseTensor:
    """Reshapes the sparse tensor; one size may be -1, which is inferred.

    Args:
        shape: The new dense shape; one size may be -1 and is computed.
    """
    sparse = as_sparse(sp_input)
    shape = cast_ops.cast(convert_to_tensor(shape, name="shape"), dtypes.int64)
    with name_scope(name, "SparseReshape", [sparse]) as scope:
        indices, sizes = sparse_reshape_op.many(sparse.indices, sparse.dense_shape, shape, name=scope)
        requested = complete(static_value(shape))
        static_shape = None if requested is None else reshaped(sparse.dims, requested.tolist())
        if static_shape is not None and num_elements(static_shape) is not None:
            sizes = constant(np.array(static_shape, np.int64))
        elif static_shape is not None:
            sizes.set_shape([len(static_shape)])
        return _with_shape(SparseTensor(indices, identity(sparse.values), sizes), static_shape)


@export("sparse.expand_dims")
def sparse_expand_dims(
    sp_input: SparseTensor | SparseTensorValue, axis: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Inserts a dimension of size 1 into the sparse tensor, by default as the last one.

    Args:
        axis: Position of the new axis; the last by default.
    """
    sparse = as_sparse(sp_input)
    rank = None if sparse.dims is None else len(sparse.dims)
    axis = -1 if axis is None else axis
    with name_scope(name, "expand_dims", [sparse]):
        place = _inserted_axis(sparse, axis, rank)
        rows = reshape_ops.size(sparse.values, out_type=dtypes.int64)
        zeros = reshape_ops.zeros(stack([rows, 1]), dtypes.int64)
        indices = concat([sparse.indices[:, :place], zeros, sparse.indices[:, place:]], 1)
        ones = constant(np.ones(1, np.int64))
        sizes = concat([sparse.dense_shape[:place], ones, sparse.dense_shape[place:]], 0)
        result = SparseTensor(indices, sparse.values, sizes)
        if sparse.dims is not None and isinstance(place, int):
            result.set_shape((*sparse.dims[:place], 1, *sparse.dims[place:]))
        return result


def _inserted_axis(sparse: SparseTensor, axis: Any, rank: int | None) -> Any:
    value = complete(static_value(axis)) if isinstance(axis, Tensor) else np.asarray(axis)
    if value is not None and rank is not None:
        return normalize_axis(int(value.item()), rank + 1)
    if value is not None and value.item() >= 0:
        return int(value.item())
    axis = cast_ops.cast(convert_to_tensor(axis), dtypes.int32)
    return where(axis < 0, axis + reshape_ops.size(sparse.dense_shape) + 1, axis)


@export("sparse_transpose", "sparse.transpose")
def sparse_transpose(
    sp_input: SparseTensor | SparseTensorValue, perm: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Permutes the dimensions of the sparse tensor, by default reverses them.

    Args:
        perm: The new order of the dimensions; by default reversed.
    """
    with name_scope(name, "SparseTranspose", [sp_input]):
        sparse = as_sparse(sp_input)
        if perm is None:
            rank = len(sparse.dims) if sparse.dims is not None else reshape_ops.size(sparse.dense_shape)
            perm = rank - 1 - sequences_ops.range(0, rank, 1)
        order = convert_to_tensor(perm)
        indices = transpose(gather(transpose(sparse.indices), order))
        sizes = gather(sparse.dense_shape, order)
        static_order = complete(static_value(order))
        result = SparseTensor(indices, sparse.values, sizes)
        if static_order is not None and sparse.dims is not None:
            result.set_shape([sparse.dims[d] for d in static_order.tolist()])
        return sparse_reorder(result)


@export("sparse_concat", "sparse.concat")
def sparse_concat(
    axis: int | None = None,
    sp_inputs: Sequence[SparseTensor] | None = None,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Concatenates sparse tensors along a dimension; the other dimensions may be expanded to match.

    Args:
        axis: The axis to join along.
        sp_inputs: The sparse tensors.
        expand_nonconcat_dim: Whether the other dimensions may differ, the largest size then being used.
        concat_dim: Deprecated name of `axis`.
        expand_nonconcat_dims: Another name of `expand_nonconcat_dim`.
    """
    axis = one_of("axis", axis, "concat_dim", concat_dim)
    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    if not isinstance(sp_inputs, list):
        raise TypeError("Inputs must be a list")
    inputs = [as_sparse(item) for item in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    sizes = [sparse.dense_shape for sparse in inputs]
    if expand:
        sizes = _expanded(inputs, int(axis))
    indices, values, shape = sparse_concat_op.many(
        [sparse.indices for sparse in inputs], [sparse.values for sparse in inputs], sizes, concat_dim=axis, name=name
    )
    return _with_shape(SparseTensor(indices, values, shape), _concatenated(inputs, int(axis), expand))


def _expanded(inputs: Sequence[SparseTensor], axis: int) -> list[Tensor]:
    """Returns the shapes of the inputs with all dimensions except one as large as the largest."""
    largest = reduce_max(stack([sparse.dense_shape for sparse in inputs]), 0)
    end = axis + 1 or None
    after = [] if end is None else [largest[end:]]
    return [concat([largest[:axis], sparse.dense_shape[axis:end], *after], 0) for sparse in inputs]


def _concatenated(inputs: Sequence[SparseTensor], axis: int, expand: bool) -> Shape:
    """Returns the static shape of a concatenation."""
    shapes = [sparse.dims for sparse in inputs]
    if any(shape is None for shape in shapes):
        return None
    columns = list(zip(*shapes))
    axis = normalize_axis(axis, len(columns))
    result: list[int | None] = []
    for d, sizes in enumerate(columns):
        static = [size for size in sizes if size is not None]
        if d == axis:
            result.append(sum(static) if len(static) == len(sizes) else None)
        elif expand:
            result.append(max(static) if len(static) == len(sizes) else None)
        else:
            result.append(static[0] if static else None)
    return tuple(result)


@export("sparse_split", "sparse.split")
def sparse_split(
    keyword_required: Any = None,
    sp_input: SparseTensor | SparseTensorValue | None = None,
    num_split: int | None = None,
    axis: TensorLike | None = None,
    name: str | None = None,
    split_dim: TensorLike | None = None,
) -> list[SparseTensor]:
    """Splits a sparse tensor along a dimension; if the pieces cannot be equal, the first ones are larger.

    Args:
        keyword_required: Placeholder: all arguments must be passed by keyword.
        num_split: Number of parts.
        axis: The axis to split.
        split_dim: Deprecated name of `axis`.
    """
    if keyword_required is not None:
        raise ValueError("sparse_split takes its arguments by keyword")
    if sp_input is None:
        raise ValueError("sp_input is required")
    if num_split is None:
        raise ValueError("num_split is required")
    axis = one_of("axis", axis, "split_dim", split_dim)
    if axis is None:
        raise ValueError("axis is required")
    sparse = as_sparse(sp_input)
    axis = cast_ops.cast(convert_to_tensor(axis), dtypes.int64)
    pieces = sparse_split_op.many(
        axis, sparse.indices, sparse.values, sparse.dense_shape, num_split=num_split, name=name
    )
    return [SparseTensor(*piece) for piece in zip(*pieces)]


@export("sparse_slice", "sparse.slice")
def sparse_slice(
    sp_input: SparseTensor | SparseTensorValue, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """Extracts the slice of a sparse tensor that begins at `start` and has at most the given size.

    Args:
        start: Index of the first element along each dimension.
        size: Size along each dimension.
    """
    sparse = as_sparse(sp_input)
    start, size = convert_to_tensor(start, dtypes.int64), convert_to_tensor(size, dtypes.int64)
    with name_scope(name, "SparseSlice", [sparse]) as scope:
        indices, values, shape = sparse_slice_op.many(
            sparse.indices, sparse.values, sparse.dense_shape, start, size, name=scope
        )
        return SparseTensor(indices, values, shape)


@export("sparse_to_indicator", "sparse.to_indicator")
def sparse_to_indicator(
    sp_input: SparseTensor | SparseTensorValue, vocab_size: TensorLike, name: str | None = None
) -> Tensor:
    """Creates a dense bool tensor that is True at [..., id] for the ids in the sparse tensor's values.

    Args:
        vocab_size: Number of different ids, the size of the last dimension.
    """
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sparse]) as scope:
        ones = ones_like(sparse.values, dtypes.bool)
        merged = sparse_merge(sparse, sparse.with_values(ones), vocab_size)
        return sparse_tensor_to_dense(merged, default_value=False, validate_indices=False, name=scope)


@export("sparse_merge", "sparse.merge")
def sparse_merge(
    sp_ids: SparseTensor | Sequence[SparseTensor],
    sp_values: SparseTensor | SparseTensorValue,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Combines sparse ids and values: the last dimension is replaced by one of vocab_size, indexed by the ids.

    Args:
        sp_ids: Sparse tensor of ids.
        sp_values: Sparse tensor of values.
        vocab_size: Number of different ids, the size of the last dimension.
    """
    ids = [as_sparse(item) for item in (sp_ids if isinstance(sp_ids, list) else [sp_ids])]
    sizes = list(vocab_size) if isinstance(sp_ids, list) else [vocab_size]
    if len(ids) != len(sizes):
        raise ValueError(f"{len(ids)} sp_ids for {len(sizes)} vocab_sizes")
    values = as_sparse(sp_values)
    for item in ids:
        if item.dtype not in (dtypes.int32, dtypes.int64):
            raise TypeError(f"sp_ids must hold int32 or int64 values, got {item.dtype.name}")
    with name_scope(name, "SparseMerge", [*ids, values]):
        columns = [expand_dims(cast_ops.cast(item.values, dtypes.int64), 1) for item in ids]
        indices = concat([ids[0].indices[:, :-1], *columns], 1)
        tail = [cast_ops.cast(convert_to_tensor(size), dtypes.int64) for size in sizes]
        shape = concat([ids[0].dense_shape[:-1], stack(tail)], 0)
        merged = SparseTensor(indices, values.values, shape)
        if already_sorted:
            return merged
        merged = sparse_reorder(merged)
        return SparseTensor(merged.indices, merged.values, shape)
