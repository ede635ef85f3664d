"""Hessians: second derivatives as full matrices."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.shapes import num_elements, show
from thalweg._src.graph.autodiff.gradients import UnconnectedGradients, gradients
from thalweg._src.graph.autodiff.registry import Gradient
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import stack, unstack
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("hessians")
def hessians(
    ys: TensorLike,
    xs: TensorLike,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Returns for each x the Hessian of sum(ys), of shape x.shape + x.shape; the shape of x must be known.

    The graph grows by one gradient for each element of x.

    Args:
        gate_gradients: Whether the gradients of an operation wait for each other.
    """
    sources = list(xs) if isinstance(xs, list | tuple) else [xs]
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    with name_scope(name, "hessians"):
        firsts = gradients(ys, sources, **options)
        return [_hessian(first, x, options) for first, x in zip(firsts, sources)]


def _hessian(first: Gradient | None, x: Any, options: dict[str, Any]) -> Tensor:
    if not isinstance(x, Tensor):
        require_members("xs", x, "tensors or variables", "dtype", "get_shape")
    shape = x.dims if isinstance(x, Tensor) else tuple(x.shape.as_list())
    size = num_elements(shape)
    if shape is None or size is None:
        raise ValueError(f"a Hessian requires a known shape, but {x.name!r} has {show(shape)}")
    if first is None:
        raise ValueError(f"the targets do not depend on {x.name!r}")
    # Row i of the Hessian is the gradient of element i of the gradient; a missing one is a row of zeros.
    elements = unstack(reshape(convert_to_tensor(first), [-1]), num=size)
    zero = UnconnectedGradients.ZERO
    rows = [convert_to_tensor(gradients(e, x, unconnected_gradients=zero, **options)[0]) for e in elements]
    return reshape(stack(rows) if rows else convert_to_tensor(first), [*shape, *shape])
