"""Special functions: error function, gamma, beta, zeta and Bessel functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.math import abs, exp, multiply, subtract, unary
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.shape_functions import broadcast_inputs
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_PRECISE = frozenset((dtypes.float32, dtypes.float64))


def _of_two(name: str, signature: str, types: frozenset[dtypes.DType], doc: str, **facts: Any) -> OpDef:
    return op(name, signature, T=types, infer=broadcast_inputs, doc=doc, **facts)


def _betainc(c: Inference) -> Sequence[Shape]:
    """Returns the one shape of all arguments that are not scalars."""
    result: Shape = None
    for shape in c.shapes:
        result = merge(result, shape or None)
    return [() if result is None and None not in c.shapes else result]


erf = export("erf", "math.erf")(
    unary("Erf", dtypes.FLOATING, "the Gauss error function", traceable=True, fails="never")
)
erfc = export("erfc", "math.erfc")(
    unary("Erfc", dtypes.FLOATING, "Computes 1 - erf(x), element-wise, accurate for large x.")
)
erfinv = export("math.erfinv")(unary("Erfinv", dtypes.FLOATING, "the inverse of erf"))
ndtri = export("math.ndtri")(unary("Ndtri", dtypes.FLOATING, "the quantile function of the normal distribution"))
lgamma = export("lgamma", "math.lgamma")(unary("Lgamma", dtypes.FLOATING, "log |gamma(x)|"))
digamma = export("digamma", "math.digamma")(unary("Digamma", dtypes.FLOATING, "the derivative of lgamma"))
bessel_i0e_op = unary("BesselI0e", dtypes.FLOATING, "the exponentially scaled Bessel function i0(x) * exp(-|x|)")
bessel_i1e_op = unary("BesselI1e", dtypes.FLOATING, "the exponentially scaled Bessel function i1(x) * exp(-|x|)")
igamma = export("igamma", "math.igamma", a="The parameter.", x="Limit of the integral.")(
    _of_two(
        "Igamma",
        "a: T, x: T -> z: T",
        dtypes.FLOATING,
        "Computes the regularized lower incomplete gamma function, element-wise.",
    )
)
igammac = export("igammac", "math.igammac", a="The parameter.", x="Limit of the integral.")(
    _of_two(
        "Igammac",
        "a: T, x: T -> z: T",
        dtypes.FLOATING,
        "Computes the regularized upper incomplete gamma function, element-wise.",
    )
)
igamma_grad_a = _of_two(
    "IgammaGradA",
    "a: T, x: T -> z: T",
    _PRECISE,
    "Computes the derivative of igamma with respect to a, element-wise.",
    capturable=False,
)
zeta = export("zeta", "math.zeta", x="The exponents.", q="The offsets.")(
    _of_two("Zeta", "x: T, q: T -> z: T", _PRECISE, "Computes the Hurwitz zeta function, element-wise.")
)
polygamma = export("polygamma", "math.polygamma", a="The order.")(
    _of_two("Polygamma", "a: T, x: T -> z: T", _PRECISE, "Computes the derivative of order a of digamma, element-wise.")
)
betainc = export(
    "betainc", "math.betainc", a="The first parameter.", b="The second parameter.", x="Upper limit of the integral."
)(
    op(
        "Betainc",
        "a: T, b: T, x: T -> z: T",
        T=_PRECISE,
        infer=_betainc,
        doc="Computes the regularized incomplete beta function, element-wise.",
        capturable=False,
    )
)


@export("math.bessel_i0e", "math.special.bessel_i0e")
def bessel_i0e(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the exponentially scaled modified Bessel function of order 0, i0(x) * exp(-|x|)."""
    return bessel_i0e_op(x, name=name or "bessel_i0e")


@export("math.bessel_i1e", "math.special.bessel_i1e")
def bessel_i1e(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the exponentially scaled modified Bessel function of order 1, i1(x) * exp(-|x|)."""
    return bessel_i1e_op(x, name=name or "bessel_i1e")


@export("math.bessel_i0", "math.special.bessel_i0")
def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the modified Bessel function of order 0."""
    with name_scope(name, "bessel_i0", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return multiply(exp(abs(x)), bessel_i0e_op(x), name=scope)


@export("math.bessel_i1", "math.special.bessel_i1")
def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the modified Bessel function of order 1."""
    with name_scope(name, "bessel_i1", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return multiply(exp(abs(x)), bessel_i1e_op(x), name=scope)


@export("lbeta", "math.lbeta")
def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes log |beta(x)| along the last dimension.

    Args:
        x: The parameters, along the last dimension.
    """
    with name_scope(name, "lbeta", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return subtract(reduce_sum(lgamma(x), [-1]), lgamma(reduce_sum(x, [-1])), name=scope)
