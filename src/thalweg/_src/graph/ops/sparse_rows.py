"""Row operations on sparse tensors: filling empty rows, and counting values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.ops.shape_functions import at_least_rank, require, require_sizes, scalar_value, vector_size
from thalweg._src.graph.ops.sparse import as_sparse, count_and_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue, convert_to_tensor_or_sparse_tensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _fill_empty_rows(c: Inference) -> Sequence[Shape]:
    count, rank = count_and_rank(c, 0, 1, 2)
    require(rank is None or rank >= 1, "the sparse tensor is a scalar", expected="rank at least 1")
    require(not c.shapes[3], f"default_value has shape {show(c.shapes[3])}", expected="a scalar")
    require_sizes(c, 2)
    shape = c.shape_value(2)
    return [(None, rank), (None,), (None if shape is None else shape[0],), (count,)]


def _fill_empty_rows_grad(c: Inference) -> Sequence[Shape]:
    vector_size(c, 1)
    return [(vector_size(c, 0),), ()]


def _count(c: Inference) -> Sequence[Shape]:
    count, rank = count_and_rank(c, 0, 1, 2)
    require(rank in (None, 1, 2), f"the sparse tensor has rank {rank}", expected="rank 1 or 2")
    size = scalar_value(c, 3)
    require(size is None or size >= 0, f"size is {size}", expected="at least 0")
    _require_weights((count,), c.shapes[4])
    if rank is None:
        return [None]
    shape = c.shape_value(2) or (None,) * rank
    return [(*shape[:-1], size)]


def _require_weights(values: Shape, weights: Shape) -> None:
    """Requires one weight per value, or no weights."""
    if values is not None and weights is not None and None not in (*values, *weights):
        what = f"weights has shape {show(weights)}, the values {show(values)}"
        require(0 in weights or weights == values, what, expected="a weight for each value, or none")


def _require_lengths(c: Inference) -> None:
    for key in ("minlength", "maxlength"):
        require(c.attrs[key] >= -1, f"{key} is {c.attrs[key]}", expected="at least 0, or -1 for none")


def _count_sparse(c: Inference) -> Sequence[Shape]:
    count, rank = count_and_rank(c, 0, 1, 2)
    require(rank in (None, 1, 2), f"the sparse tensor has rank {rank}", expected="rank 1 or 2")
    _require_weights((count,), c.shapes[3])
    _require_lengths(c)
    return [(None, rank), (None,), (rank,)]


def _count_dense(c: Inference) -> Sequence[Shape]:
    shape = at_least_rank(c, 0, 1)
    require(shape is None or len(shape) <= 2, f"values has shape {show(shape)}", expected="rank 1 or 2")
    _require_weights(shape, c.shapes[1])
    _require_lengths(c)
    rank = None if shape is None else len(shape)
    return [(None, rank), (None,), (rank,)]


sparse_fill_empty_rows_op = op(
    "SparseFillEmptyRows",
    "indices: int64, values: T, dense_shape: int64, default_value: T -> "
    "output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64",
    T=attr.types(),
    host="dense_shape",
    infer=_fill_empty_rows,
    doc="Fills empty rows of a sparse tensor with a default in the first column.",
    capturable=False,
)
sparse_fill_empty_rows_grad_op = op(
    "SparseFillEmptyRowsGrad",
    "reverse_index_map: int64, grad_values: T -> d_values: T, d_default_value: T",
    T=attr.types(),
    infer=_fill_empty_rows_grad,
    doc="Computes the gradients of SparseFillEmptyRows with respect to the values and the default.",
    capturable=False,
)
_COUNTED = frozenset((dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64))
sparse_bincount_op = nondifferentiable_op(
    "SparseBincount",
    "indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T -> output: T",
    "Counts the occurrences of each integer, in total or per row.",
    Tidx=dtypes.INDEX,
    T=_COUNTED,
    binary_output=False,
    host="dense_shape, size",
    infer=_count,
    capturable=False,
)
_LENGTHS: dict[str, Any] = {
    "T": dtypes.INDEX,
    "minlength": attr.integer(-1, -1),
    "maxlength": attr.integer(-1, -1),
    "binary_output": attr.boolean(),
    "output_type": _COUNTED,
}
sparse_count_sparse_output_op = nondifferentiable_op(
    "SparseCountSparseOutput",
    "indices: int64, values: T, dense_shape: int64, weights: output_type -> "
    "output_indices: int64, output_values: output_type, output_dense_shape: int64",
    "Counts the integers that occur in each row, as a sparse tensor.",
    **_LENGTHS,
    host="dense_shape, output_dense_shape",
    infer=_count_sparse,
    capturable=False,
)
dense_count_sparse_output_op = nondifferentiable_op(
    "DenseCountSparseOutput",
    "values: T, weights: output_type -> output_indices: int64, output_values: output_type, output_dense_shape: int64",
    "Counts the integers that occur in each row, as a sparse tensor.",
    **_LENGTHS,
    host="output_dense_shape",
    infer=_count_dense,
    capturable=False,
)


@export("sparse_fill_empty_rows", "sparse.fill_empty_rows")
def sparse_fill_empty_rows(
    sp_input: SparseTensor | SparseTensorValue, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Returns the sparse tensor with a default in its empty rows, and an indicator of those rows.

    Args:
        default_value: The value put at the first position of empty rows.
    """
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sparse]):
        default = convert_to_tensor(default_value, sparse.dtype)
        indices, values, empty, _ = sparse_fill_empty_rows_op.many(
            sparse.indices, sparse.values, sparse.dense_shape, default
        )
        result = SparseTensor(indices, values, sparse.dense_shape)
        result.set_shape(sparse.dims)
        return result, empty


@export("sparse.bincount")
def sparse_bincount(
    values: TensorLike | SparseTensor,
    weights: Any = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Counts the occurrences of each integer, in total (axis 0) or per row (axis -1), as a sparse tensor.

    Args:
        values: The integers to count.
        weights: Weight of each integer, which is summed in place of 1.
        axis: 0 counts all together, -1 each row by itself.
        binary_output: Whether the result is 1 for values that occur, not their count.
    """
    with name_scope(name, "count", [values, weights]):
        if axis not in (0, -1, None):
            raise ValueError(f"axis is {axis}, expected 0, -1 or None")
        values = convert_to_tensor_or_sparse_tensor(values, name="values")
        if weights is not None:
            weights = convert_to_tensor_or_sparse_tensor(weights, name="weights")
        kind = dtypes.int32 if weights is None else weights.dtype
        attrs: dict[str, Any] = {
            "minlength": -1 if minlength is None else minlength,
            "maxlength": -1 if maxlength is None else maxlength,
            "binary_output": binary_output,
        }
        numbers = weights.values if isinstance(weights, SparseTensor) else weights
        if isinstance(values, SparseTensor) and axis == -1:
            weighing = constant([], kind) if numbers is None else numbers
            return SparseTensor(
                *sparse_count_sparse_output_op.many(
                    values.indices, values.values, values.dense_shape, weighing, **attrs
                )
            )
        dense = values.values if isinstance(values, SparseTensor) else values
        if axis != -1:
            dense = reshape(dense, [-1])
            numbers = None if numbers is None else reshape(numbers, [-1])
        weighing = constant([], kind) if numbers is None else numbers
        return SparseTensor(*dense_count_sparse_output_op.many(dense, weighing, **attrs))
