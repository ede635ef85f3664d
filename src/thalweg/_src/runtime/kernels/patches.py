"""Kernels of patch extraction."""

from __future__ import annotations

from typing import Any

import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.patches import patch_window
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function, signed
from thalweg._src.runtime.resources.devices import Device


@kernel("ExtractImagePatches", "ExtractVolumePatches")
def bind_patches(node: Node, device: Device) -> Function:
    window, kernel_sizes = patch_window(node.attrs)
    rank = window.rank
    # [batch, positions..., depth, cells...] to [batch, positions..., cells..., depth]
    order = (0, *range(1, rank + 1), *range(rank + 2, 2 * rank + 2), rank + 1)

    def extract(images: torch.Tensor) -> torch.Tensor:
        check(node, images.shape)
        sizes = tuple(images.shape[1:-1])
        output = window.output(sizes, kernel_sizes)
        depth = images.shape[-1]
        shape: list[Any] = [images.shape[0], *output, depth * torch.Size(kernel_sizes).numel()]
        if 0 in shape:
            return images.new_zeros(shape)
        pads = window.pads(sizes, kernel_sizes)
        assert pads is not None
        cells = signed(images)
        if any(size for pair in pads for size in pair):
            cells = torch.constant_pad_nd(cells, [0, 0, *(size for pair in reversed(pads) for size in pair)])
        for axis, (extent, stride, rate) in enumerate(zip(kernel_sizes, window.strides, window.dilations), 1):
            cells = cells.unfold(axis, (extent - 1) * rate + 1, stride)[..., ::rate]
        return cells.permute(order).reshape(shape).view(images.dtype)

    return extract
