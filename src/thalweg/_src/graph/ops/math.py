"""Element-wise arithmetic, elementary functions, rounding, complex parts and sums of several tensors."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.dispatch import dispatches
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OPS, Evaluate, OpDef, op
from thalweg._src.graph.ops.cast import cast, evaluate_integers
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.shape_functions import broadcast_inputs, merged_inputs, require, unchanged
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.shortcut import shortcut
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

ANALYTIC = dtypes.FLOATING | dtypes.COMPLEX
SIGNED = ANALYTIC | dtypes.SIGNED_INTEGERS

_NUMBERS = dtypes.NUMERIC | dtypes.QUANTIZED


def unary(name: str, types: frozenset[DType], doc: str, evaluate: Evaluate | None = None, **facts: Any) -> OpDef:
    """Declares an op from x to y of the same type and shape; doc: what it computes, or whole sentences."""
    return op(name, "x: T -> y: T", T=types, infer=unchanged, evaluate=evaluate, doc=_element_wise(doc), **facts)


def binary(name: str, types: frozenset[DType], doc: str, evaluate: Evaluate | None = None, **facts: Any) -> OpDef:
    """Declares an op from x and y of one type, which broadcast, to z; doc as in `unary`."""
    text = _element_wise(doc)
    return op(name, "x: T, y: T -> z: T", T=types, infer=broadcast_inputs, evaluate=evaluate, doc=text, **facts)


def _element_wise(doc: str) -> str:
    return doc if doc.endswith(".") else f"Computes {doc}, element-wise."


def _gradient_of(name: str, doc: str, **facts: Any) -> OpDef:
    """Declares the op for dy times a derivative in terms of y, the function's value."""
    return op(name, "y: T, dy: T -> z: T", T=ANALYTIC, infer=merged_inputs, doc=doc, **facts)


def _per_element(function: Callable[..., int], arity: int = 2) -> Evaluate:
    """Evaluates integers element-wise; a result is unknown if an operand is."""
    lifted = np.frompyfunc(lambda *values: None if None in values else function(*values), arity, 1)

    def evaluate(c: Inference) -> Any:
        return evaluate_integers(c, lifted, c.dtypes[0]) if c.dtypes[0].is_integer else None

    return evaluate


def _quotient(x: int, y: int) -> int:
    """Returns x / y truncated toward zero."""
    quotient = builtins.abs(x) // builtins.abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _accumulated(c: Inference) -> Sequence[Shape]:
    return [shapes.merge(merged_inputs(c)[0], c.attrs["shape"])]


def _clipped(c: Inference) -> Sequence[Shape]:
    """Returns the shape of t, which the limits must have too unless they are scalars."""
    result = c.shapes[0]
    for limit in c.shapes[1:]:
        result = result if limit == () else shapes.merge(result, limit) if result is not None else None
    return [result]


_ADDED = dtypes.NUMERIC - {dtypes.uint16, dtypes.uint32, dtypes.uint64} | {dtypes.string}
add_op = binary(
    "Add",
    _ADDED,
    "Computes x + y, element-wise; strings are concatenated.",
    _per_element(lambda x, y: x + y),
    traceable=True,
    fails="never",
)
add_v2_op = binary(
    "AddV2", dtypes.NUMERIC, "x + y", _per_element(lambda x, y: x + y), commutative=True, traceable=True, fails="never"
)
subtract_op = binary("Sub", dtypes.NUMERIC, "x - y", _per_element(lambda x, y: x - y), traceable=True, fails="never")
multiply_op = binary(
    "Mul", dtypes.NUMERIC, "x * y", _per_element(lambda x, y: x * y), commutative=True, traceable=True, fails="never"
)
multiply_no_nan_op = binary("MulNoNan", ANALYTIC, "Computes x * y, element-wise, and 0 where y is 0, whatever x is.")
div_op = binary(
    "Div", dtypes.NUMERIC, "Computes x / y, element-wise; integers are truncated toward zero.", _per_element(_quotient)
)
realdiv = export("realdiv")(binary("RealDiv", dtypes.NUMERIC, "x / y", traceable=True, fails="never"))
floordiv_op = binary("FloorDiv", dtypes.NUMERIC, "x / y rounded down", _per_element(lambda x, y: x // y))
truncatediv = export("truncatediv")(
    binary("TruncateDiv", dtypes.NUMERIC, "x / y truncated toward zero", _per_element(_quotient))
)
mod_op = binary("Mod", dtypes.INDEX | dtypes.FLOATING, "the remainder of truncated division")
floormod = export("floormod", "mod", "math.floormod", "math.mod")(
    binary("FloorMod", dtypes.REAL, "the remainder of floored division", _per_element(lambda x, y: x % y))
)
truncatemod = export("truncatemod")(
    binary("TruncateMod", dtypes.INDEX | dtypes.FLOATING, "the remainder of truncated division")
)
div_no_nan_op = binary("DivNoNan", ANALYTIC, "Computes x / y, element-wise, and 0 where y is 0.", traceable=True)
xdivy = export("math.xdivy")(binary("Xdivy", ANALYTIC, "Computes x / y, element-wise, and 0 where x is 0."))
xlogy = export("math.xlogy")(binary("Xlogy", ANALYTIC, "Computes x * log(y), element-wise, and 0 where x is 0."))
xlog1py = export("math.xlog1py")(
    binary("Xlog1py", ANALYTIC, "Computes x * log(1 + y), element-wise, and 0 where x is 0.")
)
pow = export("pow", "math.pow", x="The base.", y="The exponent.")(
    binary("Pow", SIGNED, "x to the power y", traceable=True, fails="never")
)
maximum = export("maximum", "math.maximum")(
    binary("Maximum", dtypes.REAL, "the maximum of x and y", _per_element(builtins.max), traceable=True, fails="never")
)
minimum = export("minimum", "math.minimum")(
    binary("Minimum", dtypes.REAL, "the minimum of x and y", _per_element(builtins.min), traceable=True, fails="never")
)
squared_difference = export("squared_difference", "math.squared_difference")(
    binary(
        "SquaredDifference", ANALYTIC | dtypes.INDEX, "(x - y) ** 2", commutative=True, traceable=True, fails="never"
    )
)
atan2 = export("atan2", "math.atan2", y="The ordinates.", x="The abscissas.")(
    op(
        "Atan2",
        "y: T, x: T -> z: T",
        T=dtypes.FLOATING,
        infer=broadcast_inputs,
        doc="Computes the angle of the point (x, y), element-wise.",
    )
)
nextafter = export("math.nextafter", x1="The numbers to start from.", x2="The numbers to go towards.")(
    op(
        "NextAfter",
        "x1: T, x2: T -> output: T",
        T=attr.types((dtypes.float32, dtypes.float64), dtypes.float32),
        infer=broadcast_inputs,
        doc="Returns the next representable number after x1 in the direction of x2, element-wise.",
    )
)

abs_op = unary(
    "Abs",
    dtypes.FLOATING | dtypes.SIGNED_INTEGERS,
    "the absolute value of x",
    _per_element(builtins.abs, 1),
    traceable=True,
    fails="never",
)
negative = export("negative", "math.negative")(
    unary("Neg", SIGNED, "-x.", _per_element(lambda x: -x, 1), traceable=True, fails="never")
)
sign = export("sign", "math.sign")(
    unary(
        "Sign",
        SIGNED,
        "Computes the sign of x, element-wise: -1, 0 or 1; x / |x| for complex numbers.",
        traceable=True,
        fails="never",
    )
)
reciprocal = export("reciprocal", "math.reciprocal")(
    unary("Reciprocal", SIGNED, "1 / x", traceable=True, fails="never")
)
inv = unary("Inv", SIGNED, "1 / x", traceable=True)
square = export("square", "math.square")(
    unary("Square", dtypes.NUMERIC, "x * x", _per_element(lambda x: x * x, 1), traceable=True, fails="never")
)
sqrt = export("sqrt", "math.sqrt")(unary("Sqrt", ANALYTIC, "the square root of x", traceable=True, fails="never"))
rsqrt = export("rsqrt", "math.rsqrt")(unary("Rsqrt", ANALYTIC, "1 / sqrt(x)", traceable=True, fails="never"))
exp = export("exp", "math.exp")(unary("Exp", ANALYTIC, "e to the power x", traceable=True, fails="never"))
expm1 = export("expm1", "math.expm1")(
    unary("Expm1", ANALYTIC, "Computes exp(x) - 1, element-wise, accurate near 0.", traceable=True, fails="never")
)
log = export("log", "math.log")(unary("Log", ANALYTIC, "the natural logarithm of x", traceable=True, fails="never"))
log1p = export("log1p", "math.log1p")(
    unary("Log1p", ANALYTIC, "Computes log(1 + x), element-wise, accurate near 0.", traceable=True, fails="never")
)
sin = export("sin", "math.sin")(unary("Sin", ANALYTIC, "the sine of x", traceable=True, fails="never"))
cos = export("cos", "math.cos")(unary("Cos", ANALYTIC, "the cosine of x", traceable=True, fails="never"))
tan = export("tan", "math.tan")(unary("Tan", ANALYTIC, "the tangent of x"))
asin = export("asin", "math.asin")(unary("Asin", ANALYTIC, "the inverse sine of x"))
acos = export("acos", "math.acos")(unary("Acos", ANALYTIC, "the inverse cosine of x"))
atan = export("atan", "math.atan")(unary("Atan", ANALYTIC, "the inverse tangent of x"))
sinh = export("sinh", "math.sinh")(unary("Sinh", ANALYTIC, "the hyperbolic sine of x"))
cosh = export("cosh", "math.cosh")(unary("Cosh", ANALYTIC, "the hyperbolic cosine of x"))
tanh = export("tanh", "math.tanh", "nn.tanh")(
    unary("Tanh", ANALYTIC, "the hyperbolic tangent of x", traceable=True, fails="never")
)
asinh = export("asinh", "math.asinh")(unary("Asinh", ANALYTIC, "the inverse hyperbolic sine of x"))
acosh = export("acosh", "math.acosh")(unary("Acosh", ANALYTIC, "the inverse hyperbolic cosine of x"))
atanh = export("atanh", "math.atanh")(unary("Atanh", ANALYTIC, "the inverse hyperbolic tangent of x"))
sigmoid = export("sigmoid", "math.sigmoid", "nn.sigmoid")(
    unary("Sigmoid", ANALYTIC, "the logistic function 1 / (1 + exp(-x))", traceable=True, fails="never")
)
ceil = export("ceil", "math.ceil")(
    unary("Ceil", dtypes.FLOATING, "the smallest integer not less than x", differentiable=False, traceable=True)
)
floor = export("floor", "math.floor")(
    unary("Floor", dtypes.FLOATING, "the largest integer not greater than x", differentiable=False, traceable=True)
)
round_op = unary(
    "Round", SIGNED, "Rounds x to the nearest integer, element-wise, halves to even.", differentiable=False
)
rint = export("rint", "math.rint")(
    unary(
        "Rint", dtypes.FLOATING, "Rounds x to the nearest integer, element-wise, halves to even.", differentiable=False
    )
)

inv_grad = _gradient_of("InvGrad", "Computes the gradient of the reciprocal, -dy * y * y, element-wise.")
reciprocal_grad = _gradient_of(
    "ReciprocalGrad", "Computes the gradient of the reciprocal, -dy * y * y, element-wise.", traceable=True
)
sqrt_grad = _gradient_of(
    "SqrtGrad", "Computes the gradient of the square root, dy / 2 / y, element-wise.", traceable=True
)
rsqrt_grad = _gradient_of(
    "RsqrtGrad", "Computes the gradient of rsqrt, -dy / 2 * y * y * y, element-wise.", traceable=True
)
tanh_grad = _gradient_of("TanhGrad", "Computes the gradient of tanh, dy * (1 - y * y), element-wise.", traceable=True)
sigmoid_grad = _gradient_of(
    "SigmoidGrad", "Computes the gradient of sigmoid, dy * y * (1 - y), element-wise.", traceable=True
)


def _component(c: Inference) -> Sequence[Shape]:
    _require_component(c.attrs["T"], c.attrs["Tout"])
    return unchanged(c)


def _composed(c: Inference) -> Sequence[Shape]:
    _require_component(c.attrs["Tout"], c.attrs["T"])
    return broadcast_inputs(c)


def _require_component(whole: DType, component: DType) -> None:
    require(component is whole.real_dtype, f"{component.name} is not the real type of {whole.name}")


_COMPLEX = attr.types(dtypes.COMPLEX, dtypes.complex64)
_COMPONENT = attr.types((dtypes.float32, dtypes.float64), dtypes.float32)
conj_op = op(
    "Conj",
    "input: T -> output: T",
    T=_COMPLEX,
    infer=unchanged,
    doc="Computes the complex conjugate, element-wise.",
    fails="never",
)
_OF_PARTS: dict[str, Any] = {"T": _COMPLEX, "Tout": _COMPONENT, "infer": _component}
real_op = op("Real", "input: T -> output: Tout", **_OF_PARTS, doc="Returns the real part, element-wise.")
imag_op = op("Imag", "input: T -> output: Tout", **_OF_PARTS, doc="Returns the imaginary part, element-wise.")
angle_op = op(
    "Angle", "input: T -> output: Tout", **_OF_PARTS, doc="Computes the argument of complex numbers, element-wise."
)
complex_abs_op = op(
    "ComplexAbs", "x: T -> y: Tout", **_OF_PARTS, doc="Computes the absolute value of complex numbers, element-wise."
)
complex_op = op(
    "Complex",
    "real: T, imag: T -> out: Tout",
    T=_COMPONENT,
    Tout=_COMPLEX,
    infer=_composed,
    doc="Computes real + i * imag, element-wise.",
)

add_n_op = op(
    "AddN",
    "inputs: N*T -> sum: T",
    T=_NUMBERS | {dtypes.variant},
    infer=merged_inputs,
    commutative=True,
    doc="Sums the inputs, element-wise.",
    traceable=True,
    fails="never",
)
accumulate_n_op = op(
    "AccumulateNV2",
    "inputs: N*T -> sum: T",
    T=_NUMBERS,
    shape=attr.shape(),
    infer=_accumulated,
    commutative=True,
    doc="Sums the inputs, element-wise, as they become available.",
)
clip_by_value_op = op(
    "ClipByValue",
    "t: T, clip_value_min: T, clip_value_max: T -> output: T",
    T=_NUMBERS,
    infer=_clipped,
    doc="Clips values to a range, element-wise.",
)


@export("add", "math.add")
@shortcut(add_v2_op)
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x + y, element-wise; strings are concatenated."""
    first = x if isinstance(x, Tensor) or not isinstance(y, Tensor) else y
    strings = first.dtype is dtypes.string if isinstance(first, Tensor) else _is_string(first)
    return add_op(x, y, name=name) if strings else add_v2_op(x, y, name=name or "Add")


@export("subtract", "math.subtract")
@shortcut(subtract_op)
def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x - y, element-wise."""
    return subtract_op(x, y, name=name)


@export("multiply", "math.multiply")
@shortcut(multiply_op)
def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x * y, element-wise."""
    return multiply_op(x, y, name=name)


def _is_string(value: object) -> bool:
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return isinstance(value, str | bytes) or getattr(value, "dtype", None) in (dtypes.string, object)


def _in_one_type(x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns two operands as tensors of one type: that of the operand that is already a tensor."""
    if isinstance(y, Tensor) and not isinstance(x, Tensor):
        x = convert_to_tensor(x, y.dtype.base_dtype, name="x")
    x = convert_to_tensor(x, name="x")
    y = convert_to_tensor(y, name="y", dtype_hint=x.dtype.base_dtype)
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(f"x is {x.dtype.name} and y is {y.dtype.name}, expected one dtype; hint: tf.cast")
    return x, y


def _is_inexact(value: object) -> bool:
    return isinstance(value, Tensor) and (value.dtype.is_floating or value.dtype.is_complex)


@export("truediv", "math.truediv")
@dispatches
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y with Python 3 semantics: integers of at most 16 bits yield float32, wider ones float64."""
    if _is_inexact(x) or _is_inexact(y):
        return realdiv(x, y, name=name or "truediv")
    with name_scope(name, "truediv", [x, y]) as scope:
        x, y = _in_one_type(x, y)
        if x.dtype.is_integer:
            wide = dtypes.float32 if x.dtype.size <= 2 else dtypes.float64
            x, y = cast(x, wide), cast(y, wide)
        return realdiv(x, y, name=scope)


@export("divide", "math.divide")
@dispatches
def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y with Python 3 semantics."""
    return truediv(x, y, name)


@export("div")
@dispatches
def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y with Python 2 semantics: integers are rounded down."""
    if _is_inexact(x) or _is_inexact(y):
        return realdiv(x, y, name=name or "div")
    with name_scope(name, "div", [x, y]) as scope:
        x, y = _in_one_type(x, y)
        return realdiv(x, y, name=scope) if _is_inexact(x) else floordiv_op(x, y, name=scope)


@export("floordiv", "math.floordiv")
@dispatches
def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y, rounded down."""
    return floordiv_op(x, y, name=name or "floordiv")


@export("floor_div")
def floor_div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y, rounded down."""
    return floordiv_op(x, y, name=name)


mod = floormod


@export("div_no_nan", "math.divide_no_nan")
def div_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x / y, and 0 where y is 0."""
    return div_no_nan_op(x, y, name=name or "div_no_nan")


@export("math.multiply_no_nan")
def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Computes x * y, and 0 where y is 0, even if x is infinite or NaN."""
    return multiply_no_nan_op(x, y, name=name or "multiply_no_nan")


@export("math.reciprocal_no_nan")
def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes 1 / x, and 0 where x is 0."""
    x = convert_to_tensor(x, name="x")
    return div_no_nan_op(1, x, name=name or "reciprocal_no_nan")


@export("abs", "math.abs")
@dispatches
def abs(x: TensorLike | SparseTensor, name: str | None = None) -> Any:
    """Computes the absolute value, element-wise."""
    if isinstance(x, SparseTensor):
        return x.with_values(abs(x.values, name))
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_complex:
        return complex_abs_op(x, Tout=x.dtype.real_dtype, name=name or "Abs")
    return abs_op(x, name=name)


@export("round", "math.round")
@dispatches
def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Rounds to the nearest integer, halves to even."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else round_op(x, name=name)


@export("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar: TensorLike, x: Any, name: str | None = None) -> Any:
    """Multiplies a tensor, or the values of IndexedSlices, by a scalar.

    Args:
        scalar: The factor.
        x: The tensor, or IndexedSlices.
    """
    if not isinstance(getattr(x, "dtype", None), dtypes.DType):
        x = convert_to_tensor(x, name="x")
    factor = convert_to_tensor(scalar, x.dtype.base_dtype, name="scalar")
    if factor.dims not in ((), None):
        raise ValueError(f"Only scalar multiply works, got shape {shapes.show(factor.dims)}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(multiply(factor, x.values, name=name), x.indices, x.dense_shape)
    return multiply(factor, x, name=name)


def _zeros_like(x: Tensor) -> Tensor:
    return OPS.lookup("ZerosLike")(x, name="zeros_like")  # by its name, since shapes need arithmetic


@export("conj", "math.conj")
def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the complex conjugate; a real tensor is returned unchanged."""
    x = convert_to_tensor(x, name="x")
    return conj_op(x, name=name) if x.dtype.is_complex else x


@export("real", "math.real")
def real(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the real part; a real tensor is returned unchanged."""
    x = convert_to_tensor(input, name="input")
    return real_op(x, Tout=x.dtype.real_dtype, name=name) if x.dtype.is_complex else x


@export("imag", "math.imag")
def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Returns the imaginary part; that of a real tensor is 0."""
    x = convert_to_tensor(input, name="input")
    return imag_op(x, Tout=x.dtype.real_dtype, name=name) if x.dtype.is_complex else _zeros_like(x)


@export("angle", "math.angle")
def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """Computes the argument: the angle with the positive real axis, pi for negative real numbers."""
    with name_scope(name, "Angle", [input]) as scope:
        x = convert_to_tensor(input, name="input")
        if x.dtype.is_complex:
            return angle_op(x, Tout=x.dtype.real_dtype, name=scope)
        return multiply(minimum(sign(x), 0), -np.pi, name=scope)


@export("complex", "dtypes.complex")
def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Computes the complex numbers real + i * imag.

    Args:
        real: The real parts.
        imag: The imaginary parts.
    """
    with name_scope(name, "Complex", [real, imag]) as scope:
        x, y = _in_one_type(real, imag)
        if x.dtype.base_dtype not in (dtypes.float32, dtypes.float64):
            raise TypeError(f"real and imag have type {x.dtype.name}: float32 and float64 have a complex type.")
        wide = dtypes.complex64 if x.dtype.base_dtype is dtypes.float32 else dtypes.complex128
        return complex_op(x, y, Tout=wide, name=scope)


@export("clip_by_value")
@dispatches
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """Clips elements to a minimum and a maximum.

    Args:
        t: The tensor to clip.
        clip_value_min: Smallest value of the result.
        clip_value_max: Largest value of the result.
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        x = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        low = convert_to_tensor(clip_value_min, x.dtype.base_dtype, name="clip_value_min")
        high = convert_to_tensor(clip_value_max, x.dtype.base_dtype, name="clip_value_max")
        if low.dims == () and high.dims == ():
            clipped = clip_by_value_op(x, low, high, name=scope)
        else:
            clipped = maximum(minimum(x, high), low, name=scope)
            shapes.merge(x.dims, clipped.dims)
        return IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else clipped


def _tensors(inputs: Any) -> list[Tensor]:
    try:
        tensors = [convert_to_tensor(value) for value in inputs]
    except (TypeError, ValueError):
        tensors = []
    if not tensors or isinstance(inputs, Tensor):
        raise ValueError(
            f"expected one or more Tensors or IndexedSlices, all of one dtype and shape, received {inputs!r}"
        )
    return tensors


def _only(tensor: Tensor, name: str | None) -> Tensor:
    return tensor if name is None else identity(tensor, name=name)


@export("add_n", "math.add_n")
@dispatches
def add_n(inputs: Sequence[TensorLike] | TensorLike, name: str | None = None) -> Tensor:
    """Sums tensors of one shape and type; IndexedSlices are made dense.

    Args:
        inputs: The tensors to add.
    """
    tensors = _tensors(inputs)
    return _only(tensors[0], name) if len(tensors) == 1 else add_n_op(tensors, name=name)


@export("accumulate_n", "math.accumulate_n")
def accumulate_n(
    inputs: Sequence[TensorLike],
    shape: ShapeLike = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Adds tensors of one shape and type pairwise, with less memory than keeping all of them.

    Args:
        inputs: The tensors to add.
        shape: Static shape of the inputs.
        tensor_dtype: Element type of the inputs.
    """
    tensors = _tensors(inputs)
    merged = shapes.as_shape(shape)
    for tensor in tensors:
        if tensor.dtype.base_dtype is not tensors[0].dtype.base_dtype:
            raise ValueError(f"the inputs differ in dtype: {tensors[0].dtype.name} and {tensor.dtype.name}")
        merged = shapes.merge(merged, tensor.dims)
    if tensor_dtype is not None and dtypes.as_dtype(tensor_dtype) != tensors[0].dtype.base_dtype:
        raise TypeError(f"the inputs are {tensors[0].dtype.name}, expected tensor_dtype {tensor_dtype}")
    return _only(tensors[0], name) if len(tensors) == 1 else accumulate_n_op(tensors, shape=merged, name=name)
