"""Gradients of broadcasting: sums a gradient back to the shape of an input."""

from __future__ import annotations

from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.reduction import reduce_sum
from thalweg._src.ops.reshape import broadcast_gradient_args, reshape, shape
from thalweg._src.shapes import Shape


def sum_to_shape_of(x: Tensor, grad: Tensor) -> Tensor:
    """Sums a gradient over the dimensions along which x was broadcast; adds no nodes if the static shapes are equal."""
    grad = convert_to_tensor(grad)  # makes IndexedSlices dense
    if _is_known(x.dims) and x.dims == grad.dims:
        return grad
    if _is_known(x.dims) and _is_known(grad.dims):
        assert x.dims is not None and grad.dims is not None
        missing = len(grad.dims) - len(x.dims)
        axes = list(range(missing))
        axes += [i + missing for i, d in enumerate(x.dims) if d == 1 and grad.dims[i + missing] != 1]
        total = reduce_sum(grad, axes) if axes else grad
        return total if total.dims == x.dims else reshape(total, list(x.dims))
    axes_of_x, _ = broadcast_gradient_args.many(shape(x), shape(grad))
    return reshape(reduce_sum(grad, axes_of_x), shape(x))


def _is_known(dims: Shape) -> bool:
    return dims is not None and None not in dims
