"""Image decoding and encoding ops: PNG, JPEG, GIF and BMP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.image_color import convert_image_dtype
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.shape_functions import require, with_rank
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_METHODS = ("", "INTEGER_FAST", "INTEGER_ACCURATE")
_JPEG_ATTRS: dict[str, Any] = {
    "channels": 0,
    "ratio": 1,
    "fancy_upscaling": True,
    "try_recover_truncated": False,
    "acceptable_fraction": 1.0,
    "dct_method": "",
}


def _require_scalar(c: Inference, index: int) -> None:
    name, shape = c.definition.inputs[index].name, c.shapes[index]
    require(not shape, f"{name} has shape {show(shape)}", expected=f"a scalar {name}")


def _channels(c: Inference, allowed: tuple[int, ...] = (0, 1, 3, 4)) -> int | None:
    """Returns the requested channels; 0 means those of the file."""
    channels: int = c.attrs["channels"]
    require(channels in allowed, f"channels is {channels}", expected=f"one of {', '.join(map(str, allowed))}")
    return channels or None


def _decoded(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 0)
    return [(None, None, _channels(c))]


def _decoded_jpeg(c: Inference) -> Sequence[Shape]:
    ratio, method = c.attrs["ratio"], c.attrs["dct_method"]
    require(ratio in (1, 2, 4, 8), f"ratio is {ratio}", expected="1, 2, 4 or 8")
    require(method in _METHODS, f"dct_method is {method!r}", expected="'INTEGER_FAST', 'INTEGER_ACCURATE' or ''")
    return _decoded(c)


def _decoded_window(c: Inference) -> Sequence[Shape]:
    shape = with_rank(c, 1, 1)
    assert shape is not None
    require(shape[0] in (None, 4), f"crop_window has {shape[0]} elements", expected="top, left, height and width")
    window = c.value(1)
    height, width = (None, None) if window is None else (int(window[2]), int(window[3]))
    require(height is None or height > 0, f"crop_window has the height {height}", expected="at least 1")
    require(width is None or width > 0, f"crop_window has the width {width}", expected="at least 1")
    (_, _, channels) = _decoded_jpeg(c)[0] or (None, None, None)
    return [(height, width, channels)]


def _decoded_gif(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 0)
    return [(None, None, None, 3)]


def _decoded_image(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 0)
    channels = _channels(c)
    return [None if c.attrs["expand_animations"] else (None, None, channels)]


decode_png = export("image.decode_png", "io.decode_png", dtype="Element type of the pixels.")(
    nondifferentiable_op(
        "DecodePng",
        "contents: string -> image: dtype",
        "Decodes a PNG file.",
        channels=0,
        dtype=attr.types({dtypes.uint8, dtypes.uint16}, dtypes.uint8),
        infer=_decoded,
    )
)
decode_jpeg = export("image.decode_jpeg", "io.decode_jpeg")(
    nondifferentiable_op(
        "DecodeJpeg",
        "contents: string -> image: uint8",
        "Decodes a JPEG file, optionally downscaled by 2, 4 or 8.",
        **_JPEG_ATTRS,
        infer=_decoded_jpeg,
    )
)
decode_and_crop_jpeg = export(
    "image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg", crop_window="Top, left, height and width of the window."
)(
    nondifferentiable_op(
        "DecodeAndCropJpeg",
        "contents: string, crop_window: int32 -> image: uint8",
        "Decodes a window (top, left, height, width) of a JPEG file.",
        **_JPEG_ATTRS,
        host="crop_window",
        infer=_decoded_window,
    )
)
decode_gif = export("image.decode_gif", "io.decode_gif")(
    nondifferentiable_op(
        "DecodeGif",
        "contents: string -> image: uint8",
        "Decodes the frames of a GIF file, each drawn over the previous one.",
        infer=_decoded_gif,
    )
)
decode_bmp = export("image.decode_bmp", "io.decode_bmp")(
    nondifferentiable_op(
        "DecodeBmp", "contents: string -> image: uint8", "Decodes an uncompressed BMP file.", channels=0, infer=_decoded
    )
)
decode_image_op = nondifferentiable_op(
    "DecodeImage",
    "contents: string -> image: dtype",
    "Decodes a PNG, JPEG, GIF or BMP file.",
    channels=0,
    dtype=attr.types({dtypes.uint8, dtypes.uint16, dtypes.float32}, dtypes.uint8),
    expand_animations=True,
    infer=_decoded_image,
)


def _extracted(c: Inference) -> Sequence[Shape]:
    _require_scalar(c, 0)
    return [(3,)]


extract_jpeg_shape = export("image.extract_jpeg_shape", "io.extract_jpeg_shape")(
    nondifferentiable_op(
        "ExtractJpegShape",
        "contents: string -> image_shape: output_type",
        "Returns height, width and channels of a JPEG file without decoding its pixels.",
        output_type=attr.types(dtypes.INDEX, dtypes.int32),
        infer=_extracted,
    )
)


def _require_image(c: Inference, allowed: tuple[int, ...]) -> Shape:
    """Returns the shape of an image to encode, which must have pixels and a valid number of channels."""
    shape = c.shapes[0]
    if shape is not None:
        require(len(shape) >= 3, f"image has rank {len(shape)}", expected="height, width and channels")
        require(0 not in shape[-3:], f"image has shape {show(shape)}", expected="pixels to encode")
        expected = " or ".join(map(str, allowed))
        require(shape[-1] is None or shape[-1] in allowed, f"image has {shape[-1]} channels", expected=expected)
        require(all(size is None or size < 2**27 for size in shape[-3:]), f"image {show(shape)} is too large to encode")
    return shape


def _encoded_png(c: Inference) -> Sequence[Shape]:
    shape = _require_image(c, (1, 2, 3, 4))
    level = c.attrs["compression"]
    require(-1 <= level <= 9, f"compression is {level}", expected="-1 (the default of zlib) to 9")
    return [None if shape is None else shape[:-3]]


def _encoded_jpeg(c: Inference) -> Sequence[Shape]:
    allowed = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[c.attrs.get("format", "")]
    with_rank(c, 0, 3)
    _require_image(c, allowed)
    if len(c.shapes) > 1:
        _require_scalar(c, 1)
        value = c.value(1)
        quality = None if value is None else int(value)
    else:
        quality = c.attrs["quality"]
    require(quality is None or 0 <= quality <= 100, f"quality is {quality}", expected="0 to 100")
    for density in ("x_density", "y_density"):
        value = c.attrs.get(density, 1)
        require(0 <= value < 2**16, f"{density} is {value}", expected="0 to 65535")
    xmp = c.attrs.get("xmp_metadata", "")
    require(len(xmp.encode("utf-8", "surrogateescape")) < 65000, "xmp_metadata does not fit into one segment")
    return [()]


encode_png_op = nondifferentiable_op(
    "EncodePng",
    "image: T -> contents: string",
    "Encodes images as PNG files.",
    compression=-1,
    T=attr.types({dtypes.uint8, dtypes.uint16}, dtypes.uint8),
    infer=_encoded_png,
)
encode_jpeg = export(
    "image.encode_jpeg",
    "io.encode_jpeg",
    image="An image [height, width, channels] of uint8.",
    format='Colors of the file: "" by the number of channels, "grayscale" or "rgb".',
    quality="Quality of the file, 0 to 100.",
    progressive="Whether the file is progressive.",
    optimize_size="Whether more time is spent for a smaller file.",
    chroma_downsampling="Whether chroma is stored at half the resolution.",
    density_unit='Unit of the densities: "in" or "cm".',
    x_density="Horizontal pixels per unit.",
    y_density="Vertical pixels per unit.",
    xmp_metadata="XMP metadata to embed.",
)(
    nondifferentiable_op(
        "EncodeJpeg",
        "image: uint8 -> contents: string",
        "Encodes an image as a JPEG file.",
        format=attr.string("", "grayscale", "rgb", default=""),
        quality=95,
        progressive=False,
        optimize_size=False,
        chroma_downsampling=True,
        density_unit=attr.string("in", "cm", default="in"),
        x_density=300,
        y_density=300,
        xmp_metadata="",
        infer=_encoded_jpeg,
    )
)
encode_jpeg_variable_quality = nondifferentiable_op(
    "EncodeJpegVariableQuality",
    "images: uint8, quality: int32 -> contents: string",
    "Encodes an image as a JPEG file with a quality given at run time.",
    host="quality",
    infer=_encoded_jpeg,
)


@export("image.encode_png", "io.encode_png")
def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """Encodes images of 1 to 4 channels, uint8 or uint16, as PNG files.

    Args:
        image: An image [height, width, channels] of uint8 or uint16.
        compression: Compression level, -1 for the default.
    """
    return encode_png_op(convert_to_tensor(image, name="image"), compression=compression, name=name)


@export("image.decode_image", "io.decode_image")
def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decodes a PNG, JPEG, GIF or BMP file; a GIF has a leading dimension of frames.

    Args:
        dtype: Element type of the pixels.
        expand_animations: Whether all frames of a GIF file are returned, not the first alone.
    """
    target = dtypes.as_dtype(dtype)
    direct = target if target in (dtypes.float32, dtypes.uint8, dtypes.uint16) else dtypes.uint16
    with name_scope(name, "decode_image", [contents]):
        image = decode_image_op(contents, channels=channels or 0, dtype=direct, expand_animations=expand_animations)
        return image if direct is target else convert_image_dtype(image, target)


@export("image.is_jpeg", "io.is_jpeg")
def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Returns whether the bytes begin like a JPEG file."""
    with name_scope(name, "is_jpeg", [contents]) as scope:
        return equal(OPS.lookup("Substr")(contents, 0, 3), b"\xff\xd8\xff", name=scope)


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(
    image: TensorLike, jpeg_quality: TensorLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """Encodes an image as JPEG with the given quality, and decodes it again.

    Args:
        image: An image [height, width, channels].
        jpeg_quality: Quality of the JPEG file, 0 to 100.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        shape = image.dims
        pixels = convert_image_dtype(image, dtypes.uint8, saturate=True)
        coded = encode_jpeg_variable_quality(pixels, convert_to_tensor(jpeg_quality, dtypes.int32))
        channels = None if shape is None else shape[-1]
        decoded = decode_jpeg(coded, channels=channels or 0, dct_method=dct_method)
        if shape is not None and len(shape) == 3:
            decoded.set_shape(shape)
        return convert_image_dtype(decoded, image.dtype, saturate=True)


@export("image.random_jpeg_quality")
def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """Encodes an image as JPEG with a random quality, and decodes it again.

    Args:
        image: An image [height, width, channels].
        min_jpeg_quality: Lowest quality, included.
        max_jpeg_quality: Highest quality, excluded.
    """
    if not (0 <= min_jpeg_quality <= 100 and 0 <= max_jpeg_quality <= 100):
        raise ValueError(f"JPEG qualities go from 0 to 100, received {min_jpeg_quality} and {max_jpeg_quality}")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError(f"min_jpeg_quality {min_jpeg_quality} is not below max_jpeg_quality {max_jpeg_quality}")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dtypes.int32)
    return adjust_jpeg_quality(image, quality)
