"""Kernels of color space conversion and adjustment."""

from __future__ import annotations

from collections.abc import Callable

import torch

from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import plain_kernel

Adjust = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
_CENTERS = (3.0, 2.0, 4.0)  # on a circle of 6, where red is smallest, green and blue largest


def _hue(rgb: torch.Tensor, greatest: torch.Tensor, chroma: torch.Tensor) -> torch.Tensor:
    """Returns the hue on a circle of 6; gray has hue 0."""
    r, g, b = rgb.unbind(-1)
    safe = torch.where(chroma == 0, 1, chroma)
    blue = torch.where(g == greatest, (b - r) / safe + 2, (r - g) / safe + 4)
    hue = torch.where(r == greatest, (g - b) / safe, blue)
    hue = torch.where(chroma == 0, 0, hue)
    return torch.where(hue < 0, hue + 6, hue)


def _portions(hue: torch.Tensor) -> torch.Tensor:
    """Returns each channel's position between the smallest (0) and the largest (1), for hues on a circle of 6."""
    red, green, blue = _CENTERS
    return torch.stack(((hue - red).abs() - 1, 2 - (hue - green).abs(), 2 - (hue - blue).abs()), dim=-1).clamp_(0, 1)


def _require_channels(images: torch.Tensor, rank: int) -> None:
    require(images.ndim >= rank, f"images has rank {images.ndim}", expected=f"at least {rank}")
    require(images.shape[-1] == 3, f"images has {images.shape[-1]} channels", expected="3 channels")


@plain_kernel("RGBToHSV")
def _to_hsv(images: torch.Tensor) -> torch.Tensor:
    _require_channels(images, 1)
    greatest, least = images.amax(-1), images.amin(-1)
    chroma = greatest - least
    black = greatest <= 0
    saturation = torch.where(black, 0, chroma / torch.where(black, 1, greatest))
    return torch.stack((_hue(images, greatest, chroma) / 6, saturation, greatest), dim=-1)


@plain_kernel("HSVToRGB")
def _to_rgb(images: torch.Tensor) -> torch.Tensor:
    _require_channels(images, 1)
    hue, saturation, value = images.unbind(-1)
    s = saturation.unsqueeze(-1)
    return ((1 - s) + s * _portions(hue * 6)) * value.unsqueeze(-1)


def _adjust_hue(images: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
    _require_channels(images, 3)
    wide = images.float()
    greatest, least = wide.amax(-1), wide.amin(-1)
    chroma = greatest - least
    hue = torch.remainder(_hue(wide, greatest, chroma) + 6 * delta, 6)
    return torch.addcmul(least.unsqueeze(-1), chroma.unsqueeze(-1), _portions(hue)).to(images.dtype)


def _adjust_saturation(images: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    _require_channels(images, 3)
    hsv = _to_hsv(images.float())
    hsv[..., 1].mul_(scale).clamp_(0, 1)
    return _to_rgb(hsv).to(images.dtype)


def _adjust_contrast(images: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    require(images.ndim >= 3, f"images has rank {images.ndim}", expected="at least 3")
    wide = images.float()
    mean = wide.mean((-3, -2), keepdim=True)
    return torch.addcmul(mean, wide - mean, factor).to(images.dtype)


def _with_scalar(function: Adjust) -> Adjust:
    def adjust(images: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        require(factor.ndim == 0, f"the factor has shape {list(factor.shape)}", expected="a scalar")
        return function(images, factor)

    return adjust


plain_kernel("AdjustHue")(_with_scalar(_adjust_hue))
plain_kernel("AdjustSaturation")(_with_scalar(_adjust_saturation))
plain_kernel("AdjustContrastv2")(_with_scalar(_adjust_contrast))
