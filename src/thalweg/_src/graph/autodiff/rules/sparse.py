"""Gradients of sparse tensors made dense."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.gather import gather_nd
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import reshape, size
from thalweg._src.graph.tensor import Tensor


@gradient("SparseToDense")
def sparse_to_dense(op: Operation, grad: Tensor) -> list[Any]:
    indices, _, values, _ = op.inputs
    rank = None if indices.dims is None else len(indices.dims)
    places = indices if rank == 2 else reshape(indices, [-1, 1]) if rank is not None else _as_rows(op)
    at_places = gather_nd(grad, places)
    return [None, None, sum_to_shape_of(values, at_places), reduce_sum(grad) - reduce_sum(at_places)]


def _as_rows(op: Operation) -> Tensor:
    """Returns indices of unknown rank as a matrix with one column per dimension of the output."""
    return reshape(op.inputs[0], [-1, size(op.inputs[1])])
