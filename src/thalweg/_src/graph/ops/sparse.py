"""Sparse tensors: construction, and conversion to and from dense tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.errors import ShapeError, require_kind
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike, as_shape, compatible, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.explain import argument_names
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.infer import Inference, as_static_shape
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops import (
    cast as cast_ops,
    check,
    comparison,
    math,
    reshape as reshape_ops,
    sequences as sequences_ops,
)
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.constants import constant, fill, placeholder, placeholder_with_default
from thalweg._src.graph.ops.gather import gather, gather_nd
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.reduction import reduce_max
from thalweg._src.graph.ops.reshape import expand_dims, reshape, zeros
from thalweg._src.graph.ops.shape_functions import require, require_sizes, same_dimension
from thalweg._src.graph.ops.where import setdiff1d, where
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def count_and_rank(c: Inference, indices: int, values: int | None, shape: int) -> tuple[int | None, int | None]:
    """Returns the number of values of a sparse tensor and its rank, from three inputs that must match."""
    count, rank = ranked(c, indices, 2)
    if values is not None:
        (elements,) = ranked(c, values, 1)
        expected = "one value for each index"
        count = same_dimension(count, elements, "numbers of indices and values", expected=expected)
    (sizes,) = ranked(c, shape, 1)
    rank = same_dimension(rank, sizes, "lengths of an index and of the shape", expected="a size for each column")
    return count, rank


def ranked(c: Inference, index: int, rank: int) -> Sequence[int | None]:
    """Returns an input's shape, which must have this rank; the tensors of list inputs are counted separately."""
    shape = c.shapes[index]
    if shape is None:
        return (None,) * rank
    if len(shape) != rank:
        names = argument_names(c.definition, len(c.shapes))
        name = names[index] if index < len(names) else "an input"
        raise ShapeError(f"{name} has shape {show(shape)}", expected=f"{name} of rank {rank}")
    return shape


def _to_dense(c: Inference) -> Sequence[Shape]:
    indices, shape, values, default = c.shapes
    require(not default, f"default_value has shape {show(default)}", expected="a scalar")
    require(indices is None or len(indices) <= 2, f"sparse_indices has shape {show(indices)}", expected="rank <= 2")
    require(values is None or len(values) <= 1, f"sparse_values has shape {show(values)}", expected="rank <= 1")
    require_sizes(c, 1)
    rows = None if indices is None else indices[0] if indices else 1
    if values:
        same_dimension(rows, values[0], "numbers of indices and values", "one value per index, or one for all")
    if indices is not None and shape:
        rank = indices[1] if len(indices) == 2 else 1
        same_dimension(rank, shape[0], "ranks of sparse_indices and output_shape", "indices of the output's rank")
    return [c.shape_value(1)]


sparse_to_dense_op = op(
    "SparseToDense",
    "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T -> dense: T",
    validate_indices=True,
    T=attr.types(),
    Tindices=dtypes.INDEX,
    host="output_shape",
    infer=_to_dense,
    doc="Creates a dense tensor with values at some indices and a default elsewhere.",
    capturable=False,
)


def as_sparse(value: object) -> SparseTensor:
    """Returns the value as a SparseTensor; it must be one, or the value of one."""
    if isinstance(value, SparseTensor):
        return value
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    raise TypeError(f"Input must be a SparseTensor, got {value!r} of type {type(value).__name__}.")


@export("sparse_placeholder", "sparse.placeholder")
def sparse_placeholder(dtype: DTypeLike, shape: ShapeLike | TensorLike = None, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor that must be fed: with a SparseTensorValue, or (indices, values, shape).

    Args:
        dtype: Element type of the fed values.
        shape: Static shape of the fed values; None allows any.
        name: A name for the placeholder.
    """
    prefix = "" if name is None else f"{name}/"
    names = {component: f"{prefix}{component}" if prefix else None for component in ("indices", "values", "shape")}
    static: Shape = None
    if shape is None:
        dense_shape, rank = placeholder(dtypes.int64, [None], names["shape"]), None
    elif isinstance(shape, Tensor):
        dense_shape, rank = shape, (shape.dims or (None,))[0]
    else:
        static = as_shape(shape)
        if static is None:
            return sparse_placeholder(dtype, None, name)
        rank = len(static)
        sizes = constant(np.array([-1 if d is None else d for d in static], np.int64))
        dense_shape = placeholder_with_default(sizes, [rank], names["shape"])
    values = placeholder(dtype, [None], names["values"])
    result = SparseTensor(placeholder(dtypes.int64, [None, rank], names["indices"]), values, dense_shape)
    if static is not None:
        result.set_shape(static)
    return result


@export("sparse_to_dense")
def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: ShapeLike | TensorLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Creates a dense tensor with values at some indices, which must be sorted and distinct unless not validated.

    Args:
        sparse_indices: Positions of the values: a matrix with one row for each.
        sparse_values: The values: one for each position, or a scalar for all.
        default_value: Value at all other positions.
        validate_indices: Whether positions must be in order and distinct.
    """
    values = convert_to_tensor(sparse_values)
    if values.dtype is dtypes.string and isinstance(default_value, int):
        default_value = ""
    return sparse_to_dense_op(
        sparse_indices, output_shape, values, default_value, validate_indices=validate_indices, name=name
    )


@export("sparse_tensor_to_dense", "sparse.to_dense")
def sparse_tensor_to_dense(
    sp_input: SparseTensor | SparseTensorValue,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Converts a sparse tensor to a dense one; absent elements get the default value.

    Args:
        default_value: Value at all other positions.
        validate_indices: Whether positions must be in order and distinct.
    """
    sparse = as_sparse(sp_input)
    if default_value is None:
        default_value = zeros([], dtype=sparse.dtype)
    dense = sparse_to_dense_op(
        sparse.indices, sparse.dense_shape, sparse.values, default_value, validate_indices=validate_indices, name=name
    )
    dense.set_shape(sparse.dims)
    return dense


@export("sparse.from_dense")
def sparse_from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Converts a dense tensor to a sparse one of the elements other than 0, False or empty strings.

    Args:
        tensor: The dense tensor.
    """
    with name_scope(name, "dense_to_sparse", [tensor]):
        dense = convert_to_tensor(tensor)
        zero = constant("" if dense.dtype is dtypes.string else False if dense.dtype.is_bool else 0, dense.dtype)
        indices = where(comparison.not_equal(dense, zero))
        return SparseTensor(indices, gather_nd(dense, indices), reshape_ops.shape(dense, out_type=dtypes.int64))


@export("sparse.eye")
def sparse_eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> SparseTensor:
    """Creates a sparse matrix with ones on its diagonal."""
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = cast_ops.cast(convert_to_tensor(num_rows), dtypes.int64)
        columns = rows if num_columns is None else cast_ops.cast(convert_to_tensor(num_columns), dtypes.int64)
        count = math.minimum(rows, columns)
        diagonal = sequences_ops.range(count, dtype=dtypes.int64)
        indices = stack([diagonal, diagonal], axis=1)
        return SparseTensor(indices, reshape_ops.ones(expand_dims(count, 0), dtype), stack([rows, columns]))


@export("sparse_retain", "sparse.retain")
def sparse_retain(sp_input: SparseTensor | SparseTensorValue, to_retain: TensorLike) -> SparseTensor:
    """Returns the sparse tensor with the values that a bool vector selects."""
    sparse = as_sparse(sp_input)
    keep = convert_to_tensor(to_retain)
    if keep.dims is not None and len(keep.dims) != 1:
        raise ValueError(f"to_retain must be a vector, got {show(keep.dims)}")
    if not compatible(keep.dims, sparse.values.dims):
        raise ValueError(f"to_retain has shape {show(keep.dims)}, the values {show(sparse.values.dims)}")
    places = reshape(where(keep), [-1])
    result = SparseTensor(gather(sparse.indices, places), gather(sparse.values, places), identity(sparse.dense_shape))
    result.set_shape(sparse.dims)
    return result


@export("sparse_mask", "sparse.mask")
def sparse_mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """Returns IndexedSlices without the rows at some indices.

    Args:
        a: The IndexedSlices.
        mask_indices: Indices of the rows to leave out.
    """
    require_kind("a", a, IndexedSlices, "IndexedSlices")
    with name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        indices, positions = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, positions, name=scope), indices, a.dense_shape)


@export("sparse_reset_shape", "sparse.reset_shape")
def sparse_reset_shape(sp_input: SparseTensor | SparseTensorValue, new_shape: TensorLike | None = None) -> SparseTensor:
    """Returns the sparse tensor with another shape: a larger one, or the tightest around its values."""
    sparse = as_sparse(sp_input)
    indices, values = identity(sparse.indices), identity(sparse.values)
    if new_shape is None:
        # A prepended row of -1 gives a tensor without values the shape of size 0.
        nowhere = fill(stack([1, reshape_ops.size(sparse.dense_shape)]), np.int64(-1))
        reach = reduce_max(concat([sparse.indices, nowhere], 0), 0)
        return SparseTensor(indices, values, reach + 1)
    shape = cast_ops.cast(convert_to_tensor(new_shape), dtypes.int64)
    new = as_static_shape(shape)
    old = sparse.dims
    if new is not None and old is not None:
        if len(new) != len(old):
            raise ValueError(f"new_shape has {len(new)} dimensions, the sparse tensor {len(old)}")
        for size, least in zip(new, old):
            if size is not None and least is not None and size < least:
                raise ValueError(f"new_shape {show(new)} is smaller than the sparse tensor's own {show(old)}")
    with control_dependencies([check.assert_less_equal(sparse.dense_shape, shape)]):
        shape = identity(shape)
    return SparseTensor(indices, values, shape)
