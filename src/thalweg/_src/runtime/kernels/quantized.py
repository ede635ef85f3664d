"""Kernels of arithmetic on quantized integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.windows import window_of
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.pooling import Pool
from thalweg._src.runtime.kernels.quantization import limits, to_integers, to_numbers
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor
Ranged = tuple[Tensor, Tensor, Tensor]
_SHIFT = 16  # fractional bits of TensorFlow's fixed-point requantization


def _end(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float32)


def _round(x: float) -> int:
    return math.floor(x + 0.5) if x >= 0 else -math.floor(0.5 - x)


def _step_of(number: float, low: Tensor, high: Tensor, dtype: DType) -> int:
    """Returns the unclamped integer that represents a number."""
    least, most = limits(dtype)
    if float(low) == float(high):
        return least
    count = most - least + 1
    scale = count / (float(high - low) * (count / (count - 1.0)))
    return _round(number * scale) - _round(float(low) * scale) + least


def _number_of(step: int, low: Tensor, high: Tensor, dtype: DType) -> float:
    """Returns the number that an integer represents, in single precision."""
    least, most = limits(dtype)
    if float(low) == float(high):
        return float(low)
    count = most - least + 1
    scale = float(high - low) * (count / (count - 1.0)) / count
    narrow = np.float32(scale)
    start = float(np.float32(_round(float(np.float32(float(low)) / narrow))) * narrow)
    return float(np.float32(start + (step - least) * scale))


def _checked(node: Node, *tensors: Tensor, **options: Any) -> None:
    check(node, *(tensor.shape for tensor in tensors), **options)


@kernel("QuantizedRelu", "QuantizedRelu6", "QuantizedReluX")
def bind_relu(node: Node, device: Device) -> Function:
    dtype = _unchanged_type(node)
    least, most = limits(dtype)

    def relu(x: Tensor, *ends: Tensor) -> Ranged:
        _checked(node, x, *ends)
        low, high = ends[-2:]
        top = {"QuantizedRelu": None, "QuantizedRelu6": 6.0}.get(node.type, float(ends[0]))
        steps = [None if v is None else min(max(_step_of(v, low, high, dtype), least), most) for v in (0.0, top)]
        wide = x.to(torch.int32)
        return torch.clamp(wide, *steps).to(x.dtype), low, high

    return relu


def _unchanged_type(node: Node) -> DType:
    """Returns the type of an op that does not change it."""
    in_type, out_type = node.attrs["Tinput"], node.attrs["out_type"]
    if in_type is not out_type:
        raise invalid(f"out_type is {out_type.name}, expected that of features, {in_type.name}")
    return in_type  # type: ignore[no-any-return]


@kernel("QuantizedMaxPool", "QuantizedAvgPool", devices=("CPU",))
def bind_pool(node: Node, device: Device) -> Function:
    pool = Pool(node, node.input_shape(0))
    layout, dtype = pool.layout, TORCH[node.attrs["T"]]

    def reduce(x: Tensor, low: Tensor, high: Tensor) -> Ranged:
        _checked(node, x, low, high)
        if node.type == "QuantizedMaxPool":
            return layout.leave(pool.maximum(layout.enter(x.to(torch.int32)))[0]).to(dtype), low, high
        mean = layout.leave(pool.mean(layout.enter(x.double())))
        # Truncated like integer division; an exact quotient may have been rounded down slightly.
        return torch.trunc(mean + torch.sign(mean) * 1e-9).to(dtype), low, high

    return reduce


def _product_range(first: tuple[Tensor, Tensor, DType], second: tuple[Tensor, Tensor, DType], result: DType) -> Any:
    """Returns the range of the result type, one step of which is the product of the inputs' steps."""
    step = _end(1.0)
    for low, high, dtype in (first, second):
        least, most = limits(dtype)
        step = step * ((high - low) / float(most - least))
    least, most = limits(result)
    return step * float(least), step * float(most)


def _centered(x: Tensor, ends: Sequence[Tensor], dtype: DType) -> Tensor:
    """Returns integers minus the zero point, in a type whose products and sums are exact."""
    return x.double() - _step_of(0.0, ends[0], ends[1], dtype)


def _saturated(x: Tensor, dtype: DType) -> Tensor:
    return x.clamp(*limits(dtype)).to(torch.int64).to(TORCH[dtype])


@kernel("QuantizedMatMul", "QuantizedMul", devices=("CPU",))
def bind_product(node: Node, device: Device) -> Function:
    attrs = node.attrs
    types, result = (attrs["T1"], attrs["T2"]), attrs["Toutput"]

    def multiply(a: Tensor, b: Tensor, *ends: Tensor) -> Ranged:
        _checked(node, a, b, *ends)
        if bool(ends[1] <= ends[0]) or bool(ends[3] <= ends[2]):
            raise invalid("the end of a range is not greater than its beginning")
        x, y = _centered(a, ends[:2], types[0]), _centered(b, ends[2:], types[1])
        if node.type == "QuantizedMul":
            product = x * y
        else:
            product = (x.mT if attrs["transpose_a"] else x) @ (y.mT if attrs["transpose_b"] else y)
        span = _product_range((*ends[:2], types[0]), (*ends[2:], types[1]), result)
        return _saturated(product, result), *span

    return multiply


@kernel("QuantizedConv2D", devices=("CPU",))
def bind_conv2d(node: Node, device: Device) -> Function:
    attrs, window = node.attrs, window_of(node.attrs)
    types, result = (attrs["Tinput"], attrs["Tfilter"]), attrs["out_type"]

    def convolve(image: Tensor, filter: Tensor, *ends: Tensor) -> Ranged:
        _checked(node, image, filter, *ends)
        span = _product_range((*ends[:2], types[0]), (*ends[2:], types[1]), result)
        sizes, extents = tuple(image.shape[1:3]), tuple(filter.shape[:2])
        shape: list[Any] = [image.shape[0], *window.output(sizes, extents), filter.shape[3]]
        if 0 in shape or 0 in image.shape:
            return torch.zeros(shape, dtype=TORCH[result], device=image.device), *span
        pads = window.pads(sizes, extents)
        assert pads is not None
        x = _centered(image, ends[:2], types[0]).permute(0, 3, 1, 2)
        x = torch.constant_pad_nd(x, [size for pair in reversed(pads) for size in pair])
        w = _centered(filter, ends[2:], types[1]).permute(3, 2, 0, 1)
        y = torch.conv2d(x, w, None, window.strides, 0, window.dilations)
        return _saturated(y.round(), result).permute(0, 2, 3, 1), *span

    return convolve


@kernel("QuantizedBiasAdd")
def bind_bias_add(node: Node, device: Device) -> Function:
    attrs = node.attrs
    types, result = (attrs["T1"], attrs["T2"]), attrs["out_type"]

    def add(x: Tensor, bias: Tensor, *ends: Tensor) -> Ranged:
        _checked(node, x, bias, *ends)
        # A symmetric range with room for many summands.
        high = max(float(ends[1]), -float(ends[0]), float(ends[3]), -float(ends[2])) * (1 << 17)
        span = _end(-high), _end(high)
        a, b = (
            to_integers(to_numbers(value, low, top, dtype), *span, result).to(torch.int64)
            for value, low, top, dtype in zip((x, bias), ends[::2], ends[1::2], types)
        )
        return _wrapped(a + b + _step_of(0.0, *span, result), result), *span

    return add


def _wrapped(x: Tensor, dtype: DType) -> Tensor:
    return x.to(TORCH[dtype])


@kernel("QuantizedReshape")
def bind_reshape(node: Node, device: Device) -> Function:
    def reshape(x: Tensor, shape: Tensor, low: Tensor, high: Tensor) -> Ranged:
        _checked(node, x, shape, low, high, values={1: shape.numpy()})
        return x.reshape(shape.tolist()), low, high

    return reshape


def requantize(
    x: Tensor, low: Tensor, high: Tensor, least: Tensor, most: Tensor, source: DType, dtype: DType
) -> Tensor:
    """Converts integers of one range to another; from 32 bits to 8 in TensorFlow's fixed-point arithmetic."""
    if source is not dtypes.qint32 or dtype is not dtypes.quint8:
        return to_integers(to_numbers(x, low, high, source), least, most, dtype)
    old_span, new_span = float(high - low), float(most - least)
    if new_span == 0:
        return torch.zeros_like(x, dtype=torch.uint8)
    middle = np.float32(float(low + high) / 2.0) * np.float32(255.0 / new_span)
    scale = int(255.0 * (1 << _SHIFT) * old_span / new_span)
    offset = int(middle * np.float32(1 << _SHIFT)) - _round((1 << _SHIFT) * (float(least) * 255.0) / new_span)
    steps = ((x.to(torch.int64) * scale) >> 32) + (offset + (1 << (_SHIFT - 1)))
    return (steps >> _SHIFT).clamp(0, 255).to(torch.uint8)


@kernel("Requantize")
def bind_requantize(node: Node, device: Device) -> Function:
    source, dtype = node.attrs["Tinput"], node.attrs["out_type"]

    def change(x: Tensor, low: Tensor, high: Tensor, least: Tensor, most: Tensor) -> Ranged:
        _checked(node, x, low, high, least, most)
        if not (float(least) <= 0 and float(least) <= float(most)):
            text = f"the requested range is {float(least)} to {float(most)}, expected one that starts at or below 0"
            raise invalid(text)
        return requantize(x, low, high, least, most, source, dtype), least, most

    return change


def _taken(x: Tensor, low: Tensor, high: Tensor, dtype: DType) -> tuple[Tensor, Tensor]:
    """Returns the range that the integers cover, starting at or below 0."""
    least, most = limits(dtype)
    first, last = (int(x.min()), int(x.max())) if x.numel() else (most, least)
    return _end(min(0.0, _number_of(first, low, high, dtype))), _end(_number_of(last, low, high, dtype))


@kernel("QuantizeDownAndShrinkRange")
def bind_shrink(node: Node, device: Device) -> Function:
    source, dtype = node.attrs["Tinput"], node.attrs["out_type"]

    def shrink(x: Tensor, low: Tensor, high: Tensor) -> Ranged:
        _checked(node, x, low, high)
        span = _taken(x, low, high, source)
        return requantize(x, low, high, *span, source, dtype), *span

    return shrink


@kernel("RequantizationRange")
def bind_requantization_range(node: Node, device: Device) -> Function:
    def taken(x: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        _checked(node, x, low, high)
        return _taken(x, low, high, node.attrs["Tinput"])

    return taken


@kernel("QuantizedConcat", T=dtypes.QUANTIZED)
def bind_concat(node: Node, device: Device) -> Function:
    count, dtype = node.attrs["N"], node.attrs["T"]

    def concat(axis: Tensor, *inputs: Tensor) -> Ranged:
        _checked(node, axis, *inputs, values={0: axis.numpy()})
        tensors, lows, highs = inputs[:count], inputs[count : 2 * count], inputs[2 * count :]
        low, high = min(0.0, *map(float, lows)), max(map(float, highs))
        if limits(dtype)[0] < 0:
            high = max(abs(low), abs(high))
            low = -high
        span = _end(low), _end(high)
        joined = [
            values
            if (float(least), float(most)) == (float(span[0]), float(span[1]))
            else to_integers(to_numbers(values, least, most, dtype), *span, dtype)
            for values, least, most in zip(tensors, lows, highs)
        ]
        return torch.cat(joined, int(axis)), *span

    return concat
