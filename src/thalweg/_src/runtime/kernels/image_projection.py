"""Kernels of projective transforms of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.resources.devices import Device

Image = torch.Tensor


@kernel("ImageProjectiveTransformV2", "ImageProjectiveTransformV3")
def bind_project(node: Node, device: Device) -> Callable[..., Image]:
    read = _bilinear if node.attrs["interpolation"] == "BILINEAR" else _nearest
    mapped = _MAPS[node.attrs["fill_mode"]]

    def project(images: Image, transforms: Image, output_shape: Image, fill_value: Any = None) -> Image:
        _require_fitting(images, transforms, output_shape)
        fill = 0 if fill_value is None else fill_value.to(images.dtype)
        height, width = output_shape.tolist()
        if not images.shape[0] or not images.shape[3]:
            return images.new_zeros((images.shape[0], height, width, images.shape[3]))
        x = torch.arange(width, device=images.device, dtype=torch.float32)
        y = torch.arange(height, device=images.device, dtype=torch.float32)[:, None]
        t = transforms.t()[:, :, None, None]
        scale = t[6] * x + t[7] * y + 1
        in_x = mapped((t[0] * x + t[1] * y + t[2]) / scale, images.shape[2])
        in_y = mapped((t[3] * x + t[4] * y + t[5]) / scale, images.shape[1])
        values = read(images, in_y, in_x, fill).to(images.dtype)
        return torch.where((scale == 0)[..., None], fill, values)

    return project


def _require_fitting(images: Image, transforms: Image, output_shape: Image) -> None:
    """Raises where torch would broadcast shapes that TensorFlow rejects."""
    require(images.ndim == 4, f"images has rank {images.ndim}", expected="batch, height, width and channels")
    fits = transforms.ndim == 2 and transforms.shape[1] == 8 and transforms.shape[0] in (1, images.shape[0])
    require(
        fits,
        f"transforms has shape {list(transforms.shape)}",
        expected="eight numbers per image, or for all of them",
    )
    require(output_shape.numel() == 2 and output_shape.ndim == 1, "output_shape", expected="a height and a width")
    require(int(output_shape.min()) > 0, f"output_shape is {output_shape.tolist()}", expected="positive sizes")


def _at(images: Image, y: Image, x: Image, fill_value: torch.Tensor | float) -> Image:
    """Returns the pixels at integer coordinates, the fill value outside the image."""
    batch, height, width, channels = images.shape
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    if not height or not width:
        pixels = torch.zeros((batch, *y.shape[1:], channels), dtype=images.dtype, device=images.device)
    else:
        rows, columns = (torch.where(inside, v, 0).to(torch.int64) for v in (y, x))
        flat = (rows * width + columns).reshape(y.shape[0], -1, 1).expand(batch, -1, channels)
        pixels = torch.gather(images.reshape(batch, -1, channels), 1, flat).reshape(batch, *y.shape[1:], channels)
    return torch.where(inside[..., None], pixels, fill_value)


def _nearest(images: Image, y: Image, x: Image, fill_value: torch.Tensor | float) -> Image:
    def rounded(v: Image) -> Image:
        return torch.trunc(v + torch.copysign(torch.full_like(v, 0.5), v))  # halves are rounded away from zero

    return _at(images, rounded(y), rounded(x), fill_value)


def _bilinear(images: Image, y: Image, x: Image, fill_value: torch.Tensor | float) -> Image:
    top, left = torch.floor(y), torch.floor(x)
    down, right = (y - top)[..., None], (x - left)[..., None]
    up, back = (top + 1 - y)[..., None], (left + 1 - x)[..., None]

    def pixels(y: Image, x: Image) -> Image:
        return _at(images, y, x, fill_value).to(torch.float32)  # TensorFlow's precision, whatever the images' type

    above = back * pixels(top, left) + right * pixels(top, left + 1)
    below = back * pixels(top + 1, left) + right * pixels(top + 1, left + 1)
    return up * above + down * below


# -- border modes: the pixel that a coordinate outside the image maps to -----------------------------------------------


def _constant(v: Image, size: int) -> Image:
    return v


def _clamped(v: Image, size: int) -> Image:
    return torch.clamp(v, 0, max(size - 1, 0))


def _reflected(v: Image, size: int) -> Image:
    if size <= 1:
        return torch.where((v < 0) | (v > size - 1), 0.0, v)
    around = 2 * size
    low = torch.where(v < around, around * torch.trunc(-v / around) + v, v)
    low = torch.where(low < -size, low + around, -low - 1)
    high = v - around * torch.trunc(v / around)
    high = torch.where(high >= size, around - high - 1, high)
    return _clamped(torch.where(v < 0, low, torch.where(v > size - 1, high, v)), size)


def _wrapped(v: Image, size: int) -> Image:
    if size <= 1:
        return torch.where((v < 0) | (v > size - 1), 0.0, v)
    low = v + size * (torch.trunc(-v / (size - 1)) + 1)
    high = v - size * torch.trunc(v / (size - 1))
    return _clamped(torch.where(v < 0, low, torch.where(v > size - 1, high, v)), size)


_MAPS: dict[str, Callable[[Image, int], Image]] = {
    "CONSTANT": _constant,
    "NEAREST": _clamped,
    "REFLECT": _reflected,
    "WRAP": _wrapped,
}
