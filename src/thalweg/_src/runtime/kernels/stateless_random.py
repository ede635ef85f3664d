"""Kernels of parameterized stateless random ops."""

from __future__ import annotations

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.random import seeded
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor


def _binomial(generator: torch.Generator, counts: Tensor, probs: Tensor) -> Tensor:
    wrong = ~((counts >= 0) & (probs >= 0) & (probs <= 1))
    counts, probs = counts.masked_fill(wrong, 0).floor(), probs.masked_fill(wrong, 0)
    return torch.binomial(counts, probs, generator).masked_fill(wrong, torch.nan)


def _gamma(generator: torch.Generator, alpha: Tensor) -> Tensor:
    return torch._standard_gamma(alpha, generator=generator)


def _poisson(generator: torch.Generator, rates: Tensor) -> Tensor:
    wrong = ~((rates >= 0) & rates.isfinite())
    return torch.poisson(rates.masked_fill(wrong, 0), generator=generator).masked_fill(wrong, torch.nan)


def _truncated_normal(generator: torch.Generator, mean: Tensor, deviation: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Inverts the distribution function between the bounds, from the side of the nearer tail."""
    if not bool(((deviation > 0) & (low < high)).all()):
        raise invalid("stddevs must be > 0, and minvals < maxvals")
    a, b = (low - mean) / deviation, (high - mean) / deviation
    turned = a > -b
    first, last = torch.where(turned, -b, a), torch.where(turned, -a, b)
    start, end = torch.special.ndtr(first), torch.special.ndtr(last)
    u = torch.rand(mean.shape, generator=generator, dtype=mean.dtype, device=mean.device)
    z = torch.special.ndtri(start + u * (end - start))
    z = torch.maximum(torch.minimum(torch.where(turned, -z, z), b), a)
    return mean + deviation * z


_SAMPLERS: dict[str, Function] = {
    "StatelessRandomBinomial": _binomial,
    "StatelessRandomGammaV2": _gamma,
    "StatelessRandomPoisson": _poisson,
    "StatelessParameterizedTruncatedNormal": _truncated_normal,
}


@kernel(*_SAMPLERS)
def bind_sampler(node: Node, device: Device) -> Function:
    sampler, dtype = _SAMPLERS[node.type], TORCH[node.dtypes[0]]

    def sample(shape: Tensor, seed: Tensor, *parameters: Tensor) -> Tensor:
        shapes = (parameter.shape for parameter in parameters)
        check(node, shape.shape, seed.shape, *shapes, values={0: shape.numpy()})
        generator = seeded(device.torch, *seed.tolist())
        result = sampler(generator, *(p.double().expand(shape.tolist()) for p in parameters))
        return result.to(dtype)  # type: ignore[no-any-return]

    return sample


@kernel("StatelessRandomUniformFullInt")
def bind_full_int(node: Node, device: Device) -> Function:
    dtype = TORCH[node.attrs["dtype"]]

    def sample(shape: Tensor, seed: Tensor) -> Tensor:
        check(node, shape.shape, seed.shape, values={0: shape.numpy()})
        values = torch.empty(shape.tolist(), dtype=torch.int64, device=device.torch)
        values.random_(-(2**63), None, generator=seeded(device.torch, *seed.tolist()))
        return values.view(dtype) if dtype.itemsize == 8 else (values >> 32).to(torch.int32).view(dtype)

    return sample
