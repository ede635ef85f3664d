"""Kernels of image resizing: along each axis an output pixel is a weighted sum of a few input pixels.

The pixels and their weights depend on the sizes alone; they are computed once per pair of sizes, in single precision
as in TensorFlow, and cached.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
F = np.float32
_TABLE = 1024  # bicubic weights are tabulated at this many positions between two pixels


class Taps:
    """The taps of an axis: the input pixels of each output pixel and their weights, one row per tap."""

    __slots__ = ("indices", "weights")

    def __init__(self, indices: Array, weights: Array, device: torch.device) -> None:
        self.indices = torch.from_numpy(np.ascontiguousarray(indices, np.int64)).to(device)
        self.weights = torch.from_numpy(np.ascontiguousarray(weights, np.float32)).to(device)

    def gather(self, x: torch.Tensor, axis: int) -> torch.Tensor:
        """Returns the output pixels."""
        shape = [-1 if i == axis else 1 for i in range(4)]
        result = x.index_select(axis, self.indices[0]).mul_(self.weights[0].view(shape))
        for row, weight in zip(self.indices[1:], self.weights[1:]):
            result.addcmul_(x.index_select(axis, row), weight.view(shape))
        return result

    def scatter(self, grad: torch.Tensor, axis: int, size: int) -> torch.Tensor:
        """Returns the gradient of the input pixels, given that of the output pixels."""
        shape = [-1 if i == axis else 1 for i in range(4)]
        sizes = [size if i == axis else s for i, s in enumerate(grad.shape)]
        result = grad.new_zeros(sizes)
        for row, weight in zip(self.indices, self.weights):
            result.index_add_(axis, row, grad * weight.view(shape))
        return result


# -- where new pixels lie among the old -------------------------------------------------------------------------------


def _scale(old: int, new: int, align_corners: bool) -> Any:
    return F(old - 1) / F(new - 1) if align_corners and new > 1 else F(old) / F(new)


def _coordinates(old: int, new: int, align_corners: bool, half_pixel: bool) -> Array:
    """Returns the input coordinate of each output pixel; by default that of its corner instead of its center."""
    scale, corners = _scale(old, new, align_corners), np.arange(new, dtype=F)
    coordinates: Array = (corners + F(0.5)) * scale - F(0.5) if half_pixel else corners * scale
    return coordinates


def _nearest(old: int, new: int, align_corners: bool, half_pixel: bool) -> tuple[Array, Array]:
    scale, coordinates = _scale(old, new, align_corners), np.arange(new, dtype=F)
    coordinates = (coordinates + F(0.5)) * scale if half_pixel else coordinates * scale
    chosen = np.floor(coordinates + F(0.5)) if align_corners else np.floor(coordinates)
    return np.clip(chosen, 0, old - 1)[None], np.ones((1, new), F)


@functools.cache
def _cubic_table(a: float) -> Array:
    """Returns the weights of the nearer and the farther pixel by distance."""
    x = np.arange(_TABLE + 1, dtype=F) / F(_TABLE)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + F(1)
    return np.stack([near, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a]).astype(F)


def _bicubic(old: int, new: int, align_corners: bool, half_pixel: bool) -> tuple[Array, Array]:
    coordinates = _coordinates(old, new, align_corners, half_pixel)
    low = np.floor(coordinates)
    offset = np.rint((coordinates - low) * F(_TABLE)).astype(np.int64)
    near, far = _cubic_table(-0.5 if half_pixel else -0.75)
    weights = np.stack([far[offset], near[offset], near[_TABLE - offset], far[_TABLE - offset]])
    unclipped = low + np.arange(-1, 3)[:, None]
    indices = np.clip(unclipped, 0, old - 1)
    if half_pixel:  # pixels beyond the edge have no weight
        weights = np.where(indices == unclipped, weights, F(0))
        total = weights.sum(0, keepdims=True)
        weights = np.divide(weights, total, out=weights, where=np.abs(total) >= 1000 * np.finfo(F).tiny)
    return indices, weights


def _area(old: int, new: int, align_corners: bool, half_pixel: bool) -> tuple[Array, Array]:
    scale, coordinates = _scale(old, new, align_corners), np.arange(new + 1, dtype=F)
    starts, ends = coordinates[:-1] * scale, coordinates[1:] * scale
    first, last = np.floor(starts), np.ceil(ends)
    taps = max(int((last - first).max(initial=1)), 1)
    cells = first + np.arange(taps, dtype=F)[:, None]
    inside = np.minimum(cells + 1, ends) - np.maximum(cells, starts)
    weights = np.where(cells < last, inside, F(0)) / scale if scale else np.ones_like(inside)
    return np.clip(cells, 0, old - 1), weights.astype(F)


_METHODS = {"nearest": _nearest, "bicubic": _bicubic, "area": _area}


@functools.lru_cache(maxsize=128)
def taps(method: str, old: int, new: int, align_corners: bool, half_pixel: bool, device: torch.device) -> Taps:
    with np.errstate(all="ignore"):
        return Taps(*_METHODS[method](old, new, align_corners, half_pixel), device)


# -- filters ----------------------------------------------------------------------------------------------------------


def _lanczos(radius: float) -> Callable[[Array], Array]:
    def weigh(x: Array) -> Array:
        value = radius * np.sin(np.pi * x) * np.sin(np.pi * x / radius) / (np.pi * np.pi * x * x)
        return np.where(x > radius, 0, np.where(x <= 1e-3, 1, value))

    return weigh


def _keys(x: Array) -> Array:
    return np.where(x >= 2, 0, np.where(x >= 1, ((-0.5 * x + 2.5) * x - 4) * x + 2, ((1.5 * x - 2.5) * x) * x + 1))


def _mitchell(x: Array) -> Array:
    far = (((-7 / 18) * x + 2) * x - 10 / 3) * x + 16 / 9
    return np.where(x >= 2, 0, np.where(x >= 1, far, ((7 / 6) * x - 2) * x * x + 8 / 9))


_FILTERS: dict[str, tuple[float, Callable[[Array], Array]]] = {
    "lanczos1": (1, _lanczos(1)),
    "lanczos3": (3, _lanczos(3)),
    "lanczos5": (5, _lanczos(5)),
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0, np.exp(-x * x / (2 * 0.5 * 0.5)))),
    "box": (1, lambda x: np.where(x < 0.5, 1, np.where(x == 0.5, 0.5, 0))),
    "triangle": (1, lambda x: np.where(x < 1, 1 - x, 0)),
    "keyscubic": (2, _keys),
    "mitchellcubic": (2, _mitchell),
}


@functools.lru_cache(maxsize=128)
def filter_taps(
    kind: str, old: int, new: int, scale: float, shift: float, antialias: bool, device: torch.device
) -> Taps:
    """Returns the taps of a filter as wide as an output pixel, or an input pixel if that is wider."""
    radius, weigh = _FILTERS[kind]
    inverse = F(1) / F(scale)
    width = max(inverse, F(1)) if antialias else F(1)
    reach = F(radius) * width
    centers = (np.arange(new, dtype=F) + F(0.5)) * inverse - inverse * F(shift)
    first = np.clip(np.ceil(centers - reach - F(0.5)), 0, old - 1)
    last = np.clip(np.floor(centers + reach - F(0.5)), 0, old - 1)
    inside = (centers >= 0) & (centers <= old)
    count = max(int(np.where(inside, last - first + 1, 1).max(initial=1)), 1)
    cells = first + np.arange(count, dtype=F)[:, None]
    with np.errstate(all="ignore"):
        weights = weigh(np.abs(cells + F(0.5) - centers) / width).astype(F)
    weights = np.where((cells <= last) & inside, weights, F(0))
    total = weights.sum(0, keepdims=True)
    weights = np.divide(weights, total, out=weights, where=np.abs(total) >= 1000 * np.finfo(F).tiny)
    return Taps(np.clip(np.where(inside, cells, 0), 0, old - 1), weights, device)


# -- kernels ----------------------------------------------------------------------------------------------------------

_OPS = {"ResizeBicubic": "bicubic", "ResizeArea": "area"}


def _size(size: torch.Tensor) -> tuple[int, int]:
    require(size.shape == (2,), f"size has shape {list(size.shape)}", expected="a height and a width")
    height, width = size.tolist()
    require(height > 0 and width > 0, f"size is [{height}, {width}]", expected="positive sizes")
    return height, width


def _require_batch(images: torch.Tensor) -> None:
    require(images.ndim == 4, f"images has rank {images.ndim}", expected="batch, height, width, channels")


def _require_images(images: torch.Tensor) -> None:
    _require_batch(images)
    require(0 not in images.shape[1:], f"images has shape {list(images.shape)}", expected="images with pixels")


def _in_order(height: tuple[int, int], width: tuple[int, int]) -> tuple[int, ...]:
    """Returns the axes in the order that leaves less work for the second."""
    return (1, 2) if height[1] * width[0] <= height[0] * width[1] else (2, 1)


def _attrs(node: Node) -> tuple[bool, bool]:
    return node.attrs["align_corners"], node.attrs.get("half_pixel_centers", False)


def _channels_first(images: torch.Tensor) -> torch.Tensor:
    return images.permute(0, 3, 1, 2)


def _channels_last(images: torch.Tensor) -> torch.Tensor:
    return images.permute(0, 2, 3, 1)


def _with_last_again(x: torch.Tensor) -> torch.Tensor:
    """Returns images with their last row and column duplicated."""
    taller = torch.cat((x, x[:, -1:]), 1)
    return torch.cat((taller, taller[:, :, -1:]), 2)


@kernel("ResizeBilinear")
def bind_bilinear(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    """Interpolates by torch, which lacks coordinates that start at 0 with a step of old size over new size.

    With aligned corners, though, one extra pixel on both sides yields that step: (old + 1 - 1) / (new + 1 - 1).
    """
    align, half = _attrs(node)
    interpolate = torch.ops.aten.upsample_bilinear2d.default

    def resize(images: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        _require_images(images)
        height, width = _size(size)
        pixels = images.to(torch.float32)
        if not pixels.numel():
            return pixels.new_zeros((images.shape[0], height, width, images.shape[3]))
        if align or half:
            return _channels_last(interpolate(_channels_first(pixels), [height, width], align))
        if (height, width) == tuple(images.shape[1:3]):
            return pixels
        more = _channels_first(_with_last_again(pixels))
        return _channels_last(interpolate(more, [height + 1, width + 1], True))[:, :height, :width]

    return resize


@kernel("ResizeBilinearGrad")
def bind_bilinear_grad(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    (align, half), dtype = _attrs(node), TORCH[node.dtypes[0]]
    aten_backward = torch.ops.aten.upsample_bilinear2d_backward.default

    def backward(grads: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        _require_like(grads, image, _require_images)
        n, h, w, c = image.shape
        if not grads.numel():
            return torch.zeros((n, h, w, c), dtype=dtype, device=grads.device)
        wide = grads.to(dtype if dtype is torch.float64 else torch.float32)
        new = list(grads.shape[1:3])
        if align or half:
            return _channels_last(aten_backward(_channels_first(wide), new, [n, c, h, w], align)).to(dtype)
        padded = _channels_first(torch.nn.functional.pad(wide, (0, 0, 0, 1, 0, 1)))
        sizes = [n, c, h + 1, w + 1]
        more = _channels_last(aten_backward(padded, [new[0] + 1, new[1] + 1], sizes, True))
        more[:, h - 1] += more[:, h]
        more[:, :, w - 1] += more[:, :, w]
        return more[:, :h, :w].to(dtype)

    return backward


def _require_like(grads: torch.Tensor, image: torch.Tensor, check: Callable[[torch.Tensor], None]) -> None:
    check(grads)
    check(image)
    same = grads.shape[0] == image.shape[0] and grads.shape[3] == image.shape[3]
    require(same, f"grads has shape {list(grads.shape)}, original_image {list(image.shape)}")


@kernel("ResizeBicubic", "ResizeArea")
def bind_resize(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    method, (align, half), target = _OPS[node.type], _attrs(node), device.torch

    def resize(images: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        _require_images(images)
        new = _size(size)
        result = images.to(torch.float32)
        for axis in _in_order((images.shape[1], new[0]), (images.shape[2], new[1])):
            old = images.shape[axis]
            if old != new[axis - 1]:
                result = taps(method, old, new[axis - 1], align, half, target).gather(result, axis)
        return result

    return resize


@kernel("ResizeBicubicGrad")
def bind_resize_grad(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    method, (align, half), target = _OPS[node.type.removesuffix("Grad")], _attrs(node), device.torch
    dtype = TORCH[node.dtypes[0]]

    def scatter(grads: torch.Tensor, image: torch.Tensor) -> torch.Tensor:
        _require_like(grads, image, _require_images)
        result = grads.to(dtype if dtype is torch.float64 else torch.float32)
        for axis in _in_order((grads.shape[1], image.shape[1]), (grads.shape[2], image.shape[2])):
            old, new = image.shape[axis], grads.shape[axis]
            if old != new:
                result = taps(method, old, new, align, half, target).scatter(result, axis, old)
        return result.to(dtype)

    return scatter


@kernel("ResizeNearestNeighbor")
def bind_nearest(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    (align, half), target = _attrs(node), device.torch

    def resize(images: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        _require_images(images)
        height, width = _size(size)
        rows = taps("nearest", images.shape[1], height, align, half, target).indices[0]
        columns = taps("nearest", images.shape[2], width, align, half, target).indices[0]
        if images.dtype is torch.uint16:
            return resize(images.view(torch.int16), size).view(torch.uint16)
        return images.index_select(1, rows).index_select(2, columns)

    return resize


@kernel("ResizeNearestNeighborGrad")
def bind_nearest_grad(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    (align, half), target = _attrs(node), device.torch

    def scatter(grads: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        _require_batch(grads)
        height, width = _size(size)
        n, h, w, c = grads.shape
        rows = taps("nearest", height, h, align, half, target).indices[0]
        columns = taps("nearest", width, w, align, half, target).indices[0]
        result = grads.new_zeros((n, height, w, c)).index_add_(1, rows, grads)
        return grads.new_zeros((n, height, width, c)).index_add_(2, columns, result)

    return scatter


def _pair(value: torch.Tensor, what: str) -> tuple[float, float]:
    require(value.shape == (2,), f"{what} has shape {list(value.shape)}", expected="two numbers")
    first, second = value.tolist()
    return first, second


@kernel("ScaleAndTranslate")
def bind_scale_and_translate(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    kind, antialias, target = node.attrs["kernel_type"], node.attrs["antialias"], device.torch

    def resize(
        images: torch.Tensor, size: torch.Tensor, scale: torch.Tensor, translation: torch.Tensor
    ) -> torch.Tensor:
        _require_images(images)
        new, factors, shifts = _size(size), _factors(scale), _pair(translation, "translation")
        result = images.to(torch.float32)
        for axis in _in_order((images.shape[1], new[0]), (images.shape[2], new[1])):
            i = axis - 1
            axis_taps = filter_taps(kind, images.shape[axis], new[i], factors[i], shifts[i], antialias, target)
            result = axis_taps.gather(result, axis)
        return result

    return resize


def _factors(scale: torch.Tensor) -> tuple[float, float]:
    factors = _pair(scale, "scale")
    require(all(f > 0 for f in factors), f"scale is {list(factors)}", expected="positive factors")
    return factors


@kernel("ScaleAndTranslateGrad")
def bind_scale_and_translate_grad(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    kind, antialias, target = node.attrs["kernel_type"], node.attrs["antialias"], device.torch

    def scatter(
        grads: torch.Tensor, image: torch.Tensor, scale: torch.Tensor, translation: torch.Tensor
    ) -> torch.Tensor:
        _require_like(grads, image, _require_batch)
        factors, shifts = _factors(scale), _pair(translation, "translation")
        if not grads.numel() or not image.numel():
            return torch.zeros_like(image)
        result = grads
        for axis in (1, 2):
            i, old = axis - 1, image.shape[axis]
            axis_taps = filter_taps(kind, old, grads.shape[axis], factors[i], shifts[i], antialias, target)
            result = axis_taps.scatter(result, axis, old)
        return result

    return scatter
