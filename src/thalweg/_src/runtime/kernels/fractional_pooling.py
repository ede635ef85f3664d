"""Kernels of fractional pooling: gathers the cells of all windows, padded to the largest, at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch

from thalweg._src.base.entropy import fresh_op_seed
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.philox import Philox
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor


def _sequence(length: int, count: int, generator: Philox, pseudo_random: bool) -> Tensor:
    """Returns the window boundaries of `count` windows, drawn in TensorFlow's order."""
    steps = (
        _pseudo_random_steps(length, count, generator) if pseudo_random else _shuffled_steps(length, count, generator)
    )
    return torch.tensor([0, *steps]).cumsum(0)


def _pseudo_random_steps(length: int, count: int, generator: Philox) -> list[int]:
    """Rounds up multiples of the ratio, shifted by one random offset that keeps both ends in place."""
    ratio, least = length / count, length // count
    shift = min((least + 2) / ratio - 1, (length + 1 - least) / ratio - (count - 1))
    high, low, *_ = generator.reserve(2)
    shift *= ((high & 0xFFFFF) << 32 | low) / 2**52
    starts = [1, *(math.ceil(ratio * (i + shift)) for i in range(1, count)), length + 1]
    return [b - a for a, b in pairwise(starts)]


def _shuffled_steps(length: int, count: int, generator: Philox) -> list[int]:
    least, larger = divmod(length, count)
    steps = [least + 1] * larger + [least] * (count - larger)
    for i, number in zip(range(count - 1), generator.reserve(count)):
        other = i + number % (count - i)
        steps[i], steps[other] = steps[other], steps[i]
    return steps


class _Windows:
    """The cells of an image under each window: row and column indices, and which of them are valid."""

    def __init__(
        self, sequences: Sequence[Tensor], sizes: Sequence[int], overlapping: bool, device: torch.device
    ) -> None:
        self.sizes = sizes
        self.indices, self.counted = [], []
        for sequence, size in zip(sequences, sizes):
            self._require_cover(sequence, size)
            starts, ends = sequence[:-1], sequence[1:] + int(overlapping)
            ends = ends.clamp(max=size)
            offsets = torch.arange(int((ends - starts).max()))
            indices = starts.unsqueeze(1) + offsets
            self.indices.append(indices.clamp(max=size - 1).to(device))
            self.counted.append((indices < ends.unsqueeze(1)).to(device))

    @staticmethod
    def _require_cover(sequence: Tensor, size: int) -> None:
        steps = sequence[1:] - sequence[:-1]
        covers = int(sequence[0]) == 0 and int(sequence[-1]) == size and bool((steps > 0).all())
        require(covers, f"the pooling sequence is {sequence.tolist()[:8]}", expected=f"from 0 up to {size}")

    @property
    def mask(self) -> Tensor:
        """Returns which cells of [rows, columns, window cells] are valid."""
        rows, columns = self.counted
        return (rows[:, None, :, None] & columns[None, :, None, :]).flatten(2)

    @property
    def flat(self) -> Tensor:
        """Returns the cells' flat indices in an image."""
        rows, columns = self.indices
        return (rows[:, None, :, None] * self.sizes[1] + columns[None, :, None, :]).flatten(2)

    def cells(self, image: Tensor) -> Tensor:
        """Returns [batch, rows, columns, window cells, channels]."""
        flat = self.flat
        taken = image.flatten(1, 2).index_select(1, flat.flatten())
        return taken.view(image.shape[0], *flat.shape, image.shape[3])


def _largest(windows: _Windows, image: Tensor) -> tuple[Tensor, Tensor]:
    lowest = -math.inf if image.is_floating_point() else torch.iinfo(image.dtype).min
    cells = windows.cells(image).masked_fill(~windows.mask.unsqueeze(-1), lowest)
    values, indices = cells.max(3)
    return values, indices


@kernel("FractionalMaxPool", "FractionalAvgPool")
def bind_fractional_pool(node: Node, device: Device) -> Function:
    attrs = node.attrs
    ratio, overlapping, largest = attrs["pooling_ratio"], attrs["overlapping"], node.type == "FractionalMaxPool"
    seeds = (attrs["seed"], attrs["seed2"])
    if attrs["deterministic"] and seeds == (0, 0):
        seeds = (fresh_op_seed(), fresh_op_seed())

    def pool(image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        check(node, image.shape)
        chosen = seeds if attrs["deterministic"] else (fresh_op_seed(), fresh_op_seed())
        generator, sizes = Philox(*chosen), tuple(image.shape[1:3])
        sequences = [
            _sequence(size, math.floor(size / r), generator, attrs["pseudo_random"])
            for size, r in zip(sizes, ratio[1:])
        ]
        windows = _Windows(sequences, sizes, overlapping, image.device)
        result = _largest(windows, image)[0] if largest else _mean(windows, image)
        return result, *sequences  # type: ignore[return-value]

    return pool


def _mean(windows: _Windows, image: Tensor) -> Tensor:
    mask = windows.mask.unsqueeze(-1)
    total = windows.cells(image).masked_fill(~mask, 0).sum(3, dtype=image.dtype)
    count = mask.sum(2)
    if image.is_floating_point():
        return total / count.to(image.dtype)
    return torch.div(total, count, rounding_mode="trunc").to(image.dtype)


@kernel("FractionalMaxPoolGrad")
def bind_fractional_max_pool_grad(node: Node, device: Device) -> Function:
    overlapping = node.attrs["overlapping"]

    def max_backward(image: Tensor, pooled: Tensor, grad: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        check(node, image.shape, pooled.shape, grad.shape, rows.shape, columns.shape)
        windows = _Windows((rows, columns), tuple(image.shape[1:3]), overlapping, image.device)
        _, chosen = _largest(windows, image)
        flat = windows.flat[None, :, :, :, None].expand(*chosen.shape[:3], -1, chosen.shape[3])
        indices = flat.gather(3, chosen.unsqueeze(3)).squeeze(3).flatten(1, 2)
        result = torch.zeros_like(image).flatten(1, 2)
        return result.scatter_add_(1, indices, grad.flatten(1, 2)).view(image.shape)

    return max_backward


@kernel("FractionalAvgPoolGrad")
def bind_fractional_avg_pool_grad(node: Node, device: Device) -> Function:
    overlapping = node.attrs["overlapping"]

    def mean_backward(shape: Tensor, grad: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        check(node, shape.shape, grad.shape, rows.shape, columns.shape, values={0: shape.numpy()})
        dims = shape.tolist()
        windows = _Windows((rows, columns), dims[1:3], overlapping, grad.device)
        mask = windows.mask.unsqueeze(-1)
        count = mask.sum(2)
        share = (
            grad / count.to(grad.dtype) if grad.is_floating_point() else torch.div(grad, count, rounding_mode="trunc")
        )
        shares = share.unsqueeze(3).where(mask, 0).to(grad.dtype).flatten(1, 3)
        result = torch.zeros((dims[0], dims[1] * dims[2], dims[3]), dtype=grad.dtype, device=grad.device)
        return result.index_add_(1, windows.flat.flatten(), shares).view(dims)

    return mean_backward
