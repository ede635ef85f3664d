"""Gradients of variable reads: passed to the handle, where `gradients` with respect to the variable finds them."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import Gradient, gradient
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.gather import scatter_nd
from thalweg._src.graph.ops.reshape import expand_dims, reshape, size, squeeze
from thalweg._src.graph.ops.state import variable_shape
from thalweg._src.graph.tensor import Tensor


@gradient("ReadVariableOp")
def read_variable(op: Operation, grad: Gradient) -> Any:
    return grad


@gradient("ResourceGather")
def resource_gather(op: Operation, grad: Tensor) -> list[Any]:
    """Keeps the gradient sparse: one row of values per index."""
    handle, indices = op.inputs
    params_shape: Any = variable_shape(handle)
    if op.attrs["batch_dims"]:
        raise LookupError(f"No gradient defined for operation {op.name!r}: ResourceGather with batch_dims > 0.")
    count = expand_dims(size(indices), 0)
    values = reshape(grad, concat([count, params_shape[1:]], 0))
    return [IndexedSlices(values, reshape(indices, count), params_shape), None]


@gradient("ResourceGatherNd")
def resource_gather_nd(op: Operation, grad: Tensor) -> list[Any]:
    handle, indices = op.inputs
    shape = variable_shape(handle, out_type=indices.dtype)
    if indices.dims is not None and len(indices.dims) == 2 and indices.dims[-1] == 1:
        return [IndexedSlices(grad, squeeze(indices, axis=-1), shape), None]
    return [scatter_nd(indices, grad, shape), None]
