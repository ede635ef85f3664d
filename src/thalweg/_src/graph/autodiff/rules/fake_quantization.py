"""Gradients of fake quantization: as if nothing had been rounded."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import fake_quantization
from thalweg._src.graph.tensor import Tensor


@gradient("FakeQuantWithMinMaxArgs")
def fake_quant_args(op: Operation, grad: Tensor) -> Tensor:
    return fake_quantization.fake_quant_with_min_max_args_gradient(grad, op.inputs[0], **op.attrs)


@gradient("FakeQuantWithMinMaxVars")
def fake_quant_vars(op: Operation, grad: Tensor) -> list[Any]:
    backward = fake_quantization.fake_quant_with_min_max_vars_gradient
    return list(backward.many(grad, *op.inputs, **op.attrs))


@gradient("FakeQuantWithMinMaxVarsPerChannel")
def fake_quant_vars_per_channel(op: Operation, grad: Tensor) -> list[Any]:
    backward = fake_quantization.fake_quant_with_min_max_vars_per_channel_gradient
    return list(backward.many(grad, *op.inputs, **op.attrs))
