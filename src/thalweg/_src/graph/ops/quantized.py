"""Arithmetic on quantized integers, each with the bounds of its range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, broadcast, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.concat import concatenated
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.quantization import QUANTIZED, ranges
from thalweg._src.graph.ops.reshape import reshaped
from thalweg._src.graph.ops.shape_functions import (
    at_least_rank,
    require,
    same_dimension,
    scalar_value,
    vector_size,
    with_rank,
)
from thalweg._src.graph.ops.windows import kernel_of, window_of
from thalweg._src.graph.types import TensorLike

Infer = Callable[[Inference], Sequence[Shape]]


def _with_range(infer: Callable[[Inference], Shape], *firsts: int) -> Infer:
    """Adds what all of these ops share: scalar bounds among the inputs, and a range among the outputs."""

    def infer_all(c: Inference) -> Sequence[Shape]:
        for first in firsts:
            ranges(c, first)
        return [infer(c), (), ()]

    return infer_all


def _quantized(name: str, signature: str, infer: Infer, **attrs: Any) -> OpDef:
    """Declares an op whose float32 scalars are bounds of ranges, in host memory."""
    ends = [arg.split(":")[0].strip() for arg in signature.replace("->", ",").split(",") if "float32" in arg]
    host = ", ".join([*ends, *attrs.pop("host", ())])
    return nondifferentiable_op(name, signature, infer=infer, host=host, **attrs)


def _same(c: Inference) -> Shape:
    return c.shapes[0]


def _relu_x(c: Inference) -> Shape:
    scalar_value(c, 1)
    return c.shapes[0]


def _bias_add(c: Inference) -> Shape:
    source, size = at_least_rank(c, 0, 2), vector_size(c, 1)
    if source is None:
        return None
    last = same_dimension(source[-1], size, "sizes", "bias.shape[0] == input.shape[-1]")
    return (*source[:-1], last)


def _matmul(c: Inference) -> Shape:
    a, b = with_rank(c, 0, 2), with_rank(c, 1, 2)
    assert a is not None and b is not None
    rows, inner = a[::-1] if c.attrs["transpose_a"] else a
    other, columns = b[::-1] if c.attrs["transpose_b"] else b
    same_dimension(inner, other, "inner dimensions", "columns of a == rows of b")
    return (rows, columns)


def _conv2d(c: Inference) -> Shape:
    window = window_of(c.attrs)
    source, filter = with_rank(c, 0, 4), with_rank(c, 1, 4)
    assert source is not None and filter is not None
    same_dimension(source[3], filter[2], "depths", "input.shape[3] == filter.shape[2]")
    return (source[0], *window.output(source[1:3], filter[:2]), filter[3])


def _pool(c: Inference) -> Shape:
    window, sizes = window_of(c.attrs), kernel_of(c.attrs)
    source = with_rank(c, 0, 4)
    assert source is not None
    return (source[0], *window.output(source[1:3], sizes), source[3])


def _product(c: Inference) -> Shape:
    return broadcast(c.shapes[0], c.shapes[1])


def _reshape(c: Inference) -> Shape:
    rank, target = vector_size(c, 1), c.partial(1)
    if target is not None:
        return reshaped(c.shapes[0], target.tolist())
    return None if rank is None else reshaped(c.shapes[0], [None] * rank)


def _requantize(c: Inference) -> Shape:
    for index, name in ((3, "requested_output_min"), (4, "requested_output_max")):
        require(c.shapes[index] in ((), None), f"{name} has shape {show(c.shapes[index])}", expected="a scalar")
    return c.shapes[0]


def _requantization_range(c: Inference) -> Sequence[Shape]:
    ranges(c, 1)
    return [(), ()]


def _concat(c: Inference) -> Sequence[Shape]:
    axis, count = scalar_value(c, 0), c.attrs["N"]
    inputs = c.shapes[1 : 1 + count]
    for shape in c.shapes[1 + count :]:
        require(shape in ((), None), f"the end of a range has shape {show(shape)}", expected="a scalar")
    require(axis is None or axis >= 0, f"concat_dim is {axis}", expected="0 or more")
    return [concatenated(inputs, axis), (), ()]


_WINDOW: dict[str, Any] = {
    "ksize": attr.integers(),
    "strides": attr.integers(),
    "padding": attr.string("SAME", "VALID"),
}
_TO_QINT32 = attr.types(dtypes.QUANTIZED, dtypes.qint32)
_TO_QUINT8 = attr.types(dtypes.QUANTIZED, dtypes.quint8)

_RELU = (
    "features: Tinput, min_features: float32, max_features: float32 -> "
    "activations: out_type, min_activations: float32, max_activations: float32"
)
quantized_relu_op = _quantized(
    "QuantizedRelu",
    _RELU,
    _with_range(_same, 1),
    Tinput=QUANTIZED,
    out_type=_TO_QUINT8,
    doc="Computes max(x, 0) of quantized values, element-wise.",
)
quantized_relu6_op = _quantized(
    "QuantizedRelu6",
    _RELU,
    _with_range(_same, 1),
    Tinput=QUANTIZED,
    out_type=_TO_QUINT8,
    doc="Computes min(max(x, 0), 6) of quantized values, element-wise.",
)
quantized_relu_x = export(
    "nn.quantized_relu_x",
    min_features="The number that the smallest quantized feature stands for.",
    max_features="The number that the largest quantized feature stands for.",
)(
    _quantized(
        "QuantizedReluX",
        _RELU.replace("min_features", "max_value: float32, min_features", 1),
        _with_range(_relu_x, 2),
        Tinput=QUANTIZED,
        out_type=_TO_QUINT8,
        doc="Clips quantized features to [0, max_value]; also returns their range.",
    )
)
_POOL = "input: T, min_input: float32, max_input: float32 -> output: T, min_output: float32, max_output: float32"
quantized_max_pool = export("nn.quantized_max_pool")(
    _quantized(
        "QuantizedMaxPool",
        _POOL,
        _with_range(_pool, 1),
        T=QUANTIZED,
        **_WINDOW,
        doc="Computes the maximum of quantized values in each window; also returns the range.",
    )
)
quantized_avg_pool = export("nn.quantized_avg_pool")(
    _quantized(
        "QuantizedAvgPool",
        _POOL,
        _with_range(_pool, 1),
        T=QUANTIZED,
        **_WINDOW,
        doc="Computes the mean of quantized values in each window; also returns the range.",
    )
)
quantized_conv2d_op = _quantized(
    "QuantizedConv2D",
    "input: Tinput, filter: Tfilter, min_input: float32, max_input: float32, min_filter: float32, max_filter: float32"
    " -> output: out_type, min_output: float32, max_output: float32",
    _with_range(_conv2d, 2, 4),
    Tinput=QUANTIZED,
    Tfilter=QUANTIZED,
    out_type=_TO_QINT32,
    strides=attr.integers(),
    padding=attr.string("SAME", "VALID"),
    dilations=(1, 1, 1, 1),
    doc="Computes a 2-D convolution of quantized images.",
)
quantized_matmul_op = _quantized(
    "QuantizedMatMul",
    "a: T1, b: T2, min_a: float32, max_a: float32, min_b: float32, max_b: float32"
    " -> out: Toutput, min_out: float32, max_out: float32",
    _with_range(_matmul, 2, 4),
    T1=QUANTIZED,
    T2=QUANTIZED,
    Toutput=_TO_QINT32,
    transpose_a=False,
    transpose_b=False,
    Tactivation=_TO_QUINT8,
    doc="Multiplies quantized matrices.",
)
quantized_bias_add_op = _quantized(
    "QuantizedBiasAdd",
    "input: T1, bias: T2, min_input: float32, max_input: float32, min_bias: float32, max_bias: float32"
    " -> output: out_type, min_out: float32, max_out: float32",
    _with_range(_bias_add, 2, 4),
    T1=QUANTIZED,
    T2=QUANTIZED,
    out_type=QUANTIZED,
    doc="Adds a quantized bias along the last dimension.",
)
quantized_mul_op = _quantized(
    "QuantizedMul",
    "x: T1, y: T2, min_x: float32, max_x: float32, min_y: float32, max_y: float32"
    " -> z: Toutput, min_z: float32, max_z: float32",
    _with_range(_product, 2, 4),
    T1=QUANTIZED,
    T2=QUANTIZED,
    Toutput=_TO_QINT32,
    doc="Multiplies quantized tensors element-wise.",
)
quantized_reshape_op = _quantized(
    "QuantizedReshape",
    "tensor: T, shape: Tshape, input_min: float32, input_max: float32"
    " -> output: T, output_min: float32, output_max: float32",
    _with_range(_reshape, 2),
    T=attr.types(),
    Tshape=attr.types(dtypes.INDEX, dtypes.int32),
    host=("shape",),
    doc="Reshapes a quantized tensor.",
)
requantize_op = _quantized(
    "Requantize",
    "input: Tinput, input_min: float32, input_max: float32, requested_output_min: float32, "
    "requested_output_max: float32 -> output: out_type, output_min: float32, output_max: float32",
    _with_range(_requantize, 1),
    Tinput=QUANTIZED,
    out_type=QUANTIZED,
    doc="Requantizes integers to another type and range.",
)
quantize_down_op = _quantized(
    "QuantizeDownAndShrinkRange",
    "input: Tinput, input_min: float32, input_max: float32"
    " -> output: out_type, output_min: float32, output_max: float32",
    _with_range(_same, 1),
    Tinput=QUANTIZED,
    out_type=QUANTIZED,
    doc="Requantizes integers to another type, with the range of the actual values.",
    capturable=False,
)
requantization_range_op = _quantized(
    "RequantizationRange",
    "input: Tinput, input_min: float32, input_max: float32 -> output_min: float32, output_max: float32",
    _requantization_range,
    Tinput=QUANTIZED,
    doc="Computes the range of the actual values.",
    capturable=False,
)
quantized_concat = export(
    "quantized_concat",
    "quantization.quantized_concat",
    concat_dim="The axis to join along.",
    values="The quantized tensors.",
    input_mins="Lower end of the range of each input.",
    input_maxes="Upper end of the range of each input.",
)(
    nondifferentiable_op(
        "QuantizedConcat",
        "concat_dim: int32, values: N*T, input_mins: N*float32, input_maxes: N*float32"
        " -> output: T, output_min: float32, output_max: float32",
        "Concatenates quantized tensors along a dimension; also returns a range that covers all of theirs.",
        N=attr.integer(2),
        T=attr.types(),
        host="concat_dim, input_mins, input_maxes, output_min, output_max",
        infer=_concat,
    )
)


@export("nn.quantized_conv2d")
def quantized_conv2d(
    input: TensorLike,
    filter: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    min_filter: TensorLike,
    max_filter: TensorLike,
    strides: int | Sequence[int],
    padding: str,
    out_type: DTypeLike = dtypes.qint32,
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Any:
    """Convolves quantized images with a quantized filter; also returns the range.

    Args:
        input: Images [batch, height, width, channels].
        filter: The kernel [height, width, channels in, channels out].
        min_filter: The number that the smallest quantized weight stands for.
        max_filter: The number that the largest quantized weight stands for.
    """
    return quantized_conv2d_op.many(
        input,
        filter,
        min_input,
        max_input,
        min_filter,
        max_filter,
        strides=strides,
        padding=padding,
        out_type=out_type,
        dilations=dilations,
        name=name,
    )
