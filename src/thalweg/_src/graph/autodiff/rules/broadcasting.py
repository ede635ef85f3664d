"""Gradients of broadcasting: sums a gradient back to the shape of an input."""

from __future__ import annotations

from thalweg._src.base.shapes import Shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import broadcast_gradient_args, reshape, shape
from thalweg._src.graph.tensor import Tensor


def sum_to_shape_of(x: Tensor, grad: Tensor) -> Tensor:
    """Sums a gradient over the dimensions along which x was broadcast; adds no nodes if the static shapes are equal."""
    grad = convert_to_tensor(grad)  # makes IndexedSlices dense
    if _is_static(x.dims) and x.dims == grad.dims:
        return grad
    axes = _static_axes(x.dims, grad.dims)
    if axes is not None:  # ends in a Reshape, as in TensorFlow's graphs, even where the sum is enough
        return reshape(reduce_sum(grad, axes) if axes else grad, x.get_shape().as_list())
    axes_of_x, _ = broadcast_gradient_args.many(shape(x), shape(grad))
    return reshape(reduce_sum(grad, axes_of_x), shape(x))


def _static_axes(x: Shape, grad: Shape) -> list[int] | None:
    """Returns the axes along which a shape was broadcast, or None where they depend on sizes of the step."""
    if x is None or None in x or grad is None:
        return None
    missing = len(grad) - len(x)
    ones = [i + missing for i, size in enumerate(x) if size == 1]
    if any(grad[i] is None for i in ones):
        return None
    return [*range(missing), *(i for i in ones if grad[i] != 1)]


def _is_static(dims: Shape) -> bool:
    return dims is not None and None not in dims
