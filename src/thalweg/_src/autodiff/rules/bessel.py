"""Gradients of Bessel functions, and of functions defined by integrals (the integrand)."""

from __future__ import annotations

import math as numbers
from typing import Any

from thalweg._src.autodiff.registry import gradient
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops import bessel
from thalweg._src.ops.comparison import equal
from thalweg._src.ops.constants import constant
from thalweg._src.ops.math import add_v2_op, cos, exp, log, multiply, negative, realdiv, sin, square, subtract
from thalweg._src.ops.reshape import zeros_like
from thalweg._src.ops.where import select_v2_op as select


def _number(value: float, like: Tensor) -> Tensor:
    return constant(value, like.dtype.base_dtype)


def _over_x(op: Operation, at_zero: float) -> Tensor:
    """Returns y / x with its limit at 0."""
    x, y = op.inputs[0], op.outputs[0]
    zero = equal(x, zeros_like(x))
    return select(zero, _number(at_zero, x), realdiv(y, select(zero, _number(1, x), x)))


def _register_order_zero(name: str, other: OpDef, sign: int) -> None:
    @gradient(name)
    def slope(op: Operation, grad: Tensor) -> Tensor:
        other_order = other(op.inputs[0])
        return multiply(grad, other_order if sign > 0 else negative(other_order))


_register_order_zero("BesselI0", bessel.bessel_i1_op, 1)
_register_order_zero("BesselJ0", bessel.bessel_j1_op, -1)
_register_order_zero("BesselY0", bessel.bessel_y1_op, -1)
_register_order_zero("BesselK0", bessel.bessel_k1_op, -1)


@gradient("BesselI1")
def bessel_i1(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, subtract(bessel.bessel_i0_op(op.inputs[0]), _over_x(op, 0.5)))


@gradient("BesselJ1")
def bessel_j1(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, subtract(bessel.bessel_j0_op(op.inputs[0]), _over_x(op, 0.5)))


@gradient("BesselY1")
def bessel_y1(op: Operation, grad: Tensor) -> Tensor:
    x, y = op.inputs[0], op.outputs[0]
    return multiply(grad, subtract(bessel.bessel_y0_op(x), realdiv(y, x)))


@gradient("BesselK1")
def bessel_k1(op: Operation, grad: Tensor) -> Tensor:
    x, y = op.inputs[0], op.outputs[0]
    return multiply(grad, negative(add_v2_op(bessel.bessel_k0_op(x), realdiv(y, x))))


@gradient("BesselK0e")
def bessel_k0e(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, subtract(op.outputs[0], bessel.bessel_k1e_op(op.inputs[0])))


@gradient("BesselK1e")
def bessel_k1e(op: Operation, grad: Tensor) -> Tensor:
    x, y = op.inputs[0], op.outputs[0]
    factor = subtract(_number(1, x), realdiv(_number(1, x), x))  # infinite at 0, where y - y / x would be NaN
    return multiply(grad, subtract(multiply(y, factor), bessel.bessel_k0e_op(x)))


@gradient("Dawsn")
def dawsn(op: Operation, grad: Tensor) -> Tensor:
    x, y = op.inputs[0], op.outputs[0]
    return multiply(grad, subtract(_number(1, x), multiply(multiply(x, y), _number(2, x))))


@gradient("Expint")
def expint(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    return multiply(grad, realdiv(exp(x), x))


def _phase(x: Tensor) -> Tensor:
    return multiply(square(x), _number(numbers.pi / 2, x))


@gradient("FresnelCos")
def fresnel_cos(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, cos(_phase(op.inputs[0])))


@gradient("FresnelSin")
def fresnel_sin(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, sin(_phase(op.inputs[0])))


@gradient("Spence")
def spence(op: Operation, grad: Tensor) -> Any:
    """Takes the limit -1 at 1."""
    x = op.inputs[0]
    one = _number(1, x)
    at_one = equal(x, one)
    slope = realdiv(log(x), select(at_one, one, subtract(one, x)))
    return multiply(grad, select(at_one, _number(-1, x), slope))
