"""Kernels of random number ops: one generator per node that lives with the session, or one per call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.entropy import fresh_op_seed
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import Bind, Call, Constant, Input, kernel
from thalweg._src.runtime.kernels.types import TORCH, TensorValue
from thalweg._src.runtime.resources.devices import Device

Sampler = Callable[..., torch.Tensor]
_ROOT_2 = 2**0.5
_ERF_ROOT_2 = 0.9544997361036416  # the probability within two standard deviations
_BITS = 63


def seeded(device: torch.device, *seeds: int) -> torch.Generator:
    """Returns a generator for the seeds, which are mixed, since torch maps similar seeds to similar states."""
    generator = torch.Generator(device)
    mixed = np.random.SeedSequence([seed & (2**64 - 1) for seed in seeds]).generate_state(1, np.uint64)
    generator.manual_seed(int(mixed[0]))
    return generator


def _seeded_by(device: torch.device, seed: torch.Tensor) -> torch.Generator:
    """Returns the generator of one call."""
    require(seed.shape == (2,), f"seed has shape {list(seed.shape)}", expected="two seeds")
    return seeded(device, *seed.tolist())


def generator_of(node: Node, device: Device) -> torch.Generator:
    """Returns the node's generator, whose state persists between steps; without seeds it starts randomly."""

    def make() -> torch.Generator:
        seed, seed2 = node.attrs["seed"], node.attrs["seed2"]
        if seed or seed2:
            return seeded(device.torch, seed, seed2)
        generator = torch.Generator(device.torch)
        generator.manual_seed(fresh_op_seed())
        return generator

    return device.state(node.name, make)  # type: ignore[no-any-return]


def drawing(bind: Bind) -> Bind:
    """Makes a kernel wait while another thread captures the use of a generator, which must not be drawn from then."""

    @functools.wraps(bind)
    def bind_alone(node: Node, device: Device) -> Callable[..., Any] | Call | Constant:
        bound = bind(node, device)
        if device.accelerator is None or isinstance(bound, Constant):
            return bound
        call = bound if isinstance(bound, Call) else Call(bound, tuple(Input(i) for i in range(len(node.inputs))))

        def draw(*args: object, **options: object) -> Any:
            with device.drawing:
                return call.function(*args, **options)

        return Call(draw, call.args, call.kwargs)

    return bind_alone


def _truncated_normal(
    shape: Sequence[int], *, generator: torch.Generator, dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """Inverts the distribution function between two standard deviations, which needs no rejection."""
    wide = dtype if dtype.itemsize >= 4 else torch.float32
    u = torch.empty(shape, dtype=wide, device=device).uniform_(-_ERF_ROOT_2, _ERF_ROOT_2, generator=generator)
    return u.erfinv_().mul_(_ROOT_2).clamp_(-2, 2).to(dtype)


_SAMPLERS: dict[str, Sampler] = {
    "RandomUniform": torch.rand,
    "RandomStandardNormal": torch.randn,
    "TruncatedNormal": _truncated_normal,
    "StatelessRandomUniform": torch.rand,
    "StatelessRandomNormal": torch.randn,
    "StatelessTruncatedNormal": _truncated_normal,
}


@kernel("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
@drawing
def bind_sampler(node: Node, device: Device) -> Callable[..., Any] | Call:
    sampler = _SAMPLERS[node.type]
    options = {"generator": generator_of(node, device), "dtype": TORCH[node.dtypes[0]], "device": device.torch}
    shape = node.constant(0)
    if shape is not None:
        return Call(sampler, (tuple(shape.tolist()),), options)
    return lambda shape: sampler(shape.tolist(), **options)


@kernel("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal")
def bind_stateless_sampler(node: Node, device: Device) -> Callable[..., Any]:
    sampler, dtype = _SAMPLERS[node.type], TORCH[node.dtypes[0]]

    def sample(shape: torch.Tensor, seed: torch.Tensor) -> torch.Tensor:
        generator = _seeded_by(device.torch, seed)
        return sampler(shape.tolist(), generator=generator, dtype=dtype, device=device.torch)

    return sample


def _integers(
    shape: torch.Tensor, minval: torch.Tensor, maxval: torch.Tensor, generator: torch.Generator
) -> torch.Tensor:
    """Draws uniform integers in [minval, maxval): draws from an incomplete last cycle are rejected."""
    low, high = int(minval), int(maxval)
    if low >= high:
        raise invalid(f"Need minval < maxval, got {low} >= {high}")
    count = high - low
    sizes, device = shape.tolist(), generator.device
    if count > 2**_BITS:
        values = torch.empty(sizes, dtype=torch.int64, device=device).random_(-(2**63), None, generator=generator)
        return _redraw(values, lambda v: (v < low) | (v >= high), generator, -(2**63))
    values = torch.empty(sizes, dtype=torch.int64, device=device).random_(generator=generator)
    limit = 2**_BITS // count * count
    if count > 2**32 and limit < 2**_BITS:  # below, the bias is less than one in a billion
        values = _redraw(values, lambda v: v >= limit, generator, 0)
    return torch.remainder(values, count).add_(low).to(minval.dtype)


def _redraw(
    values: torch.Tensor, refused: Callable[[torch.Tensor], torch.Tensor], generator: torch.Generator, least: int
) -> torch.Tensor:
    while True:
        bad = refused(values)
        if not bool(bad.any()):
            return values
        values[bad] = torch.empty_like(values[bad]).random_(least, None, generator=generator)


@kernel("RandomUniformInt")
@drawing
def bind_integers(node: Node, device: Device) -> Callable[..., Any]:
    generator = generator_of(node, device)
    return lambda shape, minval, maxval: _integers(shape, minval, maxval, generator)


@kernel("StatelessRandomUniformInt")
def bind_stateless_integers(node: Node, device: Device) -> Callable[..., Any]:
    return lambda shape, seed, minval, maxval: _integers(shape, minval, maxval, _seeded_by(device.torch, seed))


@kernel("RandomShuffle")
@drawing
def bind_shuffle(node: Node, device: Device) -> Callable[..., Any]:
    generator = generator_of(node, device)

    def shuffle(value: torch.Tensor) -> torch.Tensor:
        if value.dim() == 0:
            return value
        order = torch.randperm(value.shape[0], generator=generator, device=device.torch)
        return torch.index_select(value, 0, order)

    return shuffle


@kernel("RandomShuffle", T=[dtypes.string], devices=["CPU"], priority=1)
def bind_shuffle_strings(node: Node, device: Device) -> Callable[..., Any]:
    generator = generator_of(node, device)

    def shuffle(value: TensorValue) -> Any:
        return value[torch.randperm(value.shape[0], generator=generator).numpy()] if value.ndim else value

    return shuffle


def _for_each(shape: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """Broadcasts a parameter over a sample of the shape."""
    return parameter.expand((*shape.tolist(), *parameter.shape))


@kernel("RandomGamma")
@drawing
def bind_gamma(node: Node, device: Device) -> Callable[..., Any]:
    generator, dtype = generator_of(node, device), TORCH[node.dtypes[0]]
    wide = dtype if dtype.itemsize >= 4 else torch.float32
    return lambda shape, alpha: torch._standard_gamma(_for_each(shape, alpha.to(wide)), generator=generator).to(dtype)


@kernel("RandomGammaGrad")
def bind_gamma_grad(node: Node, device: Device) -> Callable[..., Any]:
    return lambda alpha, sample: torch._standard_gamma_grad(*torch.broadcast_tensors(alpha, sample))  # type: ignore[no-untyped-call]


@kernel("RandomPoissonV2")
@drawing
def bind_poisson(node: Node, device: Device) -> Callable[..., Any]:
    generator, dtype = generator_of(node, device), TORCH[node.dtypes[0]]

    def draw(shape: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
        rates = _for_each(shape, rate.double())
        if rates.device.type != "cpu":  # a GPU checks no values, and torch's kernel there aborts the process
            rates = torch.where(rates >= 0, rates, 0.0)
        return torch.poisson(rates, generator=generator).to(dtype)

    return draw


def _draws(logits: torch.Tensor, count: int, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    """Draws classes by inverting the cumulative probabilities; a class of probability 0 is never drawn."""
    if logits.dim() != 2 or count < 0 or (logits.shape[1] == 0 and logits.shape[0]):
        raise invalid(f"cannot draw {count} samples from logits of shape {list(logits.shape)}")
    u = torch.rand((logits.shape[0], count), generator=generator, dtype=torch.float64, device=logits.device)
    if not u.numel():
        return u.to(dtype)
    total = torch.cumsum(torch.softmax(logits.double(), 1), 1)
    classes = torch.searchsorted(total, u * total[:, -1:], right=True)
    return classes.clamp_(max=logits.shape[1] - 1).to(dtype)


@kernel("Multinomial")
@drawing
def bind_multinomial(node: Node, device: Device) -> Callable[..., Any]:
    generator, dtype = generator_of(node, device), TORCH[node.dtypes[0]]
    return lambda logits, count: _draws(logits, int(count), generator, dtype)


@kernel("StatelessMultinomial")
def bind_stateless_multinomial(node: Node, device: Device) -> Callable[..., Any]:
    dtype = TORCH[node.dtypes[0]]
    return lambda logits, count, seed: _draws(logits, int(count), _seeded_by(device.torch, seed), dtype)
