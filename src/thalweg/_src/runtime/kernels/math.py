"""Kernels of element-wise arithmetic, elementary functions, casts and add_n."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import compatible, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.tensor_list import add_lists
from thalweg._src.runtime.kernels.types import TORCH, UNSIGNED
from thalweg._src.runtime.kernels.unsigned import SAME_BITS, by_bits, by_order, by_value, on_host
from thalweg._src.runtime.resources.devices import Device

Function = Callable[..., Any]

_ANALYTIC = dtypes.FLOATING | dtypes.COMPLEX
_NARROW = dtypes.NUMERIC - set(UNSIGNED)

# torch builtins with TensorFlow's semantics for all types that they accept.
_PLAIN: dict[str, Function] = {
    "Add": torch.add,
    "AddV2": torch.add,
    "Sub": torch.sub,
    "Mul": torch.mul,
    "Maximum": torch.maximum,
    "Minimum": torch.minimum,
    "Abs": torch.abs,
    "Neg": torch.neg,
    "Square": torch.square,
}
_PLAIN_ANALYTIC: dict[str, Function] = {
    "Div": torch.div,
    "RealDiv": torch.div,
    "Sign": torch.sgn,
    "Reciprocal": torch.reciprocal,
    "Inv": torch.reciprocal,
    "Sqrt": torch.sqrt,
    "Rsqrt": torch.rsqrt,
    "Exp": torch.exp,
    "Expm1": torch.expm1,
    "Log": torch.log,
    "Log1p": torch.log1p,
    "Sin": torch.sin,
    "Cos": torch.cos,
    "Tan": torch.tan,
    "Asin": torch.asin,
    "Acos": torch.acos,
    "Atan": torch.atan,
    "Sinh": torch.sinh,
    "Cosh": torch.cosh,
    "Tanh": torch.tanh,
    "Asinh": torch.asinh,
    "Acosh": torch.acosh,
    "Atanh": torch.atanh,
    "Sigmoid": torch.sigmoid,
}
_PLAIN_FLOATING: dict[str, Function] = {
    "Mod": torch.fmod,
    "TruncateMod": torch.fmod,
    "FloorMod": torch.remainder,
    "Atan2": torch.atan2,
    "NextAfter": torch.nextafter,
    "Ceil": torch.ceil,
    "Floor": torch.floor,
    "Rint": torch.round,
    "Round": torch.round,
}
_PLAIN_COMPLEX: dict[str, Function] = {
    "Conj": torch.conj,
    "Real": torch.real,
    "Imag": torch.imag,
    "Angle": torch.angle,
    "ComplexAbs": torch.abs,
}


@kernel(*_PLAIN, T=_NARROW)
@kernel(*_PLAIN_ANALYTIC, T=_ANALYTIC)
@kernel(*_PLAIN_FLOATING, T=dtypes.FLOATING)
@kernel(*_PLAIN_COMPLEX, T=dtypes.COMPLEX)
@kernel("Sign", "Round", T=dtypes.SIGNED_INTEGERS)
def bind_plain(node: Node, device: Device) -> Function:
    return _FUNCTIONS[node.type]


_FUNCTIONS = {**_PLAIN, **_PLAIN_ANALYTIC, **_PLAIN_FLOATING, **_PLAIN_COMPLEX}


@kernel("AddV2", "Sub", "Mul", T=UNSIGNED)
def bind_unsigned(node: Node, device: Device) -> Call:
    return by_bits(_PLAIN[node.type], node.attrs["T"], 2)


@kernel("Square", T=UNSIGNED)
def bind_unsigned_square(node: Node, device: Device) -> Call:
    return by_bits(torch.square, node.attrs["T"], 1)


@kernel("Maximum", "Minimum", T=UNSIGNED)
def bind_unsigned_extreme(node: Node, device: Device) -> Call:
    return by_order(_PLAIN[node.type], node.attrs["T"], 2, returns_number=True)


plain_kernel("Add", devices=("CPU",), T=(dtypes.string,))(lambda x, y: np.asarray(np.add(x, y), dtype=object))


# Integer division.


def _quotient(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Divides with truncation. The minimum by -1 wraps around, where torch's own rounding would crash the process."""
    return torch.floor_divide(torch.sub(x, torch.fmod(x, y)), y)


_INTEGER_DIVISION: dict[str, Function] = {
    "Div": _quotient,
    "TruncateDiv": _quotient,
    "FloorDiv": torch.floor_divide,
    "Mod": torch.fmod,
    "TruncateMod": torch.fmod,
    "FloorMod": torch.remainder,
}


@kernel(*_INTEGER_DIVISION, T=dtypes.INTEGERS - set(UNSIGNED))
def bind_integer_division(node: Node, device: Device) -> Function:
    return _divided(_INTEGER_DIVISION[node.type], node)


@kernel(*_INTEGER_DIVISION, T=(dtypes.uint16, dtypes.uint32))
def bind_unsigned_division(node: Node, device: Device) -> Call:
    return by_value(_divided(_INTEGER_DIVISION[node.type], node), node.attrs["T"], 2)


@kernel(*_INTEGER_DIVISION, devices=("CPU",), T=(dtypes.uint64,))
def bind_long_division(node: Node, device: Device) -> Function:
    function = np.floor_divide if node.type in ("Div", "TruncateDiv", "FloorDiv") else np.remainder

    def divide(x: torch.Tensor, y: torch.Tensor) -> Any:
        if not y.all():
            raise RuntimeError("ZeroDivisionError")
        return function(x, y)

    return _divided(on_host(divide), node)


def _divided(function: Function, node: Node) -> Function:
    """Reports a division by zero; a constant divisor needs no check at run time.

    A GPU finds no zeros, so those of a constant are found here.
    """
    divisor = node.constant(1)
    if divisor is not None and divisor.all():
        return function

    def divide(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        try:
            quotient: torch.Tensor = function(x, y)
        except RuntimeError as error:
            if "ZeroDivisionError" in str(error):
                raise invalid("Integer division by zero") from None
            raise
        if divisor is not None and quotient.numel():
            raise invalid("Integer division by zero")
        return quotient

    return divide


# Division and products with defined results at 0, and powers.


plain_kernel("FloorDiv", T=dtypes.FLOATING)(Call(torch.floor, (Call(torch.div, (Input(0), Input(1))),)))
plain_kernel("TruncateDiv", T=dtypes.FLOATING)(Call(torch.trunc, (Call(torch.div, (Input(0), Input(1))),)))


def _zero_where_zero(result: Call, index: int) -> Call:
    """Returns 0 where an input is 0."""
    return Call(torch.masked_fill, (result, Call(torch.eq, (Input(index), 0)), 0))


@kernel("MulNoNan", "DivNoNan")
def bind_zero_by_y(node: Node, device: Device) -> Call:
    function = torch.mul if node.type == "MulNoNan" else torch.div
    return _zero_where_zero(Call(function, (Input(0), Input(1))), 1)


plain_kernel("Xdivy")(_zero_where_zero(Call(torch.div, (Input(0), Input(1))), 0))
plain_kernel("Xlogy")(_zero_where_zero(Call(torch.mul, (Input(0), Call(torch.log, (Input(1),)))), 0))
plain_kernel("Xlog1py")(_zero_where_zero(Call(torch.mul, (Input(0), Call(torch.log1p, (Input(1),)))), 0))


@kernel("Pow", T=_ANALYTIC)
def bind_pow(node: Node, device: Device) -> Function | Call:
    """Specializes on a constant exponent: most powers are squares."""
    exponent = node.constant(1)
    if exponent is None or exponent.shape != ():
        return torch.pow
    number = exponent.astype(np.float64 if node.attrs["T"].is_floating else np.complex128).item()
    return Call(torch.square, (Input(0),)) if number == 2 else Call(torch.pow, (Input(0), number))


@kernel("Pow", T=dtypes.SIGNED_INTEGERS)
def bind_integer_pow(node: Node, device: Device) -> Function:
    exponent = node.constant(1)
    if device.type != "CPU" or (exponent is not None and (exponent >= 0).all()):
        return torch.pow

    def power(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if (y < 0).any():
            raise invalid("an integer was raised to a negative power; hint: tf.cast to a floating type")
        return torch.pow(x, y)

    return power


@kernel("SquaredDifference")
def bind_squared_difference(node: Node, device: Device) -> Function | Call:
    if not node.attrs["T"].is_complex:
        return Call(torch.square, (Call(torch.sub, (Input(0), Input(1))),))

    def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        difference = torch.sub(x, y)
        return torch.mul(difference, torch.conj(difference))

    return product


@kernel("ClipByValue", T=dtypes.REAL - set(UNSIGNED))
def bind_clip_by_value(node: Node, device: Device) -> Call:
    low, high = node.constant(1), node.constant(2)
    if low is not None and high is not None and low.shape == high.shape == () and low <= high:
        return Call(torch.clamp, (Input(0), _plain_number(low), _plain_number(high)))
    shape = node.input_shape(0)
    is_static = shape is not None and None not in shape
    if is_static and all(node.input_shape(i) in ((), shape) for i in (1, 2)):
        return Call(torch.maximum, (Call(torch.minimum, (Input(0), Input(2))), Input(1)))
    return Call(_clip, (Input(0), Input(1), Input(2)))


def _plain_number(value: np.ndarray[Any, Any]) -> int | float:
    return int(value) if value.dtype.kind in "iu" else float(value)


@kernel("ClipByValue", T=UNSIGNED)
def bind_unsigned_clip(node: Node, device: Device) -> Call:
    return by_order(_clip, node.attrs["T"], 3, returns_number=True)


def _clip(t: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    for limit in (low, high):
        if limit.shape and limit.shape != t.shape:
            raise errors.ShapeError("a limit has another shape than the value", expected="scalars, or its shape")
    return torch.maximum(torch.minimum(t, high), low)


# Derivatives in terms of the function's value. Scalars are tensors here: torch takes twice as long for Python numbers.


def _conjugate(index: int, node: Node) -> Input | Call:
    return Call(torch.conj, (Input(index),)) if node.attrs["T"].is_complex else Input(index)


def _number(value: float, node: Node) -> torch.Tensor:
    return torch.tensor(value, dtype=TORCH[node.attrs["T"]])


def _dy(node: Node) -> Input | Call:
    """Returns dy after checking that it has the shape of y, since torch would broadcast them."""
    shape = node.input_shape(0)
    is_equal = shape is not None and None not in shape and shape == node.input_shape(1)
    return Input(1) if is_equal else Call(_alike, (Input(1), Input(0)))


def _alike(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if dy.shape != y.shape:
        raise errors.ShapeError(f"y and dy have shapes {show(tuple(y.shape))} and {show(tuple(dy.shape))}")
    return dy


@kernel("TanhGrad")
def bind_tanh_grad(node: Node, device: Device) -> Call:
    # torch conjugates y, unlike the op.
    return Call(torch.ops.aten.tanh_backward.default, (_dy(node), _conjugate(0, node)))


@kernel("SigmoidGrad")
def bind_sigmoid_grad(node: Node, device: Device) -> Call:
    return Call(torch.ops.aten.sigmoid_backward.default, (_dy(node), _conjugate(0, node)))


@kernel("SqrtGrad")
def bind_sqrt_grad(node: Node, device: Device) -> Call:
    return _zero_where_zero(Call(torch.div, (Call(torch.mul, (_dy(node), _number(0.5, node))), _conjugate(0, node))), 1)


@kernel("ReciprocalGrad", "InvGrad")
def bind_reciprocal_grad(node: Node, device: Device) -> Call:
    product = Call(torch.mul, (Call(torch.neg, (_dy(node),)), Call(torch.square, (_conjugate(0, node),))))
    return _zero_where_zero(product, 1)


@kernel("RsqrtGrad")
def bind_rsqrt_grad(node: Node, device: Device) -> Call:
    half = Call(torch.mul, (_dy(node), _number(-0.5, node)))
    return _zero_where_zero(Call(torch.mul, (half, Call(torch.pow, (_conjugate(0, node), 3)))), 1)


@kernel("Complex")
def bind_complex(node: Node, device: Device) -> Function:
    if node.input_shape(0) is not None and node.input_shape(0) == node.input_shape(1):
        return torch.complex
    return lambda real, imag: torch.complex(*torch.broadcast_tensors(real, imag))  # type: ignore[no-untyped-call]


@kernel("AddN", "AccumulateNV2")
def bind_add_n(node: Node, device: Device) -> Function | Call:
    """Adds into one fresh tensor; static shapes that are equal are not checked again."""
    dtype = TORCH[node.attrs["T"]]
    shape, declared = node.input_shape(0), node.attrs.get("shape")
    count = len(node.inputs)
    same = shape is not None and None not in shape and all(node.input_shape(i) == shape for i in range(count))
    if same and 2 <= count <= 16 and dtype not in SAME_BITS:
        total = Call(torch.add, (Input(0), Input(1)))
        for index in range(2, count):
            total = Call(torch.Tensor.add_, (total, Input(index)))
        return total

    def add_n(*values: torch.Tensor) -> torch.Tensor:
        first = values[0]
        if not compatible(declared, tuple(first.shape)):
            raise errors.ShapeError(f"input 0 has shape {show(tuple(first.shape))}", expected=show(declared))
        for index, value in enumerate(values):
            if value.shape != first.shape:
                raise errors.ShapeError(
                    f"shapes of inputs 0 and {index} differ: {show(tuple(first.shape))} and {show(tuple(value.shape))}",
                    expected="inputs of one shape",
                )
        if len(values) == 1:
            return first
        if dtype in SAME_BITS:
            return _total([value.view(SAME_BITS[dtype]) for value in values]).view(dtype)
        return _total(values)

    return add_n


plain_kernel("AddN", T=[dtypes.variant])(add_lists)


def _total(values: Any) -> torch.Tensor:
    total = torch.add(values[0], values[1])
    for value in values[2:]:
        total.add_(value)
    return total
