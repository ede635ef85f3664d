"""The value of a polynomial."""

from __future__ import annotations

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.math import add_v2_op, multiply
from thalweg._src.graph.ops.reshape import zeros_like_op
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("math.polyval")
def polyval(coeffs: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Evaluates the polynomial with the given coefficients, highest power first, at x.

    Args:
        coeffs: The coefficients, the highest power first.
        x: Where to evaluate it.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"coeffs is a {type(coeffs).__name__}, expected a list")
    with name_scope(name, "polyval", [*coeffs, x]):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return zeros_like_op(x, name="zeros_like")
        result, *rest = (convert_to_tensor(c, x.dtype.base_dtype, name=f"coeff_{i}") for i, c in enumerate(coeffs))
        for coefficient in rest:
            result = add_v2_op(coefficient, multiply(result, x, name="mul"), name="add")
        return result
