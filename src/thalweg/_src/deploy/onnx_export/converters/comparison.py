"""Converters of comparisons and logic."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.converters.math import computed_as
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


def _comparison(onnx_type: str, op: str) -> None:
    @converter(op)
    def convert(w: GraphWriter, node: Node, x: str, y: str) -> str:
        return w.add(onnx_type, *_comparable(w, node, x, y))


def _comparable(w: GraphWriter, node: Node, *inputs: str) -> list[str]:
    """Returns inputs in a type that runtimes compare."""
    source = node.input_dtype(0).base_dtype
    return [w.cast(x, computed_as(source), source) for x in inputs]


_comparison("Less", "Less")
_comparison("LessOrEqual", "LessEqual")
_comparison("Greater", "Greater")
_comparison("GreaterOrEqual", "GreaterEqual")
_comparison("Equal", "Equal")


@converter("NotEqual")
def not_equal(w: GraphWriter, node: Node, x: str, y: str) -> str:
    return w.add("Not", w.add("Equal", *_comparable(w, node, x, y)))


@converter("ApproximateEqual")
def approximate_equal(w: GraphWriter, node: Node, x: str, y: str) -> str:
    x, y = _comparable(w, node, x, y)
    tolerance = w.like(node.attrs["tolerance"], computed_as(node.input_dtype(0)))
    return w.add("Less", w.add("Abs", w.add("Sub", x, y)), tolerance)


@converter("LogicalAnd")
def logical_and(w: GraphWriter, node: Node, x: str, y: str) -> str:
    return w.add("And", x, y)


@converter("LogicalOr")
def logical_or(w: GraphWriter, node: Node, x: str, y: str) -> str:
    return w.add("Or", x, y)


@converter("LogicalNot")
def logical_not(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("Not", x)


@converter("IsNan")
def is_nan(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("IsNaN", x)


@converter("IsInf")
def is_inf(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("IsInf", w.cast(x, dtypes.float32, node.input_dtype(0)))


@converter("IsFinite")
def is_finite(w: GraphWriter, node: Node, x: str) -> str:
    single = w.cast(x, dtypes.float32, node.input_dtype(0))
    return w.add("Not", w.add("Or", w.add("IsNaN", single), w.add("IsInf", single)))


def _bitwise(onnx_type: str, op: str) -> None:
    @converter(op)
    def convert(w: GraphWriter, node: Node, *inputs: str) -> str:
        return w.add(onnx_type, *inputs)


_bitwise("BitwiseAnd", "BitwiseAnd")
_bitwise("BitwiseOr", "BitwiseOr")
_bitwise("BitwiseXor", "BitwiseXor")
_bitwise("BitwiseNot", "Invert")


@converter("LeftShift", "RightShift")
def shift(w: GraphWriter, node: Node, x: str, y: str) -> str:
    """Shifts unsigned integers; a signed one is multiplied, or divided and rounded down, by a power of two."""
    dtype, is_left = node.dtypes[0], node.type == "LeftShift"
    if dtype.is_unsigned:
        return w.add("BitShift", x, y, direction="LEFT" if is_left else "RIGHT")
    wide, count = w.cast(x, dtypes.int64), w.cast(y, dtypes.int64)
    power = w.add("Pow", w.like(2, dtypes.int64), count)
    if is_left:
        return w.cast(w.add("Mul", wide, power), dtype)
    return w.cast(w.add("Div", w.add("Sub", wide, w.add("Mod", wide, power)), power), dtype)
