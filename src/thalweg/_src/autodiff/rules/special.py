"""Gradients of special functions (gamma, beta, zeta, Bessel)."""

from __future__ import annotations

import math as numbers
from typing import Any

from thalweg._src.autodiff.registry import gradient, no_gradient
from thalweg._src.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops import special
from thalweg._src.ops.comparison import equal
from thalweg._src.ops.constants import constant
from thalweg._src.ops.math import add_v2_op, exp, multiply, negative, realdiv, sign, square, subtract, xlog1py, xlogy
from thalweg._src.ops.reshape import zeros_like
from thalweg._src.ops.where import select_v2_op as select

no_gradient("IgammaGradA")

_PER_ROOT_PI = 2 / numbers.sqrt(numbers.pi)


def _number(value: float, like: Tensor) -> Tensor:
    return constant(value, like.dtype.base_dtype)


@gradient("Erf")
def erf(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, multiply(exp(negative(square(op.inputs[0]))), _PER_ROOT_PI))


@gradient("Erfc")
def erfc(op: Operation, grad: Tensor) -> Tensor:
    return negative(erf(op, grad))


@gradient("Erfinv")
def erfinv(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, multiply(exp(square(op.outputs[0])), 1 / _PER_ROOT_PI))


@gradient("Ndtri")
def ndtri(op: Operation, grad: Tensor) -> Tensor:
    slope = multiply(exp(multiply(square(op.outputs[0]), 0.5)), numbers.sqrt(2 * numbers.pi))
    return multiply(grad, slope)


@gradient("Lgamma")
def lgamma(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, special.digamma(op.inputs[0]))


@gradient("Digamma")
def digamma(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    return multiply(grad, special.polygamma(_number(1, x), x))


@gradient("BesselI0e")
def bessel_i0e(op: Operation, grad: Tensor) -> Tensor:
    x, y = op.inputs[0], op.outputs[0]
    return multiply(grad, subtract(special.bessel_i1e_op(x), multiply(sign(x), y)))


@gradient("BesselI1e")
def bessel_i1e(op: Operation, grad: Tensor) -> Tensor:
    """Takes the limit 1/2 at 0, where y / x has no value."""
    x, y = op.inputs[0], op.outputs[0]
    at_zero = equal(x, zeros_like(x))
    safe_x = select(at_zero, _number(1, x), x)
    slope = subtract(special.bessel_i0e_op(x), multiply(y, add_v2_op(sign(x), realdiv(_number(1, x), safe_x))))
    return multiply(grad, select(at_zero, _number(0.5, x), slope))


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    """Returns the derivative of igamma(a, x) by x."""
    return exp(subtract(subtract(xlogy(subtract(a, _number(1, a)), x), x), special.lgamma(a)))


@gradient("Igamma")
def igamma(op: Operation, grad: Tensor) -> list[Any]:
    a, x = op.inputs
    by_a, by_x = multiply(grad, special.igamma_grad_a(a, x)), multiply(grad, _gamma_density(a, x))
    return [sum_to_shape_of(a, by_a), sum_to_shape_of(x, by_x)]


@gradient("Igammac")
def igammac(op: Operation, grad: Tensor) -> list[Any]:
    result: list[Any] = igamma(op, negative(grad))
    return result


@gradient("Zeta")
def zeta(op: Operation, grad: Tensor) -> list[Any]:
    x, q = op.inputs
    by_q = multiply(negative(x), special.zeta(add_v2_op(x, _number(1, x)), q))
    return [None, sum_to_shape_of(q, multiply(grad, by_q))]


@gradient("Polygamma")
def polygamma(op: Operation, grad: Tensor) -> list[Any]:
    a, x = op.inputs
    by_x = special.polygamma(add_v2_op(a, _number(1, a)), x)
    return [None, sum_to_shape_of(x, multiply(grad, by_x))]


@gradient("Betainc")
def betainc(op: Operation, grad: Tensor) -> list[Any]:
    """Differentiates with respect to x only; no closed form is known for a and b."""
    a, b, x = op.inputs
    log_beta = subtract(add_v2_op(special.lgamma(a), special.lgamma(b)), special.lgamma(add_v2_op(a, b)))
    powers = add_v2_op(xlog1py(subtract(b, _number(1, b)), negative(x)), xlogy(subtract(a, _number(1, a)), x))
    return [None, None, sum_to_shape_of(x, multiply(grad, exp(subtract(powers, log_beta))))]
