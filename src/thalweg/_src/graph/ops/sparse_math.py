"""Sparse tensor arithmetic: sums, products, reductions, softmax, and Python operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops import cast as cast_ops, math, reshape as reshape_ops, sequences as sequences_ops, special
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.reduction import one_of
from thalweg._src.graph.ops.reshape import transpose
from thalweg._src.graph.ops.shape_functions import (
    normalize_axis,
    require,
    require_sizes,
    same_dimension,
    scalar_value,
    vector_size,
    with_rank,
)
from thalweg._src.graph.ops.sparse import as_sparse, count_and_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, SparseTensorValue, is_sparse
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _common_rank(c: Inference) -> int | None:
    """Returns the rank of two sparse tensors, which must have equal shapes."""
    _, a = count_and_rank(c, 0, 1, 2)
    _, b = count_and_rank(c, 3, 4, 5)
    rank = same_dimension(a, b, "ranks of a and b", expected="two sparse tensors of equal shape")
    merge(c.shape_value(2), c.shape_value(5))
    return rank


def _add(c: Inference) -> Sequence[Shape]:
    rank = _common_rank(c)
    scalar_value(c, 6)
    return [(None, rank), (None,), (rank,)]


def _extreme(c: Inference) -> Sequence[Shape]:
    rank = _common_rank(c)
    return [(None, rank), (None,)]


def _add_grad(c: Inference) -> Sequence[Shape]:
    a, b, total = with_rank(c, 1, 2), with_rank(c, 2, 2), with_rank(c, 3, 2)
    assert a is not None and b is not None and total is not None
    rank = same_dimension(a[1], b[1], "ranks of a and b", expected="indices of equal rank")
    same_dimension(rank, total[1], "ranks of the sum and its operands", expected="indices of equal rank")
    same_dimension(
        vector_size(c, 0), total[0], "numbers of gradients and indices", expected="a gradient for each index"
    )
    return [(a[0],), (b[0],)]


def _dense_add(c: Inference) -> Sequence[Shape]:
    count_and_rank(c, 0, 1, 2)
    return [merge(c.shape_value(2), c.shapes[3])]


def _dense_matmul(c: Inference) -> Sequence[Shape]:
    _, rank = count_and_rank(c, 0, 1, 2)
    require(rank in (None, 2), f"a has rank {rank}", expected="a sparse matrix")
    require_sizes(c, 2)
    a, b = c.shape_value(2) or (None, None), with_rank(c, 3, 2)
    assert b is not None
    rows, inner = (a[1], a[0]) if c.attrs["adjoint_a"] else (a[0], a[1])
    other, columns = (b[1], b[0]) if c.attrs["adjoint_b"] else (b[0], b[1])
    same_dimension(inner, other, "inner dimensions", expected="a with as many columns as b has rows")
    return [(rows, columns)]


def _cwise(c: Inference) -> Sequence[Shape]:
    count, _ = count_and_rank(c, 0, 1, 2)
    require_broadcast(c.shapes[3], c.shape_value(2))
    return [(count,)]


def require_broadcast(dense: Shape, sparse: Shape) -> None:
    """Requires a dense shape that broadcasts to the sparse one."""
    if dense is None or sparse is None:
        return
    expected = "a dense shape that broadcasts to the sparse one"
    what = f"dense has shape {show(dense)}, the sparse tensor {show(sparse)}"
    require(len(dense) <= len(sparse), what, expected=expected)
    for a, b in zip(reversed(dense), reversed(sparse)):
        require(a is None or b is None or a in (1, b), what, expected=expected)


def _reduce(c: Inference) -> Sequence[Shape]:
    _, rank = count_and_rank(c, 0, 1, 2)
    require(c.shapes[3] is None or len(c.shapes[3]) <= 1, f"reduction_axes has shape {show(c.shapes[3])}", "a vector")
    axes = c.value(3)
    if rank is None or axes is None:
        return [(None,) * rank if rank is not None and c.attrs["keep_dims"] else None]
    reduced = {normalize_axis(int(axis), rank, "reduction axis") for axis in axes.ravel().tolist()}
    shape = c.shape_value(2) or (None,) * rank
    if c.attrs["keep_dims"]:
        return [tuple(1 if d in reduced else size for d, size in enumerate(shape))]
    return [tuple(size for d, size in enumerate(shape) if d not in reduced)]


def _reduce_sparse(c: Inference) -> Sequence[Shape]:
    (dense,) = _reduce(c)
    rank = None if dense is None else len(dense)
    return [(None, rank), (None,), (rank,)]


def _softmax(c: Inference) -> Sequence[Shape]:
    count, rank = count_and_rank(c, 0, 1, 2)
    require(rank is None or rank >= 2, f"the sparse tensor has rank {rank}", expected="rank at least 2")
    return [(count,)]


_A = "a_indices: int64, a_values: T, a_shape: int64"
_B = "b_indices: int64, b_values: T, b_shape: int64"

sparse_add_op = op(
    "SparseAdd",
    f"{_A}, {_B}, thresh: Treal -> sum_indices: int64, sum_values: T, sum_shape: int64",
    T=dtypes.NUMERIC,
    Treal=dtypes.REAL,
    host="a_shape, b_shape, thresh, sum_shape",
    infer=_add,
    doc="Adds two sparse tensors, dropping elements below a threshold.",
    capturable=False,
)
sparse_add_grad_op = op(
    "SparseAddGrad",
    "backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64 -> a_val_grad: T, b_val_grad: T",
    T=dtypes.NUMERIC,
    infer=_add_grad,
    doc="Computes the gradients of SparseAdd with respect to the values of both operands.",
    capturable=False,
)
sparse_tensor_dense_add_op = op(
    "SparseTensorDenseAdd",
    "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T -> output: T",
    T=dtypes.NUMERIC,
    Tindices=dtypes.INDEX,
    host="a_shape",
    infer=_dense_add,
    doc="Adds a sparse tensor to a dense one.",
    capturable=False,
)
sparse_tensor_dense_matmul_op = op(
    "SparseTensorDenseMatMul",
    "a_indices: Tindices, a_values: T, a_shape: int64, b: T -> product: T",
    T=attr.types(),
    Tindices=attr.types(dtypes.INDEX, dtypes.int64),
    adjoint_a=False,
    adjoint_b=False,
    host="a_shape",
    infer=_dense_matmul,
    doc="Multiplies a sparse matrix by a dense one.",
)


def _extreme_op(name: str, types: Any, doc: str) -> OpDef:
    return nondifferentiable_op(
        name,
        f"{_A}, {_B} -> output_indices: int64, output_values: T",
        doc,
        T=types,
        host="a_shape, b_shape",
        infer=_extreme,
        capturable=False,
    )


sparse_maximum_op = _extreme_op(
    "SparseSparseMaximum", dtypes.REAL, "Computes the element-wise maximum of two sparse tensors."
)
sparse_minimum_op = _extreme_op(
    "SparseSparseMinimum", dtypes.NUMERIC, "Computes the element-wise minimum of two sparse tensors."
)


def _cwise_op(name: str, doc: str) -> OpDef:
    return op(
        name,
        "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T -> output: T",
        T=dtypes.NUMERIC,
        host="sp_shape",
        infer=_cwise,
        capturable=False,
        doc=doc,
    )


sparse_dense_cwise_add_op = _cwise_op("SparseDenseCwiseAdd", "Adds the corresponding dense elements to sparse values.")
sparse_dense_cwise_mul_op = _cwise_op(
    "SparseDenseCwiseMul", "Multiplies sparse values by the corresponding dense elements."
)
sparse_dense_cwise_div_op = _cwise_op(
    "SparseDenseCwiseDiv", "Divides sparse values by the corresponding dense elements."
)

_INPUT = "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32"


def _reduce_op(name: str, types: Any, doc: str) -> OpDef:
    return op(
        name,
        f"{_INPUT} -> output: T",
        keep_dims=False,
        T=types,
        host="input_shape, reduction_axes",
        infer=_reduce,
        capturable=False,
        doc=doc,
    )


def _reduce_sparse_op(name: str, types: Any, doc: str) -> OpDef:
    return nondifferentiable_op(
        name,
        f"{_INPUT} -> output_indices: int64, output_values: T, output_shape: int64",
        doc,
        keep_dims=False,
        T=types,
        host="input_shape, reduction_axes, output_shape",
        infer=_reduce_sparse,
        capturable=False,
    )


sparse_reduce_sum_op = _reduce_op("SparseReduceSum", dtypes.NUMERIC, "Sums a sparse tensor along axes.")
sparse_reduce_max_op = _reduce_op("SparseReduceMax", dtypes.REAL, "Computes the maximum of a sparse tensor along axes.")
sparse_reduce_sum_sparse_op = _reduce_sparse_op(
    "SparseReduceSumSparse", dtypes.NUMERIC, "Sums a sparse tensor along axes; the result is sparse."
)
sparse_reduce_max_sparse_op = _reduce_sparse_op(
    "SparseReduceMaxSparse",
    dtypes.REAL,
    "Computes the maximum of a sparse tensor along axes; the result is sparse.",
)
sparse_softmax_op = op(
    "SparseSoftmax",
    "sp_indices: int64, sp_values: T, sp_shape: int64 -> output: T",
    T=dtypes.FLOATING - {dtypes.bfloat16},
    host="sp_shape",
    infer=_softmax,
    doc="Computes the softmax along the last dimension, over the explicit values.",
    capturable=False,
)


@export("sparse_add", "sparse.add")
def sparse_add(
    a: TensorLike | SparseTensor,
    b: TensorLike | SparseTensor,
    threshold: TensorLike | None = None,
    thresh: TensorLike | None = None,
) -> Any:
    """Adds two tensors, at least one of them sparse; sparse if both are, dropping elements below the threshold.

    Args:
        a: A tensor, dense or sparse.
        b: A tensor, dense or sparse.
        threshold: Elements whose magnitude is below are left out of a sparse result.
        thresh: Deprecated name of `threshold`.
    """
    threshold = one_of("threshold", threshold, "thresh", thresh)
    threshold = 0 if threshold is None else threshold
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("neither a nor b is a SparseTensor; hint: tf.add")
    if is_sparse(a) and is_sparse(b):
        x, y = as_sparse(a), as_sparse(b)
        limit = convert_to_tensor(threshold, x.dtype.real_dtype, name="thresh")
        total = sparse_add_op.many(x.indices, x.values, x.dense_shape, y.indices, y.values, y.dense_shape, limit)
        result = SparseTensor(*total)
        result.set_shape(merge(x.dims, y.dims))
        return result
    sparse, dense = (as_sparse(a), b) if is_sparse(a) else (as_sparse(b), a)
    return sparse_tensor_dense_add_op(sparse.indices, sparse.values, sparse.dense_shape, dense)


@export("sparse_tensor_dense_matmul", "sparse.matmul", "sparse.sparse_dense_matmul")
def sparse_tensor_dense_matmul(
    sp_a: SparseTensor | SparseTensorValue,
    b: TensorLike | SparseTensor,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Any:
    """Multiplies a sparse and a dense matrix, or a dense and a sparse one.

    Args:
        b: The dense matrix.
    """
    if is_sparse(b) and not is_sparse(sp_a):
        # (a b)' = b' a'
        product = sparse_tensor_dense_matmul(b, sp_a, adjoint_a=not adjoint_b, adjoint_b=not adjoint_a)
        return transpose(product, name=name or "transpose", conjugate=product.dtype.is_complex)
    sparse = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sparse, b]) as scope:
        dense = convert_to_tensor(b, name="b")
        return sparse_tensor_dense_matmul_op(
            sparse.indices,
            sparse.values,
            sparse.dense_shape,
            dense,
            adjoint_a=adjoint_a,
            adjoint_b=adjoint_b,
            name=scope,
        )


def _extreme_of(definition: OpDef, sp_a: Any, sp_b: Any, name: str | None) -> SparseTensor:
    a, b = as_sparse(sp_a), as_sparse(sp_b)
    indices, values = definition.many(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, name=name)
    result = SparseTensor(indices, values, a.dense_shape)
    result.set_shape(merge(a.dims, b.dims))
    return result


@export("sparse_maximum", "sparse.maximum")
def sparse_maximum(
    sp_a: SparseTensor | SparseTensorValue, sp_b: SparseTensor | SparseTensorValue, name: str | None = None
) -> SparseTensor:
    """Computes the element-wise maximum of two sparse tensors; implicit elements are 0."""
    return _extreme_of(sparse_maximum_op, sp_a, sp_b, name)


@export("sparse_minimum", "sparse.minimum")
def sparse_minimum(
    sp_a: SparseTensor | SparseTensorValue, sp_b: SparseTensor | SparseTensorValue, name: str | None = None
) -> SparseTensor:
    """Computes the element-wise minimum of two sparse tensors; implicit elements are 0."""
    return _extreme_of(sparse_minimum_op, sp_a, sp_b, name)


def _reduced(definition: OpDef, sp_input: Any, axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any) -> Any:
    """Applies a reduction along axes, by default all."""
    sparse = as_sparse(sp_input)
    axis = one_of("axis", axis, "reduction_axes", reduction_axes)
    keep = one_of("keepdims", keepdims, "keep_dims", keep_dims)
    if axis is None:
        rank = len(sparse.dims) if sparse.dims is not None else reshape_ops.size(sparse.dense_shape)
        axis = sequences_ops.range(rank)
    return definition.many(sparse.indices, sparse.values, sparse.dense_shape, axis, keep_dims=bool(keep))


@export("sparse_reduce_sum", "sparse.reduce_sum")
def sparse_reduce_sum(
    sp_input: SparseTensor | SparseTensorValue,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Sums a sparse tensor along axes; the result is dense.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    return _reduced(sparse_reduce_sum_op, sp_input, axis, keepdims, reduction_axes, keep_dims)  # type: ignore[no-any-return]


@export("sparse_reduce_max", "sparse.reduce_max")
def sparse_reduce_max(
    sp_input: SparseTensor | SparseTensorValue,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Computes the maximum of a sparse tensor along axes, 0 where there is no value; the result is dense.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    return _reduced(sparse_reduce_max_op, sp_input, axis, keepdims, reduction_axes, keep_dims)  # type: ignore[no-any-return]


@export("sparse_reduce_sum_sparse", "sparse.reduce_sum_sparse")
def sparse_reduce_sum_sparse(
    sp_input: SparseTensor | SparseTensorValue,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """Sums a sparse tensor along axes; the result is sparse.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    return SparseTensor(*_reduced(sparse_reduce_sum_sparse_op, sp_input, axis, keepdims, reduction_axes, keep_dims))


@export("sparse_reduce_max_sparse", "sparse.reduce_max_sparse")
def sparse_reduce_max_sparse(
    sp_input: SparseTensor | SparseTensorValue,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """Computes the maximum of a sparse tensor along axes; the result is sparse.

    Args:
        axis: The axes to reduce, an integer or a list; None reduces all.
    """
    return SparseTensor(*_reduced(sparse_reduce_max_sparse_op, sp_input, axis, keepdims, reduction_axes, keep_dims))


@export("sparse_softmax", "sparse.softmax")
def sparse_softmax(sp_input: SparseTensor | SparseTensorValue, name: str | None = None) -> SparseTensor:
    """Computes the softmax along the last dimension, over the explicit values."""
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseSoftmax", [sparse]):
        return sparse.with_values(sparse_softmax_op(sparse.indices, sparse.values, sparse.dense_shape))


def _multiply(sparse: SparseTensor, dense: TensorLike) -> SparseTensor:
    with name_scope(None, "mul", [sparse, dense]) as scope:
        dense = convert_to_tensor(dense, dtype=sparse.dtype, name="y")
        values = sparse_dense_cwise_mul_op(sparse.indices, sparse.values, sparse.dense_shape, dense, name=scope)
        return sparse.with_values(values)


def _divide(sparse: SparseTensor, dense: TensorLike) -> SparseTensor:
    """Divides as Python does: integers yield floats."""
    with name_scope(None, "truediv", [sparse, dense]) as scope:
        dense = convert_to_tensor(dense, dtype=sparse.dtype, name="y")
        values = sparse.values
        if sparse.dtype.is_integer:
            wide = dtypes.float32 if sparse.dtype.size <= 2 else dtypes.float64
            values, dense = cast_ops.cast(values, wide), cast_ops.cast(dense, wide)
        quotient = sparse_dense_cwise_div_op(sparse.indices, values, sparse.dense_shape, dense, name=scope)
        return sparse.with_values(quotient)


def _divide_as_python_2(sparse: SparseTensor, dense: TensorLike) -> SparseTensor:
    with name_scope(None, "div", [sparse, dense]) as scope:
        dense = convert_to_tensor(dense, dtype=sparse.dtype, name="y")
        return sparse.with_values(
            sparse_dense_cwise_div_op(sparse.indices, sparse.values, sparse.dense_shape, dense, name=scope)
        )


for _special, _operator in {
    "__mul__": _multiply,
    "__rmul__": _multiply,
    "__truediv__": _divide,
    "__div__": _divide_as_python_2,
}.items():
    setattr(SparseTensor, _special, _operator)

# The functions that TensorFlow applies to the values of a sparse tensor.
for _function in (
    math.negative,
    math.sign,
    math.square,
    math.sqrt,
    math.tanh,
    special.erf,
    special.bessel_i0e_op,
    special.bessel_i1e_op,
):
    _function.keeps_places = True
