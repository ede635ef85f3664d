"""Gradients of special functions (gamma, beta, zeta, Bessel)."""

from __future__ import annotations

import math as numbers
from typing import Any

from thalweg._src.graph.autodiff.registry import gradient, no_gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.autodiff.rules.derivatives import derivative, gradient_of_one
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import math, special
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.ops.where import select_v2_op as select
from thalweg._src.graph.tensor import Tensor

no_gradient("IgammaGradA")

_PER_ROOT_PI = 2 / numbers.sqrt(numbers.pi)


def _number(value: float, like: Tensor) -> Tensor:
    return constant(value, like.dtype.base_dtype)


def _erf_slope(x: Tensor, y: Tensor) -> Tensor:
    return math.multiply(math.exp(math.negative(math.square(x))), _PER_ROOT_PI)


def _i1e_slope(x: Tensor, y: Tensor) -> Tensor:
    """Takes the limit 1/2 at 0, where y / x has no value."""
    at_zero = equal(x, zeros_like(x))
    safe_x = select(at_zero, _number(1, x), x)
    slope = math.subtract(
        special.bessel_i0e_op(x), math.multiply(y, math.add_v2_op(math.sign(x), math.realdiv(_number(1, x), safe_x)))
    )
    return select(at_zero, _number(0.5, x), slope)


derivative("Erf", _erf_slope)
gradient_of_one("Erfc", lambda grad, x, y: math.negative(math.multiply(grad, _erf_slope(x, y))))
derivative("Erfinv", lambda x, y: math.multiply(math.exp(math.square(y)), 1 / _PER_ROOT_PI))
derivative(
    "Ndtri", lambda x, y: math.multiply(math.exp(math.multiply(math.square(y), 0.5)), numbers.sqrt(2 * numbers.pi))
)
derivative("Lgamma", lambda x, y: special.digamma(x))
derivative("Digamma", lambda x, y: special.polygamma(_number(1, x), x))
derivative("BesselI0e", lambda x, y: math.subtract(special.bessel_i1e_op(x), math.multiply(math.sign(x), y)))
derivative("BesselI1e", _i1e_slope)


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    """Returns the derivative of igamma(a, x) by x."""
    return math.exp(math.subtract(math.subtract(math.xlogy(math.subtract(a, _number(1, a)), x), x), special.lgamma(a)))


@gradient("Igamma")
def igamma(op: Operation, grad: Tensor) -> list[Any]:
    a, x = op.inputs
    by_a, by_x = math.multiply(grad, special.igamma_grad_a(a, x)), math.multiply(grad, _gamma_density(a, x))
    return [sum_to_shape_of(a, by_a), sum_to_shape_of(x, by_x)]


@gradient("Igammac")
def igammac(op: Operation, grad: Tensor) -> list[Any]:
    result: list[Any] = igamma(op, math.negative(grad))
    return result


@gradient("Zeta")
def zeta(op: Operation, grad: Tensor) -> list[Any]:
    x, q = op.inputs
    by_q = math.multiply(math.negative(x), special.zeta(math.add_v2_op(x, _number(1, x)), q))
    return [None, sum_to_shape_of(q, math.multiply(grad, by_q))]


@gradient("Polygamma")
def polygamma(op: Operation, grad: Tensor) -> list[Any]:
    a, x = op.inputs
    by_x = special.polygamma(math.add_v2_op(a, _number(1, a)), x)
    return [None, sum_to_shape_of(x, math.multiply(grad, by_x))]


@gradient("Betainc")
def betainc(op: Operation, grad: Tensor) -> list[Any]:
    """Differentiates with respect to x only; no closed form is known for a and b."""
    a, b, x = op.inputs
    log_beta = math.subtract(math.add_v2_op(special.lgamma(a), special.lgamma(b)), special.lgamma(math.add_v2_op(a, b)))
    powers = math.add_v2_op(
        math.xlog1py(math.subtract(b, _number(1, b)), math.negative(x)), math.xlogy(math.subtract(a, _number(1, a)), x)
    )
    return [None, None, sum_to_shape_of(x, math.multiply(grad, math.exp(math.subtract(powers, log_beta))))]
