"""Color spaces and conversion, pixel types, hue, saturation and contrast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef, op
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_equal
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import floordiv, multiply
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.reshape import expand_dims, ones, rank, shape as shape_of
from thalweg._src.graph.ops.saturate_cast import saturate_cast
from thalweg._src.graph.ops.shape_functions import at_least_rank, require
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

Weights = list[list[float]]
_PIXELS = attr.types({dtypes.float16, dtypes.float32}, dtypes.float32)
_SPACES = attr.types({dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}, dtypes.float32)


def _three_channels(c: Inference, least_rank: int) -> Shape:
    shape = at_least_rank(c, 0, least_rank)
    require(shape is None or shape[-1] in (None, 3), f"images has shape {show(shape)}", expected="3 channels")
    return shape


def _space(name: str, doc: str) -> OpDef:
    def infer(c: Inference) -> Sequence[Shape]:
        return [_three_channels(c, 1)]

    return op(name, "images: T -> output: T", T=_SPACES, infer=infer, doc=doc)


rgb_to_hsv = export("image.rgb_to_hsv", images="Images [..., channels].")(
    _space("RGBToHSV", "Converts RGB images to HSV, with all values in [0, 1].")
)
hsv_to_rgb = export("image.hsv_to_rgb", images="Images [..., channels].")(
    _space("HSVToRGB", "Converts HSV images to RGB, with all values in [0, 1].")
)


def _require_factor(c: Inference) -> None:
    name, shape = c.definition.inputs[1].name, c.shapes[1]
    require(not shape, f"{name} has shape {show(shape)}", expected=f"a scalar {name}")


def _recolored(c: Inference) -> Sequence[Shape]:
    _require_factor(c)
    return [_three_channels(c, 3)]


def _contrasted(c: Inference) -> Sequence[Shape]:
    _require_factor(c)
    return [at_least_rank(c, 0, 3)]


adjust_contrast_op = op(
    "AdjustContrastv2",
    "images: T, contrast_factor: float32 -> output: T",
    T=_PIXELS,
    infer=_contrasted,
    doc="Scales the contrast of each channel around its mean over the image.",
)
adjust_hue_op = nondifferentiable_op(
    "AdjustHue",
    "images: T, delta: float32 -> output: T",
    "Rotates the hue of images; delta 1 is a full rotation.",
    T=_PIXELS,
    infer=_recolored,
)
adjust_saturation_op = nondifferentiable_op(
    "AdjustSaturation",
    "images: T, scale: float32 -> output: T",
    "Scales the saturation of images.",
    T=_PIXELS,
    infer=_recolored,
)


@export("image.convert_image_dtype")
def convert_image_dtype(image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None) -> Tensor:
    """Converts pixels to a type and its range: floats lie in [0, 1), integers extend to their maximum.

    Args:
        dtype: The type to convert to.
        saturate: Whether values beyond the range of the new type are clipped.
    """
    image = convert_to_tensor(image, name="image")
    target = dtypes.as_dtype(dtype)
    for kind in (target, image.dtype):
        if not kind.is_floating and not kind.is_integer:
            raise AttributeError(f"pixels must be floating or integer, received {kind.name}")
    if target is image.dtype:
        return identity(image, name=name)
    with name_scope(name, "convert_image", [image]) as scope:
        return _rescaled(image, target, saturate_cast if saturate else cast, scope)


def _rescaled(image: Tensor, target: DType, convert: Callable[..., Any], scope: str) -> Tensor:
    source = image.dtype
    if source.is_floating:
        if target.is_floating:
            return cast(image, target, name=scope)  # type: ignore[no-any-return]
        return convert(multiply(image, target.max + 0.5), target, name=scope)  # type: ignore[no-any-return]
    if target.is_floating:
        return multiply(cast(image, target), 1.0 / source.max, name=scope)
    if source.max > target.max:
        scale = (source.max + 1) // (target.max + 1)
        return convert(floordiv(image, scale), target, name=scope)  # type: ignore[no-any-return]
    return multiply(convert(image, target), (target.max + 1) // (source.max + 1), name=scope)


# -- spaces -----------------------------------------------------------------------------------------------------------

_RGB_TO_GRAY: Weights = [[0.2989], [0.5870], [0.1140]]
_RGB_TO_YIQ: Weights = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YIQ_TO_RGB: Weights = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_RGB_TO_YUV: Weights = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_YUV_TO_RGB: Weights = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _mixed(images: Any, weights: Weights) -> Tensor:
    """Multiplies the channels of each pixel by a matrix."""
    images = convert_to_tensor(images, name="images")
    return matmul(images, convert_to_tensor(weights, images.dtype, name="kernel"))


@export("image.rgb_to_yiq")
def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Converts RGB to YIQ.

    Args:
        images: Images [..., channels].
    """
    return _mixed(images, _RGB_TO_YIQ)


@export("image.yiq_to_rgb")
def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Converts YIQ to RGB.

    Args:
        images: Images [..., channels].
    """
    return _mixed(images, _YIQ_TO_RGB)


@export("image.rgb_to_yuv")
def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Converts RGB to YUV.

    Args:
        images: Images [..., channels].
    """
    return _mixed(images, _RGB_TO_YUV)


@export("image.yuv_to_rgb")
def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Converts YUV to RGB.

    Args:
        images: Images [..., channels].
    """
    return _mixed(images, _YUV_TO_RGB)


@export("image.rgb_to_grayscale")
def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts RGB to grayscale.

    Args:
        images: Images [..., channels].
    """
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        gray = _mixed(convert_image_dtype(images, dtypes.float32), _RGB_TO_GRAY)
        return convert_image_dtype(gray, images.dtype, name=scope)


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Converts grayscale to RGB.

    Args:
        images: Images [..., channels].
    """
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        static = images.dims
        if static is not None:
            if len(static) < 2:
                raise ValueError(f"a grayscale image has rank 2 or more, received shape {show(static)}")
            if static[-1] not in (None, 1):
                raise ValueError(f"Last dimension of a grayscale image should be size 1, received shape {show(static)}")
        if static is None or static[-1] is None:
            message = "Last dimension of a grayscale image should be size 1."
            images = with_dependencies([assert_equal(shape_of(images)[-1], 1, message=message)], images)
        if static is not None:
            return tile(images, [1] * (len(static) - 1) + [3], name=scope)
        multiples = concat([ones(expand_dims(rank(images) - 1, 0), dtypes.int32), [3]], 0)
        return tile(images, multiples, name=scope)


# -- adjustment -------------------------------------------------------------------------------------------------------


def in_floats(image: Tensor) -> Tensor:
    """Returns pixels in a floating type: floating ones unchanged, others as float32 in [0, 1]."""
    return image if image.dtype in (dtypes.float16, dtypes.float32) else convert_image_dtype(image, dtypes.float32)


@export("image.adjust_contrast")
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Scales the contrast of each channel around its mean over the image.

    Args:
        images: Images [..., channels].
        contrast_factor: Factor of the distance from the mean.
    """
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = convert_to_tensor(images, name="images")
        adjusted = adjust_contrast_op(in_floats(images), contrast_factor, name=scope)
        return convert_image_dtype(adjusted, images.dtype, saturate=True)


@export("image.adjust_hue")
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Rotates the hue by `delta` in [-1, 1], where 1 is a full turn.

    Args:
        delta: Angle in [-1, 1], where 1 is a full turn.
    """
    with name_scope(name, "adjust_hue", [image]):
        image = convert_to_tensor(image, name="image")
        return convert_image_dtype(adjust_hue_op(in_floats(image), delta), image.dtype)


@export("image.adjust_saturation")
def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Tensor:
    """Scales the saturation of each pixel."""
    with name_scope(name, "adjust_saturation", [image]):
        image = convert_to_tensor(image, name="image")
        return convert_image_dtype(adjust_saturation_op(in_floats(image), saturation_factor), image.dtype)


def _require_range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


@export("image.random_contrast")
def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Scales the contrast by a random factor in [lower, upper).

    Args:
        lower: Lower end of the range, included.
        upper: Upper end of the range, excluded.
    """
    _require_range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


@export("image.random_saturation")
def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Scales the saturation by a random factor in [lower, upper).

    Args:
        lower: Lower end of the range, included.
        upper: Upper end of the range, excluded.
    """
    _require_range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


@export("image.random_hue")
def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Rotates the hue by a random delta in [-max_delta, max_delta).

    Args:
        max_delta: Largest change of the hue, at most 0.5.
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))
