"""Gradients of element-wise arithmetic and elementary functions.

The gradient of a holomorphic function is the incoming gradient times the conjugate of the derivative; `conj` is a
no-op for real tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.autodiff.registry import gradient, no_gradient
from thalweg._src.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops import cast as cast_ops, comparison, math
from thalweg._src.ops.constants import constant
from thalweg._src.ops.math import add_v2_op, conj, multiply, negative, realdiv, reciprocal, square, subtract
from thalweg._src.ops.reshape import zeros_like
from thalweg._src.ops.where import select_v2_op as select

no_gradient("FloorDiv", "TruncateDiv")


def _zero(like: Tensor) -> Tensor:
    return constant(0, like.dtype.base_dtype)


def _one(like: Tensor) -> Tensor:
    return constant(1, like.dtype.base_dtype)


def _to_inputs(op: Operation, by_x: Callable[[], Tensor], by_y: Callable[[], Tensor]) -> list[Any]:
    """Returns the gradients of two operands, each built only if requested and summed to its operand's shape."""
    x, y = op.inputs
    return [lambda: sum_to_shape_of(x, by_x()), lambda: sum_to_shape_of(y, by_y())]


@gradient("Add", "AddV2")
def add(op: Operation, grad: Tensor) -> list[Any]:
    return _to_inputs(op, lambda: grad, lambda: grad)


@gradient("Sub")
def sub(op: Operation, grad: Tensor) -> list[Any]:
    return _to_inputs(op, lambda: grad, lambda: negative(grad))


@gradient("Mul")
def mul(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    return _to_inputs(op, lambda: multiply(grad, conj(y)), lambda: multiply(conj(x), grad))


@gradient("MulNoNan")
def mul_no_nan(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj(t) for t in op.inputs)
    return _to_inputs(op, lambda: math.multiply_no_nan_op(grad, y), lambda: math.multiply_no_nan_op(x, grad))


@gradient("Div", "RealDiv")
def div(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj(t) for t in op.inputs)
    return _to_inputs(op, lambda: realdiv(grad, y), lambda: multiply(grad, realdiv(realdiv(negative(x), y), y)))


@gradient("DivNoNan")
def div_no_nan(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj(t) for t in op.inputs)
    divide = math.div_no_nan_op
    return _to_inputs(op, lambda: divide(grad, y), lambda: multiply(grad, divide(divide(negative(x), y), y)))


@gradient("FloorMod")
def floormod(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    return _to_inputs(op, lambda: grad, lambda: multiply(grad, negative(math.floordiv_op(x, y))))


@gradient("Mod", "TruncateMod")
def truncatemod(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    return _to_inputs(op, lambda: grad, lambda: multiply(grad, negative(math.truncatediv(x, y))))


def _is_not_zero(x: Tensor) -> Tensor:
    return cast_ops.cast(comparison.not_equal(x, _zero(x)), x.dtype)  # type: ignore[no-any-return]


@gradient("Xdivy")
def xdivy(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj(t) for t in op.inputs)
    by_x, by_y = math.xdivy(_is_not_zero(x), y), math.xdivy(negative(x), square(y))
    return _to_inputs(op, lambda: multiply(grad, by_x), lambda: multiply(grad, by_y))


@gradient("Xlogy")
def xlogy(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj(t) for t in op.inputs)
    by_x, by_y = math.xlogy(_is_not_zero(x), y), math.xdivy(x, y)
    return _to_inputs(op, lambda: multiply(grad, by_x), lambda: multiply(grad, by_y))


@gradient("Xlog1py")
def xlog1py(op: Operation, grad: Tensor) -> list[Any]:
    x, y = (conj(t) for t in op.inputs)
    by_x, by_y = math.xlog1py(_is_not_zero(x), y), math.xdivy(x, add_v2_op(y, _one(y)))
    return _to_inputs(op, lambda: multiply(grad, by_x), lambda: multiply(grad, by_y))


@gradient("Pow")
def pow(op: Operation, grad: Tensor) -> list[Any]:
    """Differentiates with respect to y with log(x), which is taken as 0 where x has no logarithm, as at 0."""
    x, y = (conj(t) for t in op.inputs)
    z = conj(op.outputs[0])
    by_x = multiply(grad, multiply(y, math.pow(x, subtract(y, _one(y)))))
    zero = _zero(x)
    has_log = comparison.not_equal(x, zero) if x.dtype.is_complex else comparison.greater(x, zero)
    log_x = select(has_log, math.log(select(has_log, x, _one(x))), zero)
    return _to_inputs(op, lambda: by_x, lambda: multiply(grad, multiply(z, log_x)))


@gradient("Maximum")
def maximum(op: Operation, grad: Tensor) -> list[Any]:
    return _choice(op, grad, comparison.greater_equal(*op.inputs))


@gradient("Minimum")
def minimum(op: Operation, grad: Tensor) -> list[Any]:
    return _choice(op, grad, comparison.less_equal(*op.inputs))


def _choice(op: Operation, grad: Tensor, x_chosen: Tensor) -> list[Any]:
    zero = _zero(grad)
    return _to_inputs(op, lambda: select(x_chosen, grad, zero), lambda: select(x_chosen, zero, grad))


@gradient("SquaredDifference")
def squared_difference(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    by_x = multiply(add_v2_op(grad, grad), subtract(x, y))
    return _to_inputs(op, lambda: by_x, lambda: negative(by_x))


@gradient("Atan2")
def atan2(op: Operation, grad: Tensor) -> list[Any]:
    y, x = op.inputs
    shared = realdiv(grad, add_v2_op(square(x), square(y)))
    return _to_inputs(op, lambda: multiply(shared, x), lambda: multiply(shared, negative(y)))


@gradient("NextAfter")
def nextafter(op: Operation, grad: Tensor) -> list[Any]:
    return [sum_to_shape_of(op.inputs[0], grad), lambda: zeros_like(op.inputs[1])]


@gradient("ClipByValue")
def clip_by_value(op: Operation, grad: Tensor) -> list[Any]:
    x, low, high = op.inputs
    zero = _zero(grad)
    below, above = comparison.less(x, low), comparison.greater(x, high)
    return [
        select(comparison.logical_or(below, above), zero, grad),
        sum_to_shape_of(low, select(below, grad, zero)),
        sum_to_shape_of(high, select(above, grad, zero)),
    ]


@gradient("AddN", "AccumulateNV2")
def add_n(op: Operation, grad: Tensor) -> list[Any]:
    return [grad] * len(op.inputs)


@gradient("Abs")
def absolute(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, math.sign(op.inputs[0]))


@gradient("Neg")
def neg(op: Operation, grad: Tensor) -> Tensor:
    return negative(grad)


@gradient("Sign")
def sign(op: Operation, grad: Tensor) -> Tensor:
    return zeros_like(op.inputs[0])


@gradient("Reciprocal", "Inv")
def invert(op: Operation, grad: Tensor) -> Tensor:
    return math.reciprocal_grad(op.outputs[0], grad)


@gradient("ReciprocalGrad", "InvGrad")
def reciprocal_grad(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = op.inputs
    return [multiply(multiply(multiply(conj(grad), dy), conj(y)), -2), math.reciprocal_grad(conj(y), grad)]


@gradient("Square")
def squared(op: Operation, grad: Tensor) -> Tensor:
    x = conj(op.inputs[0])
    return multiply(grad, add_v2_op(x, x))


@gradient("Sqrt")
def sqrt(op: Operation, grad: Tensor) -> Tensor:
    return math.sqrt_grad(op.outputs[0], grad)


@gradient("SqrtGrad")
def sqrt_grad(op: Operation, grad: Tensor) -> list[Any]:
    shared = realdiv(grad, op.inputs[0])
    return [negative(multiply(conj(shared), op.outputs[0])), multiply(shared, 0.5)]


@gradient("Rsqrt")
def rsqrt(op: Operation, grad: Tensor) -> Tensor:
    return math.rsqrt_grad(op.outputs[0], grad)


@gradient("RsqrtGrad")
def rsqrt_grad(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = op.inputs
    by_y = multiply(multiply(conj(grad), dy), multiply(square(conj(y)), -1.5))
    return [by_y, math.rsqrt_grad(conj(y), grad)]


@gradient("Exp")
def exp(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, conj(op.outputs[0]))


@gradient("Expm1")
def expm1(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, math.exp(conj(op.inputs[0])))


@gradient("Log")
def log(op: Operation, grad: Tensor) -> Tensor:
    return realdiv(grad, conj(op.inputs[0]))


@gradient("Log1p")
def log1p(op: Operation, grad: Tensor) -> Tensor:
    return realdiv(grad, add_v2_op(conj(op.inputs[0]), _one(grad)))


@gradient("Sin")
def sin(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, math.cos(conj(op.inputs[0])))


@gradient("Cos")
def cos(op: Operation, grad: Tensor) -> Tensor:
    return multiply(negative(grad), math.sin(conj(op.inputs[0])))


@gradient("Tan")
def tan(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, square(reciprocal(math.cos(conj(op.inputs[0])))))


@gradient("Asin")
def asin(op: Operation, grad: Tensor) -> Tensor:
    return realdiv(grad, math.sqrt(subtract(_one(grad), square(conj(op.inputs[0])))))


@gradient("Acos")
def acos(op: Operation, grad: Tensor) -> Tensor:
    return negative(asin(op, grad))


@gradient("Atan")
def atan(op: Operation, grad: Tensor) -> Tensor:
    return realdiv(grad, add_v2_op(_one(grad), square(conj(op.inputs[0]))))


@gradient("Sinh")
def sinh(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, math.cosh(conj(op.inputs[0])))


@gradient("Cosh")
def cosh(op: Operation, grad: Tensor) -> Tensor:
    return multiply(grad, math.sinh(conj(op.inputs[0])))


@gradient("Tanh")
def tanh(op: Operation, grad: Tensor) -> Tensor:
    return math.tanh_grad(conj(op.outputs[0]), grad)


@gradient("TanhGrad")
def tanh_grad(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = op.inputs
    return [multiply(multiply(grad, conj(dy)), multiply(conj(y), -2)), math.tanh_grad(conj(y), grad)]


@gradient("Asinh")
def asinh(op: Operation, grad: Tensor) -> Tensor:
    return realdiv(grad, math.cosh(conj(op.outputs[0])))


@gradient("Acosh")
def acosh(op: Operation, grad: Tensor) -> Tensor:
    return realdiv(grad, math.sinh(conj(op.outputs[0])))


@gradient("Atanh")
def atanh(op: Operation, grad: Tensor) -> Tensor:
    return realdiv(grad, subtract(_one(grad), square(conj(op.inputs[0]))))


@gradient("Sigmoid")
def sigmoid(op: Operation, grad: Tensor) -> Tensor:
    return math.sigmoid_grad(conj(op.outputs[0]), grad)


@gradient("SigmoidGrad")
def sigmoid_grad(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = op.inputs
    slope = subtract(_one(y), multiply(conj(y), 2))
    return [multiply(multiply(grad, conj(dy)), slope), math.sigmoid_grad(conj(y), grad)]


@gradient("Conj")
def conjugate(op: Operation, grad: Tensor) -> Tensor:
    return conj(grad)


@gradient("Complex")
def complex(op: Operation, grad: Tensor) -> list[Any]:
    return _to_inputs(op, lambda: math.real(grad), lambda: math.imag(grad))


@gradient("Real")
def real(op: Operation, grad: Tensor) -> Tensor:
    return math.complex(grad, _zero(grad))


@gradient("Imag")
def imag(op: Operation, grad: Tensor) -> Tensor:
    return math.complex(_zero(grad), grad)


@gradient("Angle")
def angle(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    return multiply(negative(real(op, grad)), reciprocal(math.complex(math.imag(x), math.real(x))))


@gradient("ComplexAbs")
def complex_abs(op: Operation, grad: Tensor) -> Tensor:
    return multiply(real(op, grad), math.sign(op.inputs[0]))
