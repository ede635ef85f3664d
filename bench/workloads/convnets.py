"""Four networks as data: those of soumith/convnet-benchmarks, as in the table of the OSDI paper.

Forward, backward and momentum update on one batch that stays on the device. There is no dropout and no local response
normalization, as in that table; every convolution and dense layer has a bias and a ReLU, the last dense layer only a
bias. GoogleNet is the first version, without auxiliary heads. Initial values are uniform with the variance 2 / fan-in,
biases zero. All systems flatten in the order height, width, channels, so that they share one set of initial values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

RATE = 0.0003  # small, since after a few large steps rounding alone makes losses differ
MOMENTUM = 0.9
TINY_BATCH = 4
TINY_PART = 16  # divisor of the widths of tiny networks
PRECISIONS = ("tf32", "bf16")


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolution with bias and ReLU, with equal padding on all sides."""

    channels: int
    size: int
    stride: int = 1
    pad: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """Max pooling; `same`: with TensorFlow's SAME padding."""

    size: int
    stride: int
    same: bool = False


@dataclass(frozen=True, slots=True)
class Average:
    """The mean over the whole image."""


@dataclass(frozen=True, slots=True)
class Branches:
    """Chains of layers on the same images, with their outputs concatenated along the channels."""

    chains: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Dense:
    """A dense layer with bias and, unless it is the last, ReLU."""

    width: int
    last: bool = False


Layer = Conv | Pool | Average | Branches | Dense
Values = tuple[np.ndarray, np.ndarray]  # weights (HWIO, or rows and columns) and biases


@dataclass(frozen=True, slots=True)
class Network:
    """A network with its batch and image size; the tiny size is the smallest that all layers accept."""

    title: str
    batch: int
    side: int
    tiny_side: int
    layers: tuple[Layer, ...]

    @property
    def classes(self) -> int:
        last = self.layers[-1]
        assert isinstance(last, Dense)
        return last.width

    def tiny(self) -> Network:
        """Returns a network of the same layers that is small enough for tests on a CPU."""
        return Network(self.title, TINY_BATCH, self.tiny_side, self.tiny_side, tuple(map(_narrow, self.layers)))


@dataclass(frozen=True, slots=True)
class Training:
    """A network in training: an asynchronous step, a synchronization, and the loss of the last step."""

    step: Callable[[], Any]
    wait: Callable[[], Any]
    loss: Callable[[], float]
    program: Callable[[], str] = str


def _narrow(layer: Layer) -> Layer:
    if isinstance(layer, Conv):
        return Conv(max(4, layer.channels // TINY_PART), layer.size, layer.stride, layer.pad)
    if isinstance(layer, Branches):
        return Branches(tuple(tuple(map(_narrow, chain)) for chain in layer.chains))
    if isinstance(layer, Dense):
        return Dense(layer.width // (100 if layer.last else TINY_PART), layer.last)
    return layer


def _head(*widths: int) -> tuple[Dense, ...]:
    return (*map(Dense, widths), Dense(1000, last=True))


def _inception(one: int, before_three: int, three: int, before_five: int, five: int, pooled: int) -> Branches:
    return Branches(
        (
            (Conv(one, 1),),
            (Conv(before_three, 1), Conv(three, 3, pad=1)),
            (Conv(before_five, 1), Conv(five, 5, pad=2)),
            (Pool(3, 1, same=True), Conv(pooled, 1)),
        )
    )


_ALEXNET = (
    Conv(64, 11, 4, 2),
    Pool(3, 2),
    Conv(192, 5, pad=2),
    Pool(3, 2),
    Conv(384, 3, pad=1),
    Conv(256, 3, pad=1),
    Conv(256, 3, pad=1),
    Pool(3, 2),
    *_head(4096, 4096),
)
_OVERFEAT = (
    Conv(96, 11, 4),
    Pool(2, 2),
    Conv(256, 5),
    Pool(2, 2),
    Conv(512, 3, pad=1),
    Conv(1024, 3, pad=1),
    Conv(1024, 3, pad=1),
    Pool(2, 2),
    *_head(3072, 4096),
)
_VGG = (
    Conv(64, 3, pad=1),
    Pool(2, 2),
    Conv(128, 3, pad=1),
    Pool(2, 2),
    Conv(256, 3, pad=1),
    Conv(256, 3, pad=1),
    Pool(2, 2),
    Conv(512, 3, pad=1),
    Conv(512, 3, pad=1),
    Pool(2, 2),
    Conv(512, 3, pad=1),
    Conv(512, 3, pad=1),
    Pool(2, 2),
    *_head(4096, 4096),
)
_HALVED = Pool(3, 2, same=True)
_GOOGLENET = (
    Conv(64, 7, 2, 3),
    _HALVED,
    Conv(64, 1),
    Conv(192, 3, pad=1),
    _HALVED,
    _inception(64, 96, 128, 16, 32, 32),
    _inception(128, 128, 192, 32, 96, 64),
    _HALVED,
    _inception(192, 96, 208, 16, 48, 64),
    _inception(160, 112, 224, 24, 64, 64),
    _inception(128, 128, 256, 24, 64, 64),
    _inception(112, 144, 288, 32, 64, 64),
    _inception(256, 160, 320, 32, 128, 128),
    _HALVED,
    _inception(256, 160, 320, 32, 128, 128),
    _inception(384, 192, 384, 48, 128, 128),
    Average(),
    *_head(),
)
NETWORKS = {
    "alexnet": Network("AlexNet", 128, 224, 63, _ALEXNET),
    "overfeat": Network("Overfeat", 128, 231, 71, _OVERFEAT),
    "oxfordnet": Network("OxfordNet", 64, 224, 32, _VGG),
    "googlenet": Network("GoogleNet", 128, 224, 64, _GOOGLENET),
}


def batch(network: Network) -> Values:
    """Returns images as NHWC and their labels."""
    random = np.random.default_rng(1)
    images = random.random((network.batch, network.side, network.side, 3), np.float32)
    images -= np.float32(0.5)
    return images, random.integers(0, network.classes, network.batch).astype(np.int32)


def first_values(network: Network) -> list[Values]:
    """Returns weights and biases in the order of the layers."""
    random = np.random.default_rng(2)
    return [_values(random, shape) for shape in _shapes(network.layers, (network.side, 3))]


def _values(random: np.random.Generator, shape: tuple[int, ...]) -> Values:
    bound = np.float32(np.sqrt(6.0 / np.prod(shape[:-1])))
    weights = random.random(shape, np.float32)
    weights *= 2 * bound
    weights -= bound
    return weights, np.zeros(shape[-1], np.float32)


def _shapes(layers: tuple[Layer, ...], image: tuple[int, int]) -> Iterator[tuple[int, ...]]:
    """Yields the shape of each layer's weights; `image` is the size and the channels of the input."""
    side, channels = image
    for layer in layers:
        if isinstance(layer, Conv):
            yield (layer.size, layer.size, channels, layer.channels)
        elif isinstance(layer, Dense):
            yield (side * side * channels, layer.width)
        elif isinstance(layer, Branches):
            for chain in layer.chains:
                yield from _shapes(chain, (side, channels))
        side, channels = after(layer, side, channels)


def after(layer: Layer, side: int, channels: int) -> tuple[int, int]:
    """Returns the size and the channels of a layer's output."""
    if isinstance(layer, Conv):
        return (side + 2 * layer.pad - layer.size) // layer.stride + 1, layer.channels
    if isinstance(layer, Pool):
        return -(-side // layer.stride) if layer.same else (side - layer.size) // layer.stride + 1, channels
    if isinstance(layer, Branches):
        ends = []
        for chain in layer.chains:
            end = side, channels
            for inner in chain:
                end = after(inner, *end)
            ends.append(end)
        return ends[0][0], sum(width for _, width in ends)
    return 1, layer.width if isinstance(layer, Dense) else channels
