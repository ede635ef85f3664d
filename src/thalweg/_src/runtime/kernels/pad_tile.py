"""Kernels of tile, pad, reverse and roll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base.shapes import broadcast, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import normalize_axis, require
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import STRINGS, Function, by_position, flip, flip_function, signed
from thalweg._src.runtime.kernels.types import TORCH, UNSIGNED, TensorValue
from thalweg._src.runtime.resources.devices import Device


def _require_multiples(value: TensorValue, multiples: Sequence[int]) -> None:
    require(len(multiples) == value.ndim, f"multiples has {len(multiples)} entries", expected=f"{value.ndim}")
    require(min(multiples, default=0) >= 0, f"multiples {list(multiples)} has a negative entry")


@kernel("Tile")
def bind_tile(node: Node, device: Device) -> Function | Call:
    multiples = node.constant(1)
    if multiples is not None and node.input_shape(0) is not None:
        return Call(torch.tile, (Input(0), tuple(multiples.tolist())))

    def tile(value: torch.Tensor, multiples: torch.Tensor) -> torch.Tensor:
        counts = multiples.tolist()
        _require_multiples(value, counts)
        return value.tile(counts)

    return tile


@plain_kernel("Tile", **STRINGS)
def _tile_strings(value: TensorValue, multiples: torch.Tensor) -> Any:
    _require_multiples(value, multiples.tolist())
    return np.tile(value, multiples.tolist())


def _require_paddings(value: TensorValue, paddings: list[list[int]]) -> None:
    require(len(paddings) == value.ndim, f"paddings has {len(paddings)} rows", expected=f"{value.ndim}")
    require(all(len(row) == 2 for row in paddings), f"paddings is {paddings}", expected="[n, 2]")
    require(all(p >= 0 for row in paddings for p in row), f"paddings {paddings} has a negative entry")


def _torch_order(paddings: list[list[int]]) -> list[int]:
    """Returns paddings in torch's order: last dimension first."""
    return [p for row in reversed(paddings) for p in row]


@kernel("Pad")
def bind_pad(node: Node, device: Device) -> Function | Call:
    paddings = node.constant(1)
    if paddings is not None and node.input_shape(0) is not None:
        return Call(torch.constant_pad_nd, (Input(0), _torch_order(paddings.tolist()), 0))

    def pad(value: torch.Tensor, paddings: torch.Tensor) -> torch.Tensor:
        rows = paddings.tolist()
        _require_paddings(value, rows)
        return torch.constant_pad_nd(value, _torch_order(rows), 0)

    return pad


@plain_kernel("PadV2")
def _pad_v2(value: torch.Tensor, paddings: torch.Tensor, constant: torch.Tensor) -> torch.Tensor:
    rows = paddings.tolist()
    _require_paddings(value, rows)
    sizes = [size + sum(row) for size, row in zip(value.shape, rows)]
    result = constant.expand(sizes).clone()
    result[tuple(slice(before, before + size) for size, (before, _) in zip(value.shape, rows))] = value
    return result


@plain_kernel("Pad", "PadV2", **STRINGS)
def _pad_strings(value: Any, paddings: torch.Tensor, constant: Any = None) -> Any:
    rows = paddings.tolist()
    _require_paddings(value, rows)
    return np.pad(value, rows, constant_values=b"" if constant is None else constant.item())


def _mirror(size: int, before: int, after: int, edge: int) -> list[int]:
    """Returns the source indices of mirror padding; `edge` is 1 when the edge is not repeated."""
    require(
        max(before, after) <= size - edge, f"paddings {[before, after]} are too large for a dimension of size {size}"
    )
    left = range(before - 1 + edge, edge - 1, -1)
    right = range(size - 1 - edge, size - 1 - edge - after, -1)
    return [*left, *range(size), *right]


@kernel("MirrorPad")
def bind_mirror_pad(node: Node, device: Device) -> Function:
    edge = int(node.attrs["mode"] == "REFLECT")

    def pad(value: torch.Tensor, paddings: torch.Tensor) -> torch.Tensor:
        rows = paddings.tolist()
        _require_paddings(value, rows)
        for axis, (before, after) in enumerate(rows):
            if before or after:
                index = _mirror(value.shape[axis], before, after, edge)
                value = value.index_select(axis, torch.tensor(index, device=value.device))
        return value

    return pad


@kernel("MirrorPad", **STRINGS)
def bind_mirror_pad_strings(node: Node, device: Device) -> Function:
    return by_position(bind_mirror_pad(node, device))


@kernel("MirrorPadGrad")
def bind_mirror_pad_grad(node: Node, device: Device) -> Function:
    edge = int(node.attrs["mode"] == "REFLECT")

    def add_up(value: torch.Tensor, paddings: torch.Tensor) -> torch.Tensor:
        rows = paddings.tolist()
        _require_paddings(value, rows)
        for axis, (before, after) in enumerate(rows):
            if before or after:
                sizes = list(value.shape)
                sizes[axis] -= before + after
                index = _mirror(sizes[axis], before, after, edge)
                total = signed(value.new_zeros(sizes))
                total.index_add_(axis, torch.tensor(index, device=value.device), signed(value))
                value = total.view(value.dtype)
        return value

    return add_up


@kernel("ReverseV2")
def bind_reverse(node: Node, device: Device) -> Function | Call:
    axes = node.constant(1)
    if axes is not None:
        return Call(flip_function(node), (Input(0), tuple(axes.tolist())))
    return lambda value, axes: flip(value, axes.tolist())


plain_kernel("ReverseV2", **STRINGS)(lambda value, axes: np.flip(value, tuple(axes.tolist())))


@kernel("ReverseSequence")
def bind_reverse_sequence(node: Node, device: Device) -> Function:
    along, batch = node.attrs["seq_dim"], node.attrs["batch_dim"]

    def reverse(value: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        sequence, row = normalize_axis(along, value.ndim), normalize_axis(batch, value.ndim)
        size = value.shape[sequence]
        require(lengths.shape == (value.shape[row],), f"seq_lengths has shape {show(tuple(lengths.shape))}")
        if lengths.device.type == "cpu" and lengths.numel():
            low, high = (int(bound) for bound in torch.aminmax(lengths))
            require(low >= 0 and high <= size, f"seq_lengths has {low if low < 0 else high}", expected=f"0 to {size}")
        position = torch.arange(size, device=value.device)
        limit = lengths.to(torch.int64).unsqueeze(1)
        source = torch.where(position < limit, limit - 1 - position, position)
        if lengths.device.type != "cpu":
            source = source.clamp(0, size - 1)  # a length out of range must not crash the process
        shape = [1] * value.ndim
        shape[row], shape[sequence] = value.shape[row], size
        source = (source if row < sequence else source.t()).reshape(shape)
        return signed(value).gather(sequence, source.expand(value.shape)).view(value.dtype)

    return reverse


@kernel("ReverseSequence", **STRINGS)
def bind_reverse_sequence_strings(node: Node, device: Device) -> Function:
    return by_position(bind_reverse_sequence(node, device))


@kernel("BroadcastTo")
def bind_broadcast_to(node: Node, device: Device) -> Function | Call:
    target = node.constant(1)
    if target is not None and min(target.tolist(), default=0) >= 0:
        return Call(torch.broadcast_to, (Input(0), tuple(target.tolist())))

    def expand(value: torch.Tensor, shape: torch.Tensor) -> torch.Tensor:
        sizes = shape.tolist()
        require(min(sizes, default=0) >= 0, f"shape {sizes} has a negative size")
        return value.broadcast_to(sizes)

    return expand


plain_kernel("BroadcastTo", **STRINGS)(lambda value, shape: np.broadcast_to(value, shape.tolist()))


@kernel("BroadcastArgs")
def bind_broadcast_args(node: Node, device: Device) -> Function:
    kind = TORCH[node.dtypes[0]]
    return lambda s0, s1: torch.tensor(broadcast(tuple(s0.tolist()), tuple(s1.tolist())), dtype=kind)


@plain_kernel("Roll", cpu_types=UNSIGNED)
def _roll(value: torch.Tensor, shift: torch.Tensor, axis: torch.Tensor) -> torch.Tensor:
    shifts, axes = shift.reshape(-1).tolist(), axis.reshape(-1).tolist()
    require(value.ndim > 0, "input is a scalar", expected="rank at least 1")
    require(len(shifts) == len(axes), f"{len(shifts)} shifts for {len(axes)} axes", expected="as many shifts as axes")
    for axis_ in axes:
        normalize_axis(axis_, value.ndim)
    return value.roll(shifts, axes) if axes else value


plain_kernel("Roll", **STRINGS)(
    lambda value, shift, axis: np.roll(value, shift.reshape(-1).tolist(), axis.reshape(-1).tolist())
)
