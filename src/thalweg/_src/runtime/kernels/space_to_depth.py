"""Kernels of space_to_depth, depth_to_space, space_to_batch and batch_to_space."""

from __future__ import annotations

import math

import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import STRINGS, Function, by_position
from thalweg._src.runtime.resources.devices import Device


@kernel("SpaceToDepth")
def bind_space_to_depth(node: Node, device: Device) -> Function:
    block, channels_last = node.attrs["block_size"], node.attrs["data_format"] == "NHWC"

    def to_depth(value: torch.Tensor) -> torch.Tensor:
        if channels_last:
            n, h, w, d = value.shape
            require(h % block == w % block == 0, f"{h} x {w} is not divisible into blocks of {block}")
            blocks = value.reshape(n, h // block, block, w // block, block, d).permute(0, 1, 3, 2, 4, 5)
            return blocks.reshape(n, h // block, w // block, block * block * d)
        n, d, h, w = value.shape
        require(h % block == w % block == 0, f"{h} x {w} is not divisible into blocks of {block}")
        blocks = value.reshape(n, d, h // block, block, w // block, block).permute(0, 3, 5, 1, 2, 4)
        return blocks.reshape(n, block * block * d, h // block, w // block)

    return to_depth


@kernel("DepthToSpace")
def bind_depth_to_space(node: Node, device: Device) -> Function:
    block, channels_last = node.attrs["block_size"], node.attrs["data_format"] == "NHWC"

    def to_space(value: torch.Tensor) -> torch.Tensor:
        if channels_last:
            n, h, w, d = value.shape
            require(d % block**2 == 0, f"a depth of {d} is not divisible into blocks of {block**2}")
            blocks = value.reshape(n, h, w, block, block, d // block**2).permute(0, 1, 3, 2, 4, 5)
            return blocks.reshape(n, h * block, w * block, d // block**2)
        n, d, h, w = value.shape
        require(d % block**2 == 0, f"a depth of {d} is not divisible into blocks of {block**2}")
        blocks = value.reshape(n, block, block, d // block**2, h, w).permute(0, 3, 4, 1, 5, 2)
        return blocks.reshape(n, d // block**2, h * block, w * block)

    return to_space


@kernel("SpaceToDepth", **STRINGS)
def bind_space_to_depth_strings(node: Node, device: Device) -> Function:
    return by_position(bind_space_to_depth(node, device))


@kernel("DepthToSpace", **STRINGS)
def bind_depth_to_space_strings(node: Node, device: Device) -> Function:
    return by_position(bind_depth_to_space(node, device))


def _require_blocks(value: torch.Tensor, block: list[int], margins: list[list[int]]) -> None:
    require(value.ndim > len(block), f"input has rank {value.ndim}", expected=f"at least {len(block) + 1}")
    require(min(block, default=1) >= 1, f"block_shape {block} has a size below 1")
    require(len(margins) == len(block), f"{len(margins)} rows for {len(block)} blocks")
    require(all(m >= 0 for row in margins for m in row), f"{margins} has a negative entry")


@plain_kernel("SpaceToBatchND")
def _space_to_batch(value: torch.Tensor, block_shape: torch.Tensor, paddings: torch.Tensor) -> torch.Tensor:
    block, rows = block_shape.tolist(), paddings.tolist()
    _require_blocks(value, block, rows)
    count, tail = len(block), value.shape[1 + len(block) :]
    order = [p for row in reversed([*rows, *[[0, 0]] * len(tail)]) for p in row]
    padded = torch.constant_pad_nd(value, order, 0)
    batch, space = padded.shape[0], padded.shape[1 : 1 + count]
    split: list[int] = [batch]
    for size, b in zip(space, block):
        require(size % b == 0, f"a padded dimension of size {size} is not divisible into blocks of {b}")
        split += [size // b, b]
    blocks = padded.reshape(*split, *tail)
    inner, outer = [2 * i + 2 for i in range(count)], [2 * i + 1 for i in range(count)]
    blocks = blocks.permute(*inner, 0, *outer, *range(2 * count + 1, blocks.ndim))
    return blocks.reshape(batch * math.prod(block), *[s // b for s, b in zip(space, block)], *tail)


@plain_kernel("BatchToSpaceND")
def _batch_to_space(value: torch.Tensor, block_shape: torch.Tensor, crops: torch.Tensor) -> torch.Tensor:
    block, rows = block_shape.tolist(), crops.tolist()
    _require_blocks(value, block, rows)
    count, product = len(block), math.prod(block)
    require(value.shape[0] % product == 0, f"a batch of {value.shape[0]} is not divisible into blocks of {product}")
    batch, space, tail = value.shape[0] // product, value.shape[1 : 1 + count], value.shape[1 + count :]
    blocks = value.reshape(*block, batch, *space, *tail)
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    blocks = blocks.permute(*order, *range(2 * count + 1, blocks.ndim))
    whole = blocks.reshape(batch, *[s * b for s, b in zip(space, block)], *tail)
    for axis, (before, after) in enumerate(rows, 1):
        require(before + after <= whole.shape[axis], f"crops {rows} exceed the size")
        whole = whole.narrow(axis, before, whole.shape[axis] - before - after)
    return whole
