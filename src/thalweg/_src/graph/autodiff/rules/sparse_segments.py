"""Gradients of sparse segment reductions, as IndexedSlices on request."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import sparse_segments
from thalweg._src.graph.ops.reshape import shape, size
from thalweg._src.graph.ops.sequences import range
from thalweg._src.graph.tensor import Tensor


def _by_data(op: Operation, grad: Tensor, backward: OpDef) -> Any:
    data, indices, ids = op.inputs[:3]
    sizes: Any = shape(data)
    if not op.attrs["sparse_gradient"]:
        return backward(grad, indices, ids, sizes[0])
    # Every gathered row contributes a row of its own, in the order of the indices.
    places = range(size(ids))
    rows = backward(grad, places, ids, size(ids))
    return IndexedSlices(rows, indices, sizes)


def _register(forward: OpDef, counted: OpDef, backward: OpDef) -> None:
    @gradient(forward.name, counted.name)
    def by_data(op: Operation, grad: Tensor) -> list[Any]:
        return [_by_data(op, grad, backward), *[None] * (len(op.inputs) - 1)]

    @gradient(backward.name)
    def of_gradient(op: Operation, grad: Tensor) -> list[Any]:
        """Reduces again, over as many segments as the gradient has rows."""
        source, indices, ids, _ = op.inputs
        sizes: Any = shape(source)
        return [counted(grad, indices, ids, sizes[0]), None, None, None]


_register(*sparse_segments.SUM, sparse_segments.sparse_segment_sum_grad)
_register(*sparse_segments.MEAN, sparse_segments.sparse_segment_mean_grad)
_register(*sparse_segments.SQRT_N, sparse_segments.sparse_segment_sqrt_n_grad)
