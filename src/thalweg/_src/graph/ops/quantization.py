"""Quantization of real numbers to small integers over a range, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge, show
from thalweg._src.base.signatures import variant
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, same_dimension, scalar_value, vector_size
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def ranges(c: Inference, first: int, axis: int = -1, source: int = 0) -> Shape:
    """Returns the shape of a range's bounds: scalars, or one per slice along an axis."""
    require(axis >= -1, f"axis is {axis}", expected="-1 or more")
    if axis == -1:
        for index in (first, first + 1):
            shape, name = c.shapes[index], c.definition.inputs[index].name
            require(shape in ((), None), f"{name} has shape {show(shape)}", expected="a scalar")
        return ()
    shape = c.shapes[source]
    require(shape is None or axis < len(shape), f"axis is {axis}", expected=f"less than the rank of {show(shape)}")
    size = None if shape is None else shape[axis]
    for index in (first, first + 1):
        name = c.definition.inputs[index].name
        size = same_dimension(size, vector_size(c, index), "sizes", f"{name}.shape[0] == input.shape[{axis}]")
    return (size,)


def _quantize(c: Inference) -> Sequence[Shape]:
    _require_mode(c)
    limits = ranges(c, 1, c.attrs["axis"])
    even = c.attrs["round_mode"] == "HALF_TO_EVEN"
    require(not even or c.attrs["mode"] == "SCALED", "round_mode is HALF_TO_EVEN", expected="mode SCALED with it")
    return [c.shapes[0], limits, limits]


def _dequantize(c: Inference) -> Sequence[Shape]:
    _require_mode(c)
    ranges(c, 1, c.attrs["axis"])
    narrow = c.attrs["dtype"] is dtypes.bfloat16 and c.attrs["mode"] != "MIN_COMBINED"
    require(not narrow, f"dtype is bfloat16 and mode {c.attrs['mode']}", expected="mode MIN_COMBINED with it")
    return c.shapes[:1]


def _require_mode(c: Inference) -> None:
    sliced = c.attrs["axis"] != -1 and c.attrs["mode"] == "MIN_FIRST"
    require(not sliced, "mode is MIN_FIRST with an axis", expected="MIN_COMBINED or SCALED")


QUANTIZED = attr.types(dtypes.QUANTIZED)
_MODE = attr.string("MIN_COMBINED", "MIN_FIRST", "SCALED", default="MIN_COMBINED")
quantize_v2_op = nondifferentiable_op(
    "QuantizeV2",
    "input: float32, min_range: float32, max_range: float32 -> output: T, output_min: float32, output_max: float32",
    "Quantizes values of a range to integers, and returns the range that these represent.",
    T=QUANTIZED,
    mode=_MODE,
    round_mode=attr.string("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN", default="HALF_AWAY_FROM_ZERO"),
    narrow_range=False,
    axis=-1,
    ensure_minimum_range=0.01,
    host="min_range, max_range, output_min, output_max",
    infer=_quantize,
)
dequantize_op = nondifferentiable_op(
    "Dequantize",
    "input: T, min_range: float32, max_range: float32 -> output: dtype",
    "Dequantizes integers to values of a range.",
    T=QUANTIZED,
    mode=_MODE,
    narrow_range=False,
    axis=-1,
    dtype=attr.types((dtypes.bfloat16, dtypes.float32), dtypes.float32),
    host="min_range, max_range",
    infer=_dequantize,
)


def _require_bits(bits: int | None, signed: bool) -> None:
    most = 61 if signed else 62
    require(bits is None or 0 < bits <= most, f"num_bits is {bits}", expected=f"1 to {most}")


def _simulated(c: Inference) -> Sequence[Shape]:
    bits = scalar_value(c, 3) if len(c.shapes) > 3 else c.attrs["num_bits"]
    _require_bits(bits, c.attrs["signed_input"])
    axis = c.attrs.get("axis", -1)
    if len(c.shapes) == 1:
        low, high = c.attrs["input_min"], c.attrs["input_max"]
        require(not c.attrs["range_given"] or low <= high, f"input_min is {low}, input_max {high}", "a range")
    else:
        ranges(c, 1, axis)
    return c.shapes[:1]


def _simulated_grad(c: Inference) -> Sequence[Shape]:
    return [merge(c.shapes[0], c.shapes[1]), *[ranges(c, 2, c.attrs["axis"], source=1)] * 2]


_ROUND = attr.string("HALF_TO_EVEN", "HALF_UP", default="HALF_TO_EVEN")
_RANGE = "input: T, input_min: T, input_max: T"
_DOC = "Quantizes and dequantizes values."
quantize_and_dequantize_v1_op = op(
    "QuantizeAndDequantize",
    "input: T -> output: T",
    signed_input=True,
    num_bits=8,
    range_given=False,
    input_min=0.0,
    input_max=0.0,
    T=dtypes.FLOATING,
    infer=_simulated,
    doc=_DOC,
)
_SIMULATED: dict[str, Any] = {
    "signed_input": True,
    "num_bits": 8,
    "range_given": False,
    "T": dtypes.FLOATING,
    "round_mode": _ROUND,
    "narrow_range": False,
    "axis": -1,
    "host": "input_min, input_max",
    "infer": _simulated,
    "doc": _DOC,
}
quantize_and_dequantize_v2_op = op("QuantizeAndDequantizeV2", f"{_RANGE} -> output: T", **_SIMULATED, capturable=False)
quantize_and_dequantize_v4_op = op("QuantizeAndDequantizeV4", f"{_RANGE} -> output: T", **_SIMULATED, capturable=False)
quantize_and_dequantize_v3_op = op(
    "QuantizeAndDequantizeV3",
    f"{_RANGE}, num_bits: int32 -> output: T",
    signed_input=True,
    range_given=True,
    T=dtypes.FLOATING,
    narrow_range=False,
    axis=-1,
    host="input_min, input_max, num_bits",
    infer=_simulated,
    doc=_DOC,
    capturable=False,
)
quantize_and_dequantize_v4_grad = nondifferentiable_op(
    "QuantizeAndDequantizeV4Grad",
    f"gradients: T, {_RANGE} -> input_backprop: T, input_min_backprop: T, input_max_backprop: T",
    "Passes the gradient inside the range, zero outside and for the bounds.",
    T=dtypes.FLOATING,
    axis=-1,
    host="input_min, input_max",
    infer=_simulated_grad,
)


@export("quantize", "quantization.quantize")
def quantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """Quantizes values of a range to integers of type T; also returns the bounds of the represented range.

    Args:
        mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED": how the range maps to integers.
        axis: Axis with ranges of its own for each slice; None has one range.
    """
    return quantize_v2_op.many(
        input,
        min_range,
        max_range,
        T=T,
        mode=mode,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        ensure_minimum_range=ensure_minimum_range,
        name=name,
    )


@export("quantize_v2")
def quantize_v2(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """Quantizes values of a range to integers of type T; also returns the bounds of the represented range.

    Args:
        mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED": how the range maps to integers.
        axis: Axis with ranges of its own for each slice; None has one range.
    """
    return quantize(input, min_range, max_range, T, mode, round_mode, name, narrow_range, axis, ensure_minimum_range)


@export("dequantize", "quantization.dequantize")
def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: DTypeLike = dtypes.float32,
) -> Tensor:
    """Returns the real numbers that quantized integers represent.

    Args:
        mode: "MIN_COMBINED", "MIN_FIRST" or "SCALED": how integers map to the range.
        axis: Axis with ranges of its own for each slice; None has one range.
    """
    return dequantize_op(
        input,
        min_range,
        max_range,
        mode=mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        dtype=dtype,
        name=name,
    )


def _simulate(
    definition: OpDef,
    input: TensorLike,
    input_min: TensorLike,
    input_max: TensorLike,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Tensor:
    """Quantizes and dequantizes values by an op.

    Args:
        input_min: Lower end of the range, if `range_given`.
        input_max: Upper end of the range, if `range_given`.
        signed_input: Whether the quantized integers are signed.
        range_given: Whether the range is given; otherwise that of the input is used.
        axis: Axis with ranges of its own for each slice; None has one range.
    """
    return definition(
        convert_to_tensor(input, name="input"),
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        name=name,
    )


@export("quantization.quantize_and_dequantize")
@variant(_simulate, quantize_and_dequantize_v2_op)
def quantize_and_dequantize() -> None:
    """Rounds to values that quantized integers represent; the gradient is passed through unchanged."""


@export("quantization.quantize_and_dequantize_v2")
@variant(_simulate, quantize_and_dequantize_v4_op)
def quantize_and_dequantize_v2() -> None:
    """Rounds to values that quantized integers represent; the gradient is passed inside the range."""
