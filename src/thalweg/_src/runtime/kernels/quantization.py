"""Kernels of quantization, in single precision and with TensorFlow's rounding order, so that results are identical."""

from __future__ import annotations

import torch

from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor
_MOST = 2147483520.0  # the largest float32 that is a valid int32


def limits(dtype: DType) -> tuple[int, int]:
    """Returns the smallest and the largest integer of a quantized type."""
    info = torch.iinfo(TORCH[dtype])
    return info.min, info.max


def half_away(x: Tensor) -> Tensor:
    """Rounds to the nearest integer, halves away from 0."""
    whole = torch.trunc(x)
    return torch.where((x - whole).abs() >= 0.5, whole + torch.sign(x), whole)


def along(values: Tensor, axis: int, x: Tensor) -> Tensor:
    """Reshapes a bound of a range so that it broadcasts over the slices of its axis."""
    values = values.to(x.device)
    if axis == -1:
        return values.reshape(())
    return values.view([-1 if d == axis else 1 for d in range(x.ndim)])


def over(number: float, x: Tensor) -> Tensor:
    """Divides a number by a tensor; torch itself multiplies by the reciprocal, which rounds twice."""
    return torch.full_like(x, number) / x


def to_integers(x: Tensor, low: Tensor, high: Tensor, dtype: DType) -> Tensor:
    """Quantizes numbers to the steps of a range in which 0 is exact (MIN_FIRST)."""
    least, most = limits(dtype)
    scale = torch.where(high == low, 0.0, over(most - least, (high - low).double()).float())
    start = half_away(low * scale)
    steps = half_away(x * scale) - (start - float(least))
    return steps.clamp(float(least), min(float(most), _MOST)).to(torch.int32).to(TORCH[dtype])


def to_numbers(q: Tensor, low: Tensor, high: Tensor, dtype: DType) -> Tensor:
    """Dequantizes such integers."""
    least, most = limits(dtype)
    scale = ((high - low).double() / (most - least)).float()
    start = torch.where(high == low, low, half_away(low / scale) * scale)
    return (start - float(least) * scale) + q.float() * scale


@kernel("QuantizeV2")
def bind_quantize(node: Node, device: Device) -> Function:
    attrs, dtype = node.attrs, node.attrs["T"]
    axis, mode = attrs["axis"], attrs["mode"]

    def quantize(x: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        check(node, x.shape, low.shape, high.shape)
        if bool((high < low).any()):
            raise invalid("max_range is less than min_range")
        largest = torch.maximum(low.abs(), high.abs()).clamp(min=1.0)
        least = low.clamp(max=0.0)
        most = torch.maximum(high, least + largest * attrs["ensure_minimum_range"]).clamp(min=0.0)
        if mode == "SCALED":
            scale, least, most = _scaled(least, most, dtype, attrs["narrow_range"])
            inside = torch.maximum(torch.minimum(x, along(most, axis, x)), along(least, axis, x))
            product = inside * along(scale, axis, x)
            steps = torch.round(product) if attrs["round_mode"] == "HALF_TO_EVEN" else half_away(product)
            return _cast(steps, dtype), least, most
        if mode == "MIN_FIRST":
            return to_integers(x, along(least, axis, x), along(most, axis, x), dtype), least, most
        return _combined(x, along(least, axis, x), along(most, axis, x), dtype), least, most

    return quantize


def _combined(x: Tensor, low: Tensor, high: Tensor, dtype: DType) -> Tensor:
    least, most = limits(dtype)
    scale = over(most - least, (high - low).double()).float()
    steps = (torch.maximum(torch.minimum(x, high), low) - low) * scale
    if least == 0:
        return _cast(torch.trunc(steps + 0.5), dtype)
    return _cast(half_away(steps - (most - least + 1) / 2), dtype)


def _scaled(low: Tensor, high: Tensor, dtype: DType, narrow: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the scale that maps 0 to 0, and the range of all quantized values."""
    least, most = limits(dtype)
    least += int(narrow)
    greatest = torch.finfo(torch.float32).max
    by_low = torch.where(least * low > 0, over(least, low), greatest)
    by_high = torch.where(most * high > 0, over(most, high), greatest)
    scale = torch.minimum(by_low, by_high)
    return scale, over(least, scale), over(most, scale)


def _cast(steps: Tensor, dtype: DType) -> Tensor:
    """Converts rounded values to integers, saturating at the type's limits."""
    least, most = limits(dtype)
    return steps.double().nan_to_num().clamp(least, most).to(torch.int64).to(TORCH[dtype])


@kernel("Dequantize")
def bind_dequantize(node: Node, device: Device) -> Function:
    attrs, dtype = node.attrs, node.attrs["T"]
    axis, mode, result = attrs["axis"], attrs["mode"], TORCH[node.attrs["dtype"]]
    least, most = limits(dtype)

    def dequantize(q: Tensor, low: Tensor, high: Tensor) -> Tensor:
        check(node, q.shape, low.shape, high.shape)
        low, high = along(low, axis, q), along(high, axis, q)
        if mode == "MIN_FIRST":
            return to_numbers(q, low, high, dtype).to(result)
        if mode == "SCALED":
            scale = high / most if least == 0 else torch.maximum(low / (least + attrs["narrow_range"]), high / most)
            return (q.float() * scale).to(result)
        half = 0.0 if least == 0 else (most - least + 1) / 2
        return ((q.float() + half) * ((high - low) / float(most - least)) + low).to(result)

    return dequantize


@kernel("QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4")
def bind_simulated(node: Node, device: Device) -> Function:
    attrs = node.attrs
    dtype, axis, has_range = TORCH[attrs["T"]], attrs.get("axis", -1), attrs["range_given"]
    wide = torch.float32 if dtype.itemsize < 4 else dtype
    up = attrs.get("round_mode", "HALF_TO_EVEN") == "HALF_UP"

    def simulate(x: Tensor, *others: Tensor) -> Tensor:
        if others:
            values = {3: others[2].numpy()} if len(others) > 2 else None
            check(node, x.shape, *(other.shape for other in others), values=values)
            ends = [along(end.to(wide), axis, x) for end in others[:2]] if has_range else []
        else:
            ends = [torch.tensor(attrs[key], dtype=wide, device=x.device) for key in ("input_min", "input_max")]
        if not x.numel():
            return x
        bits = int(others[2]) if len(others) > 2 else attrs["num_bits"]
        numbers = x.to(wide)
        if not has_range:
            dims = [d for d in range(x.ndim) if d != axis]
            ends = [numbers.amin(dims, keepdim=True), numbers.amax(dims, keepdim=True)]
        elif bool((ends[0] > ends[1]).any()):
            raise invalid("input_min is greater than input_max")
        low, high = ends
        narrow = attrs.get("narrow_range", False)
        low, high, scale, inverse = _simulated_range(low, high, attrs["signed_input"], bits, narrow)
        if has_range:
            numbers = torch.maximum(torch.minimum(numbers, high), low)
        product = numbers * scale
        steps = torch.floor(product + 0.5) if up else torch.round(product)
        return (steps * inverse).to(dtype)

    return simulate


def _simulated_range(
    low: Tensor, high: Tensor, signed: bool, bits: int, narrow: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns the covered range, the scale and its inverse, with 0 represented exactly."""
    least = -(2 ** (bits - 1)) + int(narrow) if signed else 0
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    greatest = torch.finfo(low.dtype).max
    by_low = torch.where(least * low > 0, over(least, low), greatest)
    by_high = torch.where(most * high > 0, over(most, high), greatest)
    lower = by_low < by_high
    inverse = torch.where(lower, low / least if least else torch.zeros_like(low), high / most)
    scale = torch.where(lower, by_low, by_high)
    return torch.where(lower, low, least * inverse), torch.where(lower, most * inverse, high), scale, inverse


@kernel("QuantizeAndDequantizeV4Grad")
def bind_simulated_grad(node: Node, device: Device) -> Function:
    axis = node.attrs["axis"]

    def inside(grad: Tensor, x: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        check(node, grad.shape, x.shape, low.shape, high.shape)
        in_range = (x >= along(low, axis, x)) & (x <= along(high, axis, x))
        nothing = torch.zeros(low.shape, dtype=grad.dtype, device=grad.device)
        return grad * in_range, nothing, nothing.clone()

    return inside
