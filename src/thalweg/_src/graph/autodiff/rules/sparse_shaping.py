"""Gradients of ordering and cutting sparse tensors."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.gather import scatter_nd
from thalweg._src.graph.ops.reshape import expand_dims, shape, size
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.graph.ops.sequences import range as count_up
from thalweg._src.graph.ops.sparse_shaping import sparse_reorder_op, sparse_slice_grad_op
from thalweg._src.graph.tensor import Tensor


@gradient("SparseReorder")
def sparse_reorder(op: Operation, by_indices: object, grad: Tensor) -> list[Any]:
    indices, values, dense_shape = op.inputs
    numbers = count_up(size(values))
    origins = sparse_reorder_op.many(indices, numbers, dense_shape).output_values
    return [None, scatter_nd(expand_dims(origins, 1), grad, shape(values)), None]


@gradient("SparseSlice")
def sparse_slice(op: Operation, by_indices: object, grad: Tensor, by_shape: object) -> list[Any]:
    return [None, sparse_slice_grad_op(grad, op.inputs[0], op.inputs[3], op.outputs[0]), None, None, None]


@gradient("SparseSliceGrad")
def sparse_slice_grad(op: Operation, grad: Tensor) -> list[Any]:
    """Sums the gradient over the elements of each slice value, which are found by slicing the indices 1, 2, ..."""
    before, indices, start, outputs = op.inputs
    count = size(before)
    numbers = sparse_slice_grad_op(count_up(1, count + 1), indices, start, outputs)
    return [unsorted_segment_sum(grad, numbers - 1, count), None, None, None]
