"""Comparisons, tests of numbers, logic and bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src import dtypes, shapes
from thalweg._src.errors import ShapeError
from thalweg._src.export import export
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import Infer, OpDef, op
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.math import binary, unary
from thalweg._src.ops.shape_functions import broadcast_inputs, merged_inputs, unchanged
from thalweg._src.shapes import Shape


def _comparison(name: str, types: Any, doc: str, infer: Infer = broadcast_inputs, **facts: Any) -> OpDef:
    return op(name, "x: T, y: T -> z: bool", T=types, infer=infer, differentiable=False, doc=doc, **facts)


def _predicate(name: str, doc: str) -> OpDef:
    return op(
        name, "x: T -> y: bool", T=dtypes.FLOATING, infer=unchanged, differentiable=False, traceable=True, doc=doc
    )


def _logical(name: str, doc: str) -> OpDef:
    return op(
        name,
        "x: bool, y: bool -> z: bool",
        infer=broadcast_inputs,
        commutative=True,
        differentiable=False,
        traceable=True,
        fails="never",
        doc=doc,
    )


def _equality(c: Inference) -> Sequence[Shape]:
    """Shapes broadcast; unless that is an error, ones that do not make the whole comparison a single answer."""
    if c.attrs["incompatible_shape_error"]:
        return broadcast_inputs(c)
    try:
        result = shapes.broadcast(*c.shapes)
    except ShapeError:
        return [()]
    return [result if all(s is not None and None not in s for s in c.shapes) else None]


less = export("less", "math.less")(_comparison("Less", dtypes.REAL, "x < y.", traceable=True))
less_equal = export("less_equal", "math.less_equal")(_comparison("LessEqual", dtypes.REAL, "x <= y.", traceable=True))
greater = export("greater", "math.greater")(_comparison("Greater", dtypes.REAL, "x > y.", traceable=True))
greater_equal = export("greater_equal", "math.greater_equal")(
    _comparison("GreaterEqual", dtypes.REAL, "x >= y.", traceable=True)
)
equal_op = _comparison(
    "Equal",
    attr.types(),
    "x == y.",
    _equality,
    incompatible_shape_error=attr.boolean(True),
    commutative=True,
    traceable=True,
)
not_equal_op = _comparison(
    "NotEqual",
    attr.types(),
    "x != y.",
    _equality,
    incompatible_shape_error=attr.boolean(True),
    commutative=True,
    traceable=True,
)
approximate_equal = _comparison(
    "ApproximateEqual",
    dtypes.NUMERIC | dtypes.QUANTIZED,
    "|x - y| < tolerance.",
    merged_inputs,
    tolerance=1e-5,
    commutative=True,
)

is_nan = export("is_nan", "debugging.is_nan", "math.is_nan")(_predicate("IsNan", "Whether x is not a number."))
is_inf = export("is_inf", "debugging.is_inf", "math.is_inf")(_predicate("IsInf", "Whether x is infinite."))
is_finite = export("is_finite", "debugging.is_finite", "math.is_finite")(
    _predicate("IsFinite", "Whether x is neither infinite nor not a number.")
)

logical_and = export("logical_and", "math.logical_and")(_logical("LogicalAnd", "x and y."))
logical_or = export("logical_or", "math.logical_or")(_logical("LogicalOr", "x or y."))
logical_not = export("logical_not", "math.logical_not")(
    op(
        "LogicalNot",
        "x: bool -> y: bool",
        infer=unchanged,
        differentiable=False,
        doc="not x.",
        traceable=True,
        fails="never",
    )
)

bitwise_and = export("bitwise.bitwise_and")(
    binary("BitwiseAnd", dtypes.INTEGERS, "x & y.", commutative=True, differentiable=False)
)
bitwise_or = export("bitwise.bitwise_or")(
    binary("BitwiseOr", dtypes.INTEGERS, "x | y.", commutative=True, differentiable=False)
)
bitwise_xor = export("bitwise.bitwise_xor")(
    binary("BitwiseXor", dtypes.INTEGERS, "x ^ y.", commutative=True, differentiable=False)
)
left_shift = export("bitwise.left_shift")(binary("LeftShift", dtypes.INTEGERS, "x << y.", differentiable=False))
right_shift = export("bitwise.right_shift")(binary("RightShift", dtypes.INTEGERS, "x >> y.", differentiable=False))
invert = export("bitwise.invert")(unary("Invert", dtypes.INTEGERS, "Every bit changed.", differentiable=False))


@export("equal", "math.equal")
def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns whether x == y, element by element."""
    return equal_op(x, y, name=name)


@export("not_equal", "math.not_equal")
def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns whether x != y, element by element."""
    return not_equal_op(x, y, name=name)


@export("logical_xor", "math.logical_xor")
def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """Returns whether exactly one of x and y is true."""
    return not_equal_op(x, y, T=dtypes.bool, name=name)
