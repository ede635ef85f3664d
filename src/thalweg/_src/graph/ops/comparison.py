"""Comparisons, floating-point predicates, logical and bitwise operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape
from thalweg._src.graph import attr
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import Infer, OpDef
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.math import binary, unary
from thalweg._src.graph.ops.shape_functions import broadcast_inputs, merged_inputs, unchanged
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _comparison(name: str, types: Any, doc: str, infer: Infer = broadcast_inputs, **facts: Any) -> OpDef:
    return nondifferentiable_op(name, "x: T, y: T -> z: bool", doc, T=types, infer=infer, **facts)


def _predicate(name: str, doc: str) -> OpDef:
    return nondifferentiable_op(name, "x: T -> y: bool", doc, T=dtypes.FLOATING, infer=unchanged, traceable=True)


def _logical(name: str, doc: str) -> OpDef:
    return nondifferentiable_op(
        name,
        "x: bool, y: bool -> z: bool",
        doc,
        infer=broadcast_inputs,
        commutative=True,
        traceable=True,
        fails="never",
    )


def _equality(c: Inference) -> Sequence[Shape]:
    """Broadcasts shapes; unless that is an error, incompatible shapes make the result a single scalar."""
    if c.attrs["incompatible_shape_error"]:
        return broadcast_inputs(c)
    try:
        result = shapes.broadcast(c.shapes[0], c.shapes[1])
    except ShapeError:
        return [()]
    return [result if all(s is not None and None not in s for s in c.shapes) else None]


less = export("less", "math.less")(
    _comparison("Less", dtypes.REAL, "Returns whether x < y, element-wise.", traceable=True)
)
less_equal = export("less_equal", "math.less_equal")(
    _comparison("LessEqual", dtypes.REAL, "Returns whether x <= y, element-wise.", traceable=True)
)
greater = export("greater", "math.greater")(
    _comparison("Greater", dtypes.REAL, "Returns whether x > y, element-wise.", traceable=True)
)
greater_equal = export("greater_equal", "math.greater_equal")(
    _comparison("GreaterEqual", dtypes.REAL, "Returns whether x >= y, element-wise.", traceable=True)
)
equal_op = _comparison(
    "Equal",
    attr.types(),
    "Returns whether x == y, element-wise.",
    _equality,
    incompatible_shape_error=attr.boolean(True),
    commutative=True,
    traceable=True,
)
not_equal_op = _comparison(
    "NotEqual",
    attr.types(),
    "Returns whether x != y, element-wise.",
    _equality,
    incompatible_shape_error=attr.boolean(True),
    commutative=True,
    traceable=True,
)
approximate_equal = _comparison(
    "ApproximateEqual",
    dtypes.NUMERIC | dtypes.QUANTIZED,
    "Returns whether |x - y| < tolerance, element-wise.",
    merged_inputs,
    tolerance=1e-5,
    commutative=True,
)

is_nan = export("is_nan", "debugging.is_nan", "math.is_nan")(
    _predicate("IsNan", "Returns whether x is NaN, element-wise.")
)
is_inf = export("is_inf", "debugging.is_inf", "math.is_inf")(
    _predicate("IsInf", "Returns whether x is infinite, element-wise.")
)
is_finite = export("is_finite", "debugging.is_finite", "math.is_finite")(
    _predicate("IsFinite", "Returns whether x is neither infinite nor NaN, element-wise.")
)

logical_and = export("logical_and", "math.logical_and")(
    _logical("LogicalAnd", "Computes the logical AND of x and y, element-wise.")
)
logical_or = export("logical_or", "math.logical_or")(
    _logical("LogicalOr", "Computes the logical OR of x and y, element-wise.")
)
logical_not = export("logical_not", "math.logical_not")(
    nondifferentiable_op(
        "LogicalNot",
        "x: bool -> y: bool",
        "Computes the logical NOT of x, element-wise.",
        infer=unchanged,
        traceable=True,
        fails="never",
    )
)

bitwise_and = export("bitwise.bitwise_and")(
    binary(
        "BitwiseAnd",
        dtypes.INTEGERS,
        "Computes the bitwise AND of x and y, element-wise.",
        commutative=True,
        differentiable=False,
    )
)
bitwise_or = export("bitwise.bitwise_or")(
    binary(
        "BitwiseOr",
        dtypes.INTEGERS,
        "Computes the bitwise OR of x and y, element-wise.",
        commutative=True,
        differentiable=False,
    )
)
bitwise_xor = export("bitwise.bitwise_xor")(
    binary(
        "BitwiseXor",
        dtypes.INTEGERS,
        "Computes the bitwise XOR of x and y, element-wise.",
        commutative=True,
        differentiable=False,
    )
)
left_shift = export("bitwise.left_shift", y="The number of bits.")(
    binary(
        "LeftShift", dtypes.INTEGERS, "Shifts the bits of x left by y positions, element-wise.", differentiable=False
    )
)
right_shift = export("bitwise.right_shift", y="The number of bits.")(
    binary(
        "RightShift", dtypes.INTEGERS, "Shifts the bits of x right by y positions, element-wise.", differentiable=False
    )
)
invert = export("bitwise.invert")(
    unary("Invert", dtypes.INTEGERS, "Inverts every bit of x, element-wise.", differentiable=False)
)


@export("equal", "math.equal")
@dispatches
def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether x == y, element-wise."""
    return equal_op(x, y, name=name)


@export("not_equal", "math.not_equal")
@dispatches
def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether x != y, element-wise."""
    return not_equal_op(x, y, name=name)


@export("logical_xor", "math.logical_xor")
@dispatches
def logical_xor(x: TensorLike, y: TensorLike, name: str = "LogicalXor") -> Tensor:
    """Returns whether exactly one of x and y is true."""
    return not_equal_op(x, y, T=dtypes.bool, name=name)
