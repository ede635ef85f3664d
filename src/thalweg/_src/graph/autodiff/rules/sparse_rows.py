"""Gradients of row operations on sparse tensors."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import fill
from thalweg._src.graph.ops.gather import tensor_scatter_update
from thalweg._src.graph.ops.reshape import expand_dims, shape
from thalweg._src.graph.ops.sparse_rows import sparse_fill_empty_rows_grad_op
from thalweg._src.graph.tensor import Tensor


@gradient("SparseFillEmptyRows")
def sparse_fill_empty_rows(
    op: Operation, by_indices: object, grad: Tensor, by_empty: object, by_map: object
) -> list[Any]:
    by_values, by_default = sparse_fill_empty_rows_grad_op.many(op.outputs[3], grad)
    return [None, by_values, None, by_default]


@gradient("SparseFillEmptyRowsGrad")
def sparse_fill_empty_rows_grad(op: Operation, by_values: Tensor, by_default: Tensor) -> list[Any]:
    positions, grad = op.inputs
    defaults = fill(shape(grad), by_default)
    return [None, tensor_scatter_update(defaults, expand_dims(positions, 1), by_values)]
