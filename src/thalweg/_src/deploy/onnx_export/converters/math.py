"""Converters of arithmetic: ONNX has most functions, for fewer types; others are composed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node

_SMALL = {dtypes.uint8, dtypes.int8, dtypes.uint16, dtypes.int16}  # computed as int32; casts back wrap around
_WIDE = {dtypes.uint32: dtypes.int64, dtypes.uint64: dtypes.int64, dtypes.bfloat16: dtypes.float32}


def computed_as(dtype: DType) -> DType:
    """Returns the type in which arithmetic on a type is done, since runtimes lack it for small integers."""
    return dtypes.int32 if dtype in _SMALL else _WIDE.get(dtype, dtype)


def widened(w: GraphWriter, node: Node, compute: Callable[..., str], *inputs: str) -> str:
    """Computes in a type that runtimes support, and converts the result to that of the node's output."""
    source = node.input_dtype(0).base_dtype
    wide = computed_as(source)
    if wide is source:
        return compute(*inputs)
    result = compute(*(w.cast(x, wide) for x in inputs))
    return w.cast(result, node.dtypes[0])


def _direct(onnx_type: str, *ops: str) -> None:
    """Registers ops that ONNX has under another name."""

    @converter(*ops)
    def convert(w: GraphWriter, node: Node, *inputs: str) -> str:
        return widened(w, node, lambda *wide: w.add(onnx_type, *wide), *inputs)


_direct("Add", "Add", "AddV2")
_direct("Sub", "Sub")
_direct("Mul", "Mul")
_direct("Div", "RealDiv")
_direct("Abs", "Abs")
_direct("Neg", "Neg")
_direct("Sign", "Sign")
_direct("Pow", "Pow")
_direct("Max", "Maximum")
_direct("Min", "Minimum")


def _in_floats(onnx_type: str, *ops: str) -> None:
    """Registers functions of real numbers, which runtimes may have for float32 alone."""

    @converter(*ops)
    def convert(w: GraphWriter, node: Node, x: str) -> str:
        return in_single(w, node, lambda wide: w.add(onnx_type, wide), x)


def in_single(w: GraphWriter, node: Node, compute: Callable[..., str], *inputs: str) -> str:
    """Computes in float32 unless the type is float32."""
    if node.dtypes[0] is dtypes.float32:
        return compute(*inputs)
    return w.cast(compute(*(w.cast(x, dtypes.float32) for x in inputs)), node.dtypes[0])


_direct("Sqrt", "Sqrt")
_direct("Exp", "Exp")
_direct("Log", "Log")
_direct("Floor", "Floor")
_direct("Ceil", "Ceil")
_direct("Tanh", "Tanh")
_direct("Sigmoid", "Sigmoid")
_direct("Sin", "Sin")
_direct("Cos", "Cos")
_in_floats("Tan", "Tan")
_in_floats("Asin", "Asin")
_in_floats("Acos", "Acos")
_in_floats("Atan", "Atan")
_in_floats("Sinh", "Sinh")
_in_floats("Cosh", "Cosh")
_in_floats("Asinh", "Asinh")
_in_floats("Acosh", "Acosh")
_in_floats("Atanh", "Atanh")
_in_floats("Erf", "Erf")


@converter("Erfc")
def erfc(w: GraphWriter, node: Node, x: str) -> str:
    one = w.like(1, dtypes.float32)
    return in_single(w, node, lambda wide: w.add("Sub", one, w.add("Erf", wide)), x)


@converter("Round", "Rint")
def round_to_even(w: GraphWriter, node: Node, x: str) -> str:
    return x if node.dtypes[0].is_integer else w.add("Round", x)


@converter("Square")
def square(w: GraphWriter, node: Node, x: str) -> str:
    return widened(w, node, lambda wide: w.add("Mul", wide, wide), x)


@converter("Reciprocal", "Inv")
def reciprocal(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("Reciprocal", x) if node.dtypes[0].is_floating else w.add("Div", w.like(1, node.dtypes[0]), x)


@converter("Rsqrt")
def rsqrt(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("Reciprocal", w.add("Sqrt", x))


@converter("Expm1")
def expm1(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("Sub", w.add("Exp", x), w.like(1, node.dtypes[0]))


@converter("Log1p")
def log1p(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("Log", w.add("Add", x, w.like(1, node.dtypes[0])))


@converter("SquaredDifference")
def squared_difference(w: GraphWriter, node: Node, x: str, y: str) -> str:
    def compute(a: str, b: str) -> str:
        difference = w.add("Sub", a, b)
        return w.add("Mul", difference, difference)

    return widened(w, node, compute, x, y)


@converter("AddN", "AccumulateNV2")
def add_n(w: GraphWriter, node: Node, *inputs: str) -> str:
    if len(inputs) == 1:
        return inputs[0]
    if node.dtypes[0].is_floating:
        return w.add("Sum", *inputs)

    def compute(*wide: str) -> str:
        total = wide[0]
        for term in wide[1:]:
            total = w.add("Add", total, term)
        return total

    return widened(w, node, compute, *inputs)


# -- division ---------------------------------------------------------------------------------------------------------


@converter("Div", "TruncateDiv")
def truncate_div(w: GraphWriter, node: Node, x: str, y: str) -> str:
    """ONNX rounds quotients of integers toward zero too."""
    return widened(w, node, lambda a, b: w.add("Div", a, b), x, y)


@converter("FloorDiv")
def floor_div(w: GraphWriter, node: Node, x: str, y: str) -> str:
    dtype = node.dtypes[0]
    if dtype.is_floating:
        return w.add("Floor", w.add("Div", x, y))

    def compute(a: str, b: str) -> str:
        """Subtracts the remainder, which has the sign of the divisor, before it divides."""
        return w.add("Div", w.add("Sub", a, w.add("Mod", a, b)), b)

    return widened(w, node, compute, x, y)


@converter("FloorMod")
def floor_mod(w: GraphWriter, node: Node, x: str, y: str) -> str:
    if not node.dtypes[0].is_floating:
        return widened(w, node, lambda a, b: w.add("Mod", a, b), x, y)
    return w.add("Sub", x, w.add("Mul", w.add("Floor", w.add("Div", x, y)), y))


@converter("Mod", "TruncateMod")
def truncate_mod(w: GraphWriter, node: Node, x: str, y: str) -> str:
    return widened(w, node, lambda a, b: w.add("Mod", a, b, fmod=1), x, y)


def _unless_zero(w: GraphWriter, node: Node, zero: str, result: str) -> str:
    """Returns 0 where a factor is 0, even if the other is not finite."""
    nothing = w.like(0, node.dtypes[0])
    return w.add("Where", w.add("Equal", zero, nothing), nothing, result)


@converter("DivNoNan")
def div_no_nan(w: GraphWriter, node: Node, x: str, y: str) -> str:
    return _unless_zero(w, node, y, w.add("Div", x, y))


@converter("MulNoNan")
def mul_no_nan(w: GraphWriter, node: Node, x: str, y: str) -> str:
    return _unless_zero(w, node, y, w.add("Mul", x, y))


@converter("Xdivy")
def xdivy(w: GraphWriter, node: Node, x: str, y: str) -> str:
    return _unless_zero(w, node, x, w.add("Div", x, y))


@converter("Xlogy")
def xlogy(w: GraphWriter, node: Node, x: str, y: str) -> str:
    return _unless_zero(w, node, x, w.add("Mul", x, w.add("Log", y)))


@converter("Xlog1py")
def xlog1py(w: GraphWriter, node: Node, x: str, y: str) -> str:
    return _unless_zero(w, node, x, w.add("Mul", x, w.add("Log", w.add("Add", y, w.like(1, node.dtypes[0])))))


@converter("Atan2")
def atan2(w: GraphWriter, node: Node, y: str, x: str) -> str:
    """Turns the angle of the quotient into that of the quadrant."""

    def compute(b: str, a: str) -> str:
        zero, pi, half = (w.like(value, dtypes.float32) for value in (0, math.pi, math.pi / 2))
        angle = w.add("Atan", w.add("Div", b, a))
        is_below = w.add("Less", b, zero)
        turn = w.add("Where", is_below, w.add("Neg", pi), pi)
        left = w.add("Where", w.add("Less", a, zero), w.add("Add", angle, turn), angle)
        upright = w.add("Where", is_below, w.add("Neg", half), w.add("Where", w.add("Greater", b, zero), half, zero))
        return w.add("Where", w.add("Equal", a, zero), upright, left)

    return in_single(w, node, compute, y, x)


@converter("ClipByValue")
def clip_by_value(w: GraphWriter, node: Node, x: str, low: str, high: str) -> str:
    def compute(*wide: str) -> Any:
        return w.add("Min", w.add("Max", wide[0], wide[1]), wide[2])

    return widened(w, node, compute, x, low, high)
