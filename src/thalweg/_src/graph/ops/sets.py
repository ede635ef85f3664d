"""Set operations on the values along the last dimension of dense or sparse tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import at_least_rank, require, same_dimension
from thalweg._src.graph.ops.sparse import as_sparse, count_and_rank
from thalweg._src.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

OPERATIONS = ("a-b", "b-a", "intersection", "union")
_TYPES = frozenset((dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.string))


def _require_operation(c: Inference) -> None:
    name = c.attrs["set_operation"].lower()
    require(name in OPERATIONS, f"set_operation is {name!r}", expected=f"one of {', '.join(OPERATIONS)}")


def _result(rank: int | None) -> Sequence[Shape]:
    require(rank is None or rank >= 2, f"the sets have rank {rank}", expected="rank at least 2: groups, then a set")
    return [(None, rank), (None,), (rank,)]


def _set_size(c: Inference) -> Sequence[Shape]:
    _, rank = count_and_rank(c, 0, 1, 2)
    _result(rank)
    shape = c.shape_value(2)
    return [None if shape is None else shape[:-1]]


def _dense_and_dense(c: Inference) -> Sequence[Shape]:
    _require_operation(c)
    a, b = at_least_rank(c, 0, 2), at_least_rank(c, 1, 2)
    _require_groups(a, b)
    shape = a if a is not None else b
    return _result(None if shape is None else len(shape))


def _require_groups(a: Shape, b: Shape) -> None:
    """Requires two tensors of sets to have equal shapes except for the last dimension."""
    try:
        merge(None if a is None else a[:-1], None if b is None else b[:-1])
    except ValueError as error:
        raise ShapeError(f"the groups differ: {error}", expected="equal shapes except for the last dimension") from None


def _dense_and_sparse(c: Inference) -> Sequence[Shape]:
    _require_operation(c)
    a = at_least_rank(c, 0, 2)
    _, rank = count_and_rank(c, 1, 2, 3)
    _require_groups(a, c.shape_value(3))
    dense_rank = None if a is None else len(a)
    return _result(same_dimension(dense_rank, rank, "ranks of the sets", expected="sets of equal rank"))


def _sparse_and_sparse(c: Inference) -> Sequence[Shape]:
    _require_operation(c)
    (_, a), (_, b) = count_and_rank(c, 0, 1, 2), count_and_rank(c, 3, 4, 5)
    _require_groups(c.shape_value(2), c.shape_value(5))
    return _result(same_dimension(a, b, "ranks of the sets", expected="sets of equal rank"))


_RESULT = "result_indices: int64, result_values: T, result_shape: int64"
_SECOND = "set2_indices: int64, set2_values: T, set2_shape: int64"
set_size_op = nondifferentiable_op(
    "SetSize",
    "set_indices: int64, set_values: T, set_shape: int64 -> size: int32",
    "Counts the distinct values in each set.",
    validate_indices=True,
    T=_TYPES,
    infer=_set_size,
)
dense_to_dense_set_operation = nondifferentiable_op(
    "DenseToDenseSetOperation",
    f"set1: T, set2: T -> {_RESULT}",
    "Computes unions, intersections or differences of dense sets.",
    set_operation=attr.string(),
    validate_indices=True,
    T=_TYPES,
    infer=_dense_and_dense,
)
dense_to_sparse_set_operation = nondifferentiable_op(
    "DenseToSparseSetOperation",
    f"set1: T, {_SECOND} -> {_RESULT}",
    "Computes unions, intersections or differences of dense and sparse sets.",
    set_operation=attr.string(),
    validate_indices=True,
    T=_TYPES,
    infer=_dense_and_sparse,
)
sparse_to_sparse_set_operation = nondifferentiable_op(
    "SparseToSparseSetOperation",
    f"set1_indices: int64, set1_values: T, set1_shape: int64, {_SECOND} -> {_RESULT}",
    "Computes unions, intersections or differences of sparse sets.",
    set_operation=attr.string(),
    validate_indices=True,
    T=_TYPES,
    infer=_sparse_and_sparse,
)


@export("sets.set_size", "sets.size", "contrib.metrics.set_size")
def set_size(a: TensorLike | SparseTensor, validate_indices: bool = True) -> Tensor:
    """Counts the distinct values in each set of a sparse tensor.

    Args:
        a: Sets along the last dimension: a tensor, dense or sparse.
    """
    sparse = as_sparse(a)
    if sparse.dtype not in _TYPES:
        raise TypeError(f"sets cannot hold {sparse.dtype.name}, only {', '.join(sorted(t.name for t in _TYPES))}")
    return set_size_op(sparse.indices, sparse.values, sparse.dense_shape, validate_indices)


def _operate(a: Any, b: Any, operation: str, reflected: str, validate: bool) -> SparseTensor:
    """Adds a set operation; a sparse set before a dense one is swapped with it."""
    a, b = (convert_to_tensor_or_sparse_tensor(x, name=name) for x, name in ((a, "a"), (b, "b")))
    if a.dtype is not b.dtype:
        raise TypeError(f"Types don't match, {a.dtype.name} vs {b.dtype.name}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b, operation = b, a, reflected
    second = (b.indices, b.values, b.dense_shape) if isinstance(b, SparseTensor) else (b,)
    first = (a.indices, a.values, a.dense_shape) if isinstance(a, SparseTensor) else (a,)
    if isinstance(a, SparseTensor):
        definition = sparse_to_sparse_set_operation
    else:
        definition = dense_to_sparse_set_operation if isinstance(b, SparseTensor) else dense_to_dense_set_operation
    return SparseTensor(*definition.many(*first, *second, set_operation=operation, validate_indices=validate))


@export("sets.intersection", "sets.set_intersection", "contrib.metrics.set_intersection")
def set_intersection(
    a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, validate_indices: bool = True
) -> SparseTensor:
    """Computes the intersection of each pair of sets.

    Args:
        a: Sets along the last dimension: a tensor, dense or sparse.
        b: Sets along the last dimension: a tensor, dense or sparse.
    """
    return _operate(a, b, "intersection", "intersection", validate_indices)


@export("sets.difference", "sets.set_difference", "contrib.metrics.set_difference")
def set_difference(
    a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """Computes the difference a - b, or b - a, of each pair of sets.

    Args:
        a: Sets along the last dimension: a tensor, dense or sparse.
        b: Sets along the last dimension: a tensor, dense or sparse.
    """
    forward, backward = ("a-b", "b-a") if aminusb else ("b-a", "a-b")
    return _operate(a, b, forward, backward, validate_indices)


@export("sets.set_union", "sets.union", "contrib.metrics.set_union")
def set_union(
    a: TensorLike | SparseTensor, b: TensorLike | SparseTensor, validate_indices: bool = True
) -> SparseTensor:
    """Computes the union of each pair of sets.

    Args:
        a: Sets along the last dimension: a tensor, dense or sparse.
        b: Sets along the last dimension: a tensor, dense or sparse.
    """
    return _operate(a, b, "union", "union", validate_indices)
