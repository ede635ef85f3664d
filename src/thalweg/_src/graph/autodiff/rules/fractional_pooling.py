"""Gradients of fractional pooling."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.fractional_pooling import fractional_avg_pool_grad, fractional_max_pool_grad
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.tensor import Tensor


@gradient("FractionalMaxPool")
def fractional_max_pool(op: Operation, grad: Tensor, *_: object) -> Tensor:
    result, rows, columns = op.outputs
    overlapping = op.attrs["overlapping"]
    return fractional_max_pool_grad(op.inputs[0], result, grad, rows, columns, overlapping=overlapping)


@gradient("FractionalAvgPool")
def fractional_avg_pool(op: Operation, grad: Tensor, *_: object) -> Tensor:
    rows, columns = op.outputs[1:]
    sizes = shape(op.inputs[0], out_type=dtypes.int64)
    return fractional_avg_pool_grad(sizes, grad, rows, columns, overlapping=op.attrs["overlapping"])
