"""Kernels of fake quantization: numbers rounded as if they were quantized, and their gradients."""

from __future__ import annotations

from typing import Any

import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.quantization import half_away, over
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor


def _nudged(low: Tensor, high: Tensor, attrs: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns a range nudged so that 0 is representable, the step size and its inverse."""
    least, most = float(attrs["narrow_range"]), float(2 ** attrs["num_bits"] - 1)
    scale, inverse = (high - low) / (most - least), over(most - least, high - low)
    zero = half_away((least - low / scale).clamp(least, most))
    return (least - zero) * scale, (most - zero) * scale, scale, inverse


def _rounded(x: Tensor, low: Tensor, high: Tensor, attrs: dict[str, Any], divide: bool) -> Tensor:
    least, most, scale, inverse = _nudged(low, high, attrs)
    zero = torch.floor(-least * inverse + 0.5)
    shifted = torch.maximum(torch.minimum(x, most), least) - least
    steps = torch.floor((shifted / scale if divide else shifted * inverse) - zero + 0.5)
    return (steps * scale).masked_fill((low == 0) & (high == 0), 0.0)


@kernel("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxArgsGradient")
def bind_fake_quant_args(node: Node, device: Device) -> Function:
    attrs = node.attrs
    low, high = (torch.tensor(attrs[key], dtype=torch.float32, device=device.torch) for key in ("min", "max"))
    if node.type == "FakeQuantWithMinMaxArgs":
        return lambda x: _rounded(x, low, high, attrs, divide=False)
    least, most, _, _ = _nudged(low, high, attrs)

    def inside(grad: Tensor, x: Tensor) -> Tensor:
        check(node, grad.shape, x.shape)
        return grad * ((x >= least) & (x <= most))

    return inside


@kernel("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def bind_fake_quant_vars(node: Node, device: Device) -> Function:
    attrs, divide = node.attrs, node.type == "FakeQuantWithMinMaxVars"

    def fake(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        check(node, x.shape, low.shape, high.shape)
        return _rounded(x, low, high, attrs, divide)

    return fake


@kernel("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient")
def bind_fake_quant_vars_grad(node: Node, device: Device) -> Function:
    attrs = node.attrs

    def gradients(grad: Tensor, x: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        check(node, grad.shape, x.shape, low.shape, high.shape)
        least, most, _, _ = _nudged(low, high, attrs)
        unused = (low == 0) & (high == 0)
        below, above = (x < least) & ~unused, (x > most) & ~unused
        dims = list(range(x.ndim - low.ndim))
        inside = ((x >= least) & (x <= most)) | unused
        sums = [(grad * beyond).sum(dims) if dims else grad * beyond for beyond in (below, above)]
        return grad * inside, *sums  # type: ignore[return-value]

    return gradients
