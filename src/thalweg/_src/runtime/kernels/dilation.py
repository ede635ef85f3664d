"""Kernels of morphological dilation: one pass over the image per filter element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.dilation import dilation_window
from thalweg._src.graph.ops.windows import Window
from thalweg._src.runtime.kernels.convolution import check
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.reshape import Function
from thalweg._src.runtime.kernels.types import TORCH_UNSIGNED
from thalweg._src.runtime.resources.devices import Device

Tensor = torch.Tensor
Place = tuple[slice, slice]


def _reach(position: int, size: int, stride: int, count: int) -> tuple[slice, slice] | None:
    """Returns the outputs that a filter element reaches inside the image, and the pixels it reads for them."""
    first = max(-(position // stride), 0)
    last = min((size - 1 - position) // stride, count - 1)
    if first > last:
        return None
    start = position + first * stride
    return slice(first, last + 1), slice(start, position + last * stride + 1, stride)


def _cells(window: Window, image: Tensor, filter: Tensor) -> Iterator[tuple[int, int, Place, Place]]:
    """Yields each filter element with the outputs it contributes to and the pixels it reads for them."""
    sizes, extents = tuple(image.shape[1:3]), tuple(filter.shape[:2])
    counts, pads = window.output(sizes, extents), window.pads(sizes, extents)
    assert pads is not None
    for i in range(extents[0]):
        rows = _reach(i * window.dilations[0] - pads[0][0], sizes[0], window.strides[0], counts[0] or 0)
        for j in range(extents[1]):
            columns = _reach(j * window.dilations[1] - pads[1][0], sizes[1], window.strides[1], counts[1] or 0)
            if rows is not None and columns is not None:
                yield i, j, (rows[0], columns[0]), (rows[1], columns[1])


def _computable(x: Tensor) -> Tensor:
    """Converts unsigned integers that torch cannot add to a type that it can."""
    return x.to(torch.int64) if x.dtype in TORCH_UNSIGNED else x


def _largest(window: Window, image: Tensor, filter: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the largest sums, and the index of the filter element that each came from, -1 for none."""
    shape: list[Any] = [
        image.shape[0],
        *window.output(tuple(image.shape[1:3]), tuple(filter.shape[:2])),
        image.shape[3],
    ]
    limits = torch.finfo(image.dtype) if image.dtype.is_floating_point else torch.iinfo(image.dtype)
    best = torch.full(shape, limits.min, dtype=image.dtype, device=image.device)
    source = torch.full(shape, -1, dtype=torch.int64, device=image.device)
    for i, j, (rows, columns), (y, x) in _cells(window, image, filter):
        value = image[:, y, x] + filter[i, j]
        higher = value > best[:, rows, columns]
        best[:, rows, columns] = torch.where(higher, value, best[:, rows, columns])
        source[:, rows, columns].masked_fill_(higher, i * filter.shape[1] + j)
    return best, source


@kernel("Dilation2D")
def bind_dilation(node: Node, device: Device) -> Function:
    window = dilation_window(node.attrs)

    def dilate(image: Tensor, filter: Tensor) -> Tensor:
        check(node, image.shape, filter.shape)
        return _largest(window, _computable(image), _computable(filter))[0].to(image.dtype)

    return dilate


@kernel("Dilation2DBackpropInput", "Dilation2DBackpropFilter")
def bind_dilation_backprop(node: Node, device: Device) -> Function:
    window, by_image = dilation_window(node.attrs), node.type == "Dilation2DBackpropInput"

    def backward(image: Tensor, filter: Tensor, grad: Tensor) -> Tensor:
        check(node, image.shape, filter.shape, grad.shape)
        dtype = image.dtype
        image, filter, grad = _computable(image), _computable(filter), _computable(grad)
        _, source = _largest(window, image, filter)
        result = torch.zeros_like(image if by_image else filter)
        for i, j, (rows, columns), (y, x) in _cells(window, image, filter):
            chosen = source[:, rows, columns] == i * filter.shape[1] + j
            gradient = grad[:, rows, columns].where(chosen, 0)
            if by_image:
                result[:, y, x] += gradient
            else:
                result[i, j] = gradient.sum((0, 1, 2), dtype=grad.dtype)
        return result.to(dtype)

    return backward
