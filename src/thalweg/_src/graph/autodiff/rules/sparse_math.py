"""Gradients of sparse tensor arithmetic."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import cast as cast_ops, math, reshape as reshape_ops, sequences as sequences_ops
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.gather import dynamic_stitch, gather, gather_nd
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import ones_like, reshape, size, transpose, zeros_like
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.graph.ops.sparse_math import (
    sparse_add_grad_op,
    sparse_dense_cwise_add_op,
    sparse_reduce_sum_op,
    sparse_tensor_dense_add_op,
    sparse_tensor_dense_matmul_op,
)
from thalweg._src.graph.tensor import Tensor


@gradient("SparseAdd")
def sparse_add(op: Operation, by_indices: object, grad: Tensor, by_shape: object) -> list[Any]:
    by_a, by_b = sparse_add_grad_op.many(grad, op.inputs[0], op.inputs[3], op.outputs[0])
    return [None, by_a, None, None, by_b, None, None]


@gradient("SparseAddGrad")
def sparse_add_grad(op: Operation, by_a: Tensor, by_b: Tensor) -> list[Any]:
    """Sums the gradients of both operands at the positions of their elements in the sum."""
    before, a, b, total = op.inputs
    count = size(before)
    in_a, in_b = sparse_add_grad_op.many(sequences_ops.range(1, count + 1), a, b, total)
    return [
        unsorted_segment_sum(by_a, in_a - 1, count) + unsorted_segment_sum(by_b, in_b - 1, count),
        None,
        None,
        None,
    ]


@gradient("SparseTensorDenseAdd")
def sparse_tensor_dense_add(op: Operation, grad: Tensor) -> list[Any]:
    return [None, lambda: gather_nd(grad, op.inputs[0]), None, grad]


@gradient("SparseTensorDenseMatMul")
def sparse_tensor_dense_matmul(op: Operation, grad: Tensor) -> list[Any]:
    indices, values, shape, b = op.inputs
    adjoint_a, adjoint_b = op.attrs["adjoint_a"], op.attrs["adjoint_b"]
    is_complex = values.dtype.is_complex

    def by_values() -> Tensor:
        rows, columns = indices[:, 0], indices[:, 1]
        if adjoint_a:
            rows, columns = columns, rows
        factor = transpose(b, conjugate=is_complex) if adjoint_b else b
        products = gather(grad, rows) * math.conj(gather(factor, columns))
        total = reduce_sum(products, 1)
        return math.conj(total) if adjoint_a else total

    def by_b() -> Tensor:
        if adjoint_b:
            # (a b')' = b a', so the gradient of b is transposed back.
            turned = sparse_tensor_dense_matmul_op(indices, values, shape, grad, adjoint_a=not adjoint_a)
            return transpose(turned, conjugate=is_complex)
        return sparse_tensor_dense_matmul_op(indices, values, shape, grad, adjoint_a=not adjoint_a)

    return [None, by_values, None, by_b]


def _dense_indices(op: Operation) -> Tensor:
    """Returns the indices of the sparse values in the dense operand, which is broadcast, in its own rank."""
    indices, dense = op.inputs[0], op.inputs[3]
    trailing = indices[:, size(op.inputs[2]) - reshape_ops.rank(dense) :]
    return math.minimum(trailing, cast_ops.cast(reshape_ops.shape(dense), dtypes.int64) - 1)


def _scatter_add(dense: Tensor, indices: Tensor, values: Tensor) -> Tensor:
    """Scatter-adds values at indices of a tensor with a dense operand's shape."""
    return sparse_tensor_dense_add_op(
        indices, values, cast_ops.cast(reshape_ops.shape(dense), dtypes.int64), zeros_like(dense)
    )


@gradient("SparseDenseCwiseAdd")
def sparse_dense_cwise_add(op: Operation, grad: Tensor) -> list[Any]:
    return [None, grad, None, lambda: _scatter_add(op.inputs[3], _dense_indices(op), grad)]


@gradient("SparseDenseCwiseMul")
def sparse_dense_cwise_mul(op: Operation, grad: Tensor) -> list[Any]:
    _, values, _, dense = op.inputs
    indices = _dense_indices(op)
    return [
        None,
        lambda: grad * math.conj(gather_nd(dense, indices)),
        None,
        lambda: _scatter_add(dense, indices, grad * math.conj(values)),
    ]


@gradient("SparseDenseCwiseDiv")
def sparse_dense_cwise_div(op: Operation, grad: Tensor) -> list[Any]:
    _, values, _, dense = op.inputs
    indices = _dense_indices(op)
    divisor = math.conj(gather_nd(dense, indices))
    return [
        None,
        grad / divisor,
        None,
        lambda: _scatter_add(dense, indices, -grad * math.conj(values) / math.square(divisor)),
    ]


def _reduced_indices(op: Operation) -> tuple[Tensor, Tensor]:
    """Returns a reduction's shape with sizes 1 along reduced axes, and the indices of the values in it."""
    indices, _, shape, axes = op.inputs
    rank = size(shape)
    positive = math.floormod(reshape(axes, [-1]) + rank, rank)
    positions = [sequences_ops.range(rank), positive]
    sizes = dynamic_stitch(positions, [shape, ones_like(positive, dtypes.int64)])
    keep = dynamic_stitch(positions, [ones_like(shape), zeros_like(positive, dtypes.int64)])
    return sizes, indices * keep


@gradient("SparseReduceSum")
def sparse_reduce_sum(op: Operation, grad: Tensor) -> list[Any]:
    sizes, reduced_indices = _reduced_indices(op)
    return [None, gather_nd(reshape(grad, sizes), reduced_indices), None, None]


@gradient("SparseReduceMax")
def sparse_reduce_max(op: Operation, grad: Tensor) -> list[Any]:
    """Values that tie for the maximum share the gradient."""
    indices, values, shape, axes = op.inputs
    sizes, reduced_indices = _reduced_indices(op)
    greatest = gather_nd(reshape(op.outputs[0], sizes), reduced_indices)
    chosen = cast_ops.cast(equal(values, greatest), grad.dtype)
    counts = sparse_reduce_sum_op(indices, chosen, shape, axes, keep_dims=True)
    share = gather_nd(reshape(grad, sizes), reduced_indices) / gather_nd(counts, reduced_indices)
    return [None, chosen * share, None, None]


@gradient("SparseSoftmax")
def sparse_softmax(op: Operation, grad: Tensor) -> list[Any]:
    indices, _, shape = op.inputs
    result = op.outputs[0]
    totals = sparse_reduce_sum_op(indices, result * grad, shape, [-1], keep_dims=True)
    return [None, sparse_dense_cwise_add_op(indices, grad, shape, -totals) * result, None]
