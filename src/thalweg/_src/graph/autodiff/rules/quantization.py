"""Gradients of fake quantization: the straight-through estimator."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.quantization import quantize_and_dequantize_v4_grad
from thalweg._src.graph.tensor import Tensor


@gradient("QuantizeAndDequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3")
def straight_through(op: Operation, grad: Tensor) -> list[Any]:
    return [grad, *[None] * (len(op.inputs) - 1)]


@gradient("QuantizeAndDequantizeV4")
def inside_the_range(op: Operation, grad: Tensor) -> list[Any]:
    return list(quantize_and_dequantize_v4_grad.many(grad, *op.inputs, axis=op.attrs["axis"]))
