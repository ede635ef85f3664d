"""Gradients of nth_element and approximate top_k."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.math import divide, multiply
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, shape
from thalweg._src.graph.ops.where import one_hot
from thalweg._src.graph.tensor import Tensor


@gradient("NthElement")
def nth_element(op: Operation, grad: Tensor) -> list[Any]:
    """Divides the gradient among all entries that equal the n-th."""
    chosen = cast(equal(expand_dims(op.outputs[0], -1), op.inputs[0]), grad.dtype)
    shares = divide(chosen, expand_dims(reduce_sum(chosen, -1), -1))
    return [multiply(shares, expand_dims(grad, -1)), None]


@gradient("ApproxTopK")
def approx_top_k(op: Operation, grad: Tensor, _: object) -> Tensor:
    """Scatters each gradient to the position of its value."""
    source, places = op.inputs[0], op.outputs[1]
    axis = op.attrs["reduction_dimension"]
    assert source.dims is not None
    axis = axis + len(source.dims) if axis < 0 else axis
    sizes: Any = shape(source)
    spread = one_hot(places, sizes[axis], axis=axis, dtype=grad.dtype)
    return reduce_sum(multiply(spread, expand_dims(grad, axis)), axis + 1)
