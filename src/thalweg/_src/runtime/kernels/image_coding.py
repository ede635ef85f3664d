"""Kernels of image decoding and encoding: detects the format and converts pixels to the requested type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.image_files import (
    Array,
    decode_bmp,
    decode_gif,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    jpeg_shape,
)
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import from_numpy
from thalweg._src.runtime.resources.devices import Device

# The ops that accept each format: decoders of one format also accept others that yield a single uint8 image.
_ACCEPTED = {
    "JPEG": {"DecodeJpeg", "DecodePng", "DecodeGif", "DecodeAndCropJpeg", "DecodeImage"},
    "PNG": {"DecodeJpeg", "DecodePng", "DecodeGif", "DecodeImage"},
    "GIF": {"DecodeJpeg", "DecodePng", "DecodeGif", "DecodeImage"},
    "BMP": {"DecodeBmp", "DecodeImage"},
}
_STARTS = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF", b"BM": "BMP"}


def _format(contents: bytes) -> str:
    for start, name in _STARTS.items():
        if contents.startswith(start):
            return name
    received = "an empty string" if not contents else f"{len(contents)} bytes that start with {contents[:4]!r}"
    raise invalid(f"Unknown image file format. One of JPEG, PNG, GIF, BMP required: received {received}")


def _only(contents: np.ndarray[Any, Any]) -> bytes:
    require(contents.ndim == 0, f"contents has shape {list(contents.shape)}", expected="a scalar")
    value: bytes = contents.item()
    return value


def _jpeg_options(node: Node) -> dict[str, Any]:
    keys = ("ratio", "fancy_upscaling", "dct_method", "try_recover_truncated", "acceptable_fraction")
    return {key: node.attrs[key] for key in keys if key in node.attrs}


@kernel("DecodePng", "DecodeJpeg", "DecodeGif", "DecodeBmp", "DecodeImage", "DecodeAndCropJpeg", devices=("CPU",))
def bind_decode(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    op, dtype, jpeg = node.type, node.dtypes[0], _jpeg_options(node)
    channels = node.attrs.get("channels", 3)
    expand = node.attrs.get("expand_animations", op == "DecodeGif")

    def decode(contents: np.ndarray[Any, Any], window: torch.Tensor | None = None) -> torch.Tensor:
        data = _only(contents)
        form = _format(data)
        if op not in _ACCEPTED[form]:
            raise invalid(f"{op} cannot decode {form}: use tf.image.decode_{form.lower()} or tf.image.decode_image")
        if form == "JPEG":
            pixels = decode_jpeg(data, channels, crop=None if window is None else window.tolist(), **jpeg)
            image = _scaled(pixels, dtype, 256)
        elif form == "PNG":
            wide = dtype is not dtypes.uint8
            image = _scaled(decode_png(data, channels, wide), dtype, 1)
        elif form == "BMP":
            image = _scaled(decode_bmp(data, channels), dtype, 256)
        else:
            return _frames(op, data, channels, dtype, expand)
        return image.unsqueeze(0) if op == "DecodeGif" else image

    return decode


def _frames(op: str, data: bytes, channels: int, dtype: DType, expand: bool) -> torch.Tensor:
    if channels not in (0, 3):
        raise invalid(f"a GIF has 3 channels, not {channels}")
    frames = decode_gif(data, None if expand or op != "DecodeImage" else 1)
    if op not in ("DecodeGif", "DecodeImage") and len(frames) > 1:
        text = f"{op} cannot decode an animation of {len(frames)} frames: use tf.image.decode_gif"
        raise invalid(text)
    image = _scaled(frames, dtype, 256)
    return image if expand else image[0]


def _scaled(pixels: Array, dtype: DType, factor: int) -> torch.Tensor:
    """Converts pixels to the range of a type: integers are scaled to the wider range, floats lie in [0, 1]."""
    image: torch.Tensor = from_numpy(pixels, dtypes.as_dtype(pixels.dtype))
    if dtype is dtypes.float32:
        return image.to(torch.float32).div_(np.iinfo(pixels.dtype).max)
    if dtype is dtypes.uint16 and pixels.dtype == np.uint8:
        return image.to(torch.int32).mul_(factor).to(torch.uint16)
    return image


@kernel("ExtractJpegShape", devices=("CPU",))
def bind_extract_jpeg_shape(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    dtype = torch.int32 if node.dtypes[0] is dtypes.int32 else torch.int64
    return lambda contents: torch.tensor(jpeg_shape(_only(contents)), dtype=dtype)


@kernel("EncodePng", devices=("CPU",))
def bind_encode_png(node: Node, device: Device) -> Callable[..., Any]:
    level = node.attrs["compression"]

    def encode(image: torch.Tensor) -> Any:
        _require_pixels(image, (1, 2, 3, 4))
        pixels = image.contiguous().numpy()
        outer = pixels.shape[:-3]
        result = np.empty(outer, dtype=object)
        for index in np.ndindex(outer):
            result[index] = encode_png(pixels[index], level)
        return result

    return encode


@kernel("EncodeJpeg", "EncodeJpegVariableQuality", devices=("CPU",))
def bind_encode_jpeg(node: Node, device: Device) -> Callable[..., Any]:
    keys = ("progressive", "optimize_size", "chroma_downsampling", "density_unit", "x_density", "y_density")
    options = {key: node.attrs[key] for key in (*keys, "xmp_metadata") if key in node.attrs}
    allowed = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[node.attrs.get("format", "")]

    def encode(image: torch.Tensor, quality: torch.Tensor | None = None) -> Any:
        require(image.ndim == 3, f"image has rank {image.ndim}", expected="height, width and channels")
        _require_pixels(image, allowed)
        level = node.attrs["quality"] if quality is None else int(quality)
        require(0 <= level <= 100, f"quality is {level}", expected="0 to 100")
        result = np.empty((), dtype=object)
        result[()] = encode_jpeg(image.contiguous().numpy(), level, **options)
        return result

    return encode


def _require_pixels(image: torch.Tensor, channels: tuple[int, ...]) -> None:
    shape = list(image.shape)
    require(image.ndim >= 3, f"image has rank {image.ndim}", expected="height, width and channels")
    require(0 not in shape[-3:], f"image has shape {shape}", expected="pixels to encode")
    require(shape[-1] in channels, f"image has {shape[-1]} channels", expected=f"one of {channels}")
