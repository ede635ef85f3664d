"""Gradients of element-wise arithmetic and elementary functions.

The gradient of a holomorphic function is the incoming gradient times the conjugate of the derivative; `conj` is a
no-op for real tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.graph.autodiff.registry import gradient, no_gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.autodiff.rules.derivatives import gradient_of_one
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import cast as cast_ops, comparison, math
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.math import add_v2_op, conj, multiply, negative, realdiv, reciprocal, square, subtract
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.ops.where import select_v2_op as select
from thalweg._src.graph.tensor import Tensor

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
    """Differentiates with respect to y with log(x), which is taken as 0 where x has no logarithm, as at 0.

    Factors are multiplied in TensorFlow's order, which decides what overflows in float16.
    """
    x, y = (conj(t) for t in op.inputs)
    z = conj(op.outputs[0])
    by_x = multiply(multiply(grad, y), math.pow(x, subtract(y, _one(y))))
    zero = _zero(x)
    has_log = comparison.not_equal(x, zero) if x.dtype.is_complex else comparison.greater(x, zero)
    log_x = select(has_log, math.log(select(has_log, x, _one(x))), zero)
    return _to_inputs(op, lambda: by_x, lambda: multiply(multiply(grad, z), log_x))


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


def _twice(x: Tensor) -> Tensor:
    return add_v2_op(x, x)


def _sine(cosine: Tensor) -> Tensor:
    """Returns sqrt(1 - x * x)."""
    return math.sqrt(subtract(_one(cosine), square(cosine)))


def _real(real: Tensor) -> Tensor:
    return math.complex(real, _zero(real))


# The gradients of functions of one tensor, from the incoming gradient, the input x and the output y.
_OF_ONE: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "Abs": lambda grad, x, y: multiply(grad, math.sign(x)),
    "Neg": lambda grad, x, y: negative(grad),
    "Sign": lambda grad, x, y: zeros_like(x),
    "Reciprocal": lambda grad, x, y: math.reciprocal_grad(y, grad),
    "Inv": lambda grad, x, y: math.reciprocal_grad(y, grad),
    "Square": lambda grad, x, y: multiply(grad, _twice(conj(x))),
    "Sqrt": lambda grad, x, y: math.sqrt_grad(y, grad),
    "Rsqrt": lambda grad, x, y: math.rsqrt_grad(y, grad),
    "Exp": lambda grad, x, y: multiply(grad, conj(y)),
    "Expm1": lambda grad, x, y: multiply(grad, math.exp(conj(x))),
    "Log": lambda grad, x, y: realdiv(grad, conj(x)),
    "Log1p": lambda grad, x, y: realdiv(grad, add_v2_op(conj(x), _one(grad))),
    "Sin": lambda grad, x, y: multiply(grad, math.cos(conj(x))),
    "Cos": lambda grad, x, y: multiply(negative(grad), math.sin(conj(x))),
    "Tan": lambda grad, x, y: multiply(grad, square(reciprocal(math.cos(conj(x))))),
    "Asin": lambda grad, x, y: realdiv(grad, _sine(conj(x))),
    "Acos": lambda grad, x, y: negative(realdiv(grad, _sine(conj(x)))),
    "Atan": lambda grad, x, y: realdiv(grad, add_v2_op(_one(grad), square(conj(x)))),
    "Sinh": lambda grad, x, y: multiply(grad, math.cosh(conj(x))),
    "Cosh": lambda grad, x, y: multiply(grad, math.sinh(conj(x))),
    "Tanh": lambda grad, x, y: math.tanh_grad(conj(y), grad),
    "Asinh": lambda grad, x, y: realdiv(grad, math.cosh(conj(y))),
    "Acosh": lambda grad, x, y: realdiv(grad, math.sinh(conj(y))),
    "Atanh": lambda grad, x, y: realdiv(grad, subtract(_one(grad), square(conj(x)))),
    "Sigmoid": lambda grad, x, y: math.sigmoid_grad(conj(y), grad),
    "Conj": lambda grad, x, y: conj(grad),
    "Real": lambda grad, x, y: _real(grad),
    "Imag": lambda grad, x, y: math.complex(_zero(grad), grad),
    "Angle": lambda grad, x, y: multiply(negative(_real(grad)), reciprocal(math.complex(math.imag(x), math.real(x)))),
    "ComplexAbs": lambda grad, x, y: multiply(_real(grad), math.sign(x)),
}
for _op_type, _rule in _OF_ONE.items():
    gradient_of_one(_op_type, _rule)


@gradient("ReciprocalGrad", "InvGrad")
def reciprocal_grad(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = op.inputs
    return [multiply(multiply(multiply(conj(grad), dy), conj(y)), -2), math.reciprocal_grad(conj(y), grad)]


@gradient("SqrtGrad")
def sqrt_grad(op: Operation, grad: Tensor) -> list[Any]:
    shared = realdiv(grad, op.inputs[0])
    return [negative(multiply(conj(shared), op.outputs[0])), multiply(shared, 0.5)]


@gradient("RsqrtGrad")
def rsqrt_grad(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = op.inputs
    by_y = multiply(multiply(conj(grad), dy), multiply(square(conj(y)), -1.5))
    return [by_y, math.rsqrt_grad(conj(y), grad)]


@gradient("TanhGrad")
def tanh_grad(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = op.inputs
    return [multiply(multiply(grad, conj(dy)), multiply(conj(y), -2)), math.tanh_grad(conj(y), grad)]


@gradient("SigmoidGrad")
def sigmoid_grad(op: Operation, grad: Tensor) -> list[Any]:
    y, dy = op.inputs
    slope = subtract(_one(y), multiply(conj(y), 2))
    return [multiply(multiply(grad, conj(dy)), slope), math.sigmoid_grad(conj(y), grad)]


@gradient("Complex")
def complex(op: Operation, grad: Tensor) -> list[Any]:
    return _to_inputs(op, lambda: math.real(grad), lambda: math.imag(grad))
