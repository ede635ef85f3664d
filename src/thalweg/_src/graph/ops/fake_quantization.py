"""Fake quantization: rounds values to the steps of a low-bit range, with gradients for its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, merge
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.quantization import ranges
from thalweg._src.graph.ops.shape_functions import at_least_rank, require

_RANGE: dict[str, Any] = {"num_bits": 8, "narrow_range": False}


def _require_bits(c: Inference) -> None:
    bits = c.attrs["num_bits"]
    require(2 <= bits <= 16, f"num_bits is {bits}", expected="2 to 16")


def _args(c: Inference) -> Sequence[Shape]:
    _require_bits(c)
    low, high = c.attrs["min"], c.attrs["max"]
    require(low < high, f"min is {low}, max {high}", expected="min < max")
    return [merge(c.shapes[0], c.shapes[-1])]


def _vars(c: Inference) -> Sequence[Shape]:
    _require_bits(c)
    ranges(c, 1)
    return c.shapes[:1]


def _vars_grad(c: Inference) -> Sequence[Shape]:
    _require_bits(c)
    return [merge(c.shapes[0], c.shapes[1]), *[ranges(c, 2)] * 2]


def _channels(c: Inference, source: int) -> Shape:
    shape = at_least_rank(c, source, 1)
    axis = 0 if shape is None else len(shape) - 1
    return ranges(c, source + 1, axis, source)


def _per_channel(c: Inference) -> Sequence[Shape]:
    _require_bits(c)
    _channels(c, 0)
    return c.shapes[:1]


def _per_channel_grad(c: Inference) -> Sequence[Shape]:
    _require_bits(c)
    shape = merge(c.shapes[0], c.shapes[1])
    return [shape, *[_channels(c, 1)] * 2]


_ENDS = "min: float32, max: float32"
_BACKPROPS = "backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32"
fake_quant_with_min_max_args = export(
    "fake_quant_with_min_max_args", "quantization.fake_quant_with_min_max_args", inputs="The numbers to quantize."
)(
    op(
        "FakeQuantWithMinMaxArgs",
        "inputs: float32 -> outputs: float32",
        min=-6.0,
        max=6.0,
        infer=_args,
        doc="Quantizes and dequantizes values with a fixed range, in which 0 is exact.",
        **_RANGE,
    )
)
fake_quant_with_min_max_args_gradient = export(
    "fake_quant_with_min_max_args_gradient",
    "quantization.fake_quant_with_min_max_args_gradient",
    inputs="The numbers to quantize.",
)(
    nondifferentiable_op(
        "FakeQuantWithMinMaxArgsGradient",
        "gradients: float32, inputs: float32 -> backprops: float32",
        "Passes the gradient inside the range, and zero outside.",
        min=-6.0,
        max=6.0,
        infer=_args,
        **_RANGE,
    )
)
fake_quant_with_min_max_vars = export(
    "fake_quant_with_min_max_vars", "quantization.fake_quant_with_min_max_vars", inputs="The numbers to quantize."
)(
    op(
        "FakeQuantWithMinMaxVars",
        f"inputs: float32, {_ENDS} -> outputs: float32",
        infer=_vars,
        doc="Quantizes and dequantizes values with a trainable range.",
        **_RANGE,
    )
)
fake_quant_with_min_max_vars_gradient = export(
    "fake_quant_with_min_max_vars_gradient",
    "quantization.fake_quant_with_min_max_vars_gradient",
    inputs="The numbers to quantize.",
)(
    nondifferentiable_op(
        "FakeQuantWithMinMaxVarsGradient",
        f"gradients: float32, inputs: float32, {_ENDS} -> {_BACKPROPS}",
        "Passes the gradient inside the range, and the sum outside to the respective bound.",
        infer=_vars_grad,
        **_RANGE,
    )
)
fake_quant_with_min_max_vars_per_channel = export(
    "fake_quant_with_min_max_vars_per_channel",
    "quantization.fake_quant_with_min_max_vars_per_channel",
    inputs="The numbers to quantize.",
)(
    op(
        "FakeQuantWithMinMaxVarsPerChannel",
        f"inputs: float32, {_ENDS} -> outputs: float32",
        infer=_per_channel,
        doc="Quantizes and dequantizes values with one trainable range per channel, the last dimension.",
        **_RANGE,
    )
)
fake_quant_with_min_max_vars_per_channel_gradient = export(
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "quantization.fake_quant_with_min_max_vars_per_channel_gradient",
    inputs="The numbers to quantize.",
)(
    nondifferentiable_op(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        f"gradients: float32, inputs: float32, {_ENDS} -> {_BACKPROPS}",
        "Passes the gradient inside the channel's range, and the sum outside to the respective bound.",
        infer=_per_channel_grad,
        **_RANGE,
    )
)
