"""Gradients of Bessel functions, and of functions defined by integrals (the integrand)."""

from __future__ import annotations

import math as numbers

from thalweg._src.graph.autodiff.rules.derivatives import derivative
from thalweg._src.graph.ops import bessel
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.math import add_v2_op, cos, exp, log, multiply, negative, realdiv, sin, square, subtract
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.ops.where import select_v2_op as select
from thalweg._src.graph.tensor import Tensor


def _number(value: float, like: Tensor) -> Tensor:
    return constant(value, like.dtype.base_dtype)


def _over_x(x: Tensor, y: Tensor) -> Tensor:
    """Returns y / x with its limit 1/2 at 0."""
    zero = equal(x, zeros_like(x))
    return select(zero, _number(0.5, x), realdiv(y, select(zero, _number(1, x), x)))


def _k1e_slope(x: Tensor, y: Tensor) -> Tensor:
    factor = subtract(_number(1, x), realdiv(_number(1, x), x))  # infinite at 0, where y - y / x would be NaN
    return subtract(multiply(y, factor), bessel.bessel_k0e_op(x))


def _phase(x: Tensor) -> Tensor:
    return multiply(square(x), _number(numbers.pi / 2, x))


def _spence_slope(x: Tensor, y: Tensor) -> Tensor:
    """Takes the limit -1 at 1."""
    one = _number(1, x)
    at_one = equal(x, one)
    slope = realdiv(log(x), select(at_one, one, subtract(one, x)))
    return select(at_one, _number(-1, x), slope)


derivative("BesselI0", lambda x, y: bessel.bessel_i1_op(x))
derivative("BesselJ0", lambda x, y: negative(bessel.bessel_j1_op(x)))
derivative("BesselY0", lambda x, y: negative(bessel.bessel_y1_op(x)))
derivative("BesselK0", lambda x, y: negative(bessel.bessel_k1_op(x)))
derivative("BesselI1", lambda x, y: subtract(bessel.bessel_i0_op(x), _over_x(x, y)))
derivative("BesselJ1", lambda x, y: subtract(bessel.bessel_j0_op(x), _over_x(x, y)))
derivative("BesselY1", lambda x, y: subtract(bessel.bessel_y0_op(x), realdiv(y, x)))
derivative("BesselK1", lambda x, y: negative(add_v2_op(bessel.bessel_k0_op(x), realdiv(y, x))))
derivative("BesselK0e", lambda x, y: subtract(y, bessel.bessel_k1e_op(x)))
derivative("BesselK1e", _k1e_slope)
derivative("Dawsn", lambda x, y: subtract(_number(1, x), multiply(multiply(x, y), _number(2, x))))
derivative("Expint", lambda x, y: realdiv(exp(x), x))
derivative("FresnelCos", lambda x, y: cos(_phase(x)))
derivative("FresnelSin", lambda x, y: sin(_phase(x)))
derivative("Spence", _spence_slope)
