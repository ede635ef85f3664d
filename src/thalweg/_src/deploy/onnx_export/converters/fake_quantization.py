"""Converters of fake quantization: pairs of QuantizeLinear and DequantizeLinear where the range is constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter, Quantized
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node

Array = np.ndarray[Any, Any]


@converter("FakeQuantWithMinMaxArgs")
def by_arguments(w: GraphWriter, node: Node, x: str) -> str:
    return _quantized(w, node, x, np.float32(node.attrs["min"]), np.float32(node.attrs["max"]))


@converter("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def by_variables(w: GraphWriter, node: Node, x: str, low: str, high: str) -> str:
    """Quantizes in steps; per channel, along the last axis."""
    bounds = w.static_value(low), w.static_value(high)
    if bounds[0] is not None and bounds[1] is not None:
        return _quantized(w, node, x, bounds[0], bounds[1])
    return _computed(w, node, x, low, high)


def _levels(node: Node) -> tuple[int, int]:
    """Returns the smallest and the largest level."""
    return int(bool(node.attrs["narrow_range"])), (1 << int(node.attrs["num_bits"])) - 1


def _quantized(w: GraphWriter, node: Node, x: str, low: Array | np.float32, high: Array | np.float32) -> str:
    """Quantizes to a range that has 0 among its steps, as TensorFlow moves it."""
    first, last = _levels(node)
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    scale = (high - low) / np.float32(last - first)
    steps = np.where(scale > 0, scale, np.float32(1)).astype(np.float32)
    zero = np.clip(np.floor(first - low / steps + 0.5), first, last)
    smallest, largest = (first - zero) * steps, (last - zero) * steps
    if last > 255 or bool(np.any(scale <= 0)):
        return _computed(w, node, x, w.constant(low), w.constant(high))
    constant = w.static_value(x)
    if constant is not None and constant.size:
        inside = np.clip(constant, smallest, largest) - smallest
        levels = np.floor(inside / steps + np.float32(0.5)) + first
        return w.dequantized(_stored(levels, steps, zero))
    if (first, last) != (0, 255):  # the type has levels that are not used
        bounds = [w.constant(bound.astype(np.float32)) for bound in (smallest, largest)]
        x = w.add("Min", w.add("Max", x, bounds[0]), bounds[1])
    step_and_zero = (w.constant(steps), w.constant(zero.astype(np.uint8)))
    shape = node.input_shape(0)
    axis = {"axis": len(shape) - 1} if low.ndim == 1 and shape is not None else {}
    return w.add("DequantizeLinear", w.add("QuantizeLinear", x, *step_and_zero, **axis), *step_and_zero, **axis)


def _stored(levels: Array, steps: Array, zero: Array) -> Quantized:
    """Returns a constant in bytes: signed with 0 for 0, as kernels prefer it, if all levels fit."""
    shifted = levels - zero
    if shifted.min() >= -128 and shifted.max() <= 127:
        values, zeros = shifted.astype(np.int8), np.zeros(zero.shape, np.int8)
    else:
        values, zeros = levels.astype(np.uint8), zero.astype(np.uint8)
    return Quantized(values, np.broadcast_to(steps, values.shape), np.broadcast_to(zeros, values.shape))


def _computed(w: GraphWriter, node: Node, x: str, low: str, high: str) -> str:
    """Rounds to steps with arithmetic, for ranges that are computed, and for more levels than a byte has."""
    first, last = (w.like(level, dtypes.float32) for level in _levels(node))
    half = w.like(0.5, dtypes.float32)
    scale = w.add("Div", w.add("Sub", high, low), w.add("Sub", last, first))
    zero = w.add("Floor", w.add("Add", w.add("Sub", first, w.add("Div", low, scale)), half))
    zero = w.add("Min", w.add("Max", zero, first), last)
    smallest, largest = (w.add("Mul", w.add("Sub", level, zero), scale) for level in (first, last))
    inside = w.add("Min", w.add("Max", x, smallest), largest)
    level = w.add("Floor", w.add("Add", w.add("Div", w.add("Sub", inside, smallest), scale), half))
    result = w.add("Add", w.add("Mul", level, scale), smallest)
    is_empty = w.add("Equal", scale, w.like(0, dtypes.float32))
    return w.add("Where", is_empty, w.like(0, dtypes.float32), result)
