"""What gradients of broadcasting ops share: summing a gradient back to the shape of an input."""

from __future__ import annotations

from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.reduction import reduce_sum
from thalweg._src.ops.reshape import broadcast_gradient_args, reshape, shape
from thalweg._src.shapes import Shape


def sum_to_shape_of(x: Tensor, grad: Tensor) -> Tensor:
    """Sums a gradient over the dimensions that x was repeated along; free where shapes are known to be equal."""
    grad = convert_to_tensor(grad)  # rows of a look-up become dense here
    if _is_known(x._shape) and x._shape == grad._shape:
        return grad
    if _is_known(x._shape) and _is_known(grad._shape):
        assert x._shape is not None and grad._shape is not None
        missing = len(grad._shape) - len(x._shape)
        axes = list(range(missing))
        axes += [i + missing for i, d in enumerate(x._shape) if d == 1 and grad._shape[i + missing] != 1]
        total = reduce_sum(grad, axes) if axes else grad
        return total if total._shape == x._shape else reshape(total, list(x._shape))
    axes_of_x, _ = broadcast_gradient_args(shape(x), shape(grad))
    return reshape(reduce_sum(grad, axes_of_x), shape(x))


def _is_known(dims: Shape) -> bool:
    return dims is not None and None not in dims
