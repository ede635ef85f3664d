"""Image adjustment: brightness, gamma and standardization."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.image_color import convert_image_dtype, in_floats
from thalweg._src.graph.ops.image_transform import image_tensor
from thalweg._src.graph.ops.math import add, maximum, realdiv, rsqrt, sqrt, square
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.reduction import reduce_mean, reduce_prod
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("image.adjust_brightness")
def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Adds `delta` to the pixels, on the scale [0, 1) for integer images.

    Args:
        delta: What is added, in the scale of [0, 1].
    """
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = convert_to_tensor(image, name="image")
        pixels = in_floats(image)
        adjusted = add(pixels, cast(delta, pixels.dtype), name=scope)
        return convert_image_dtype(adjusted, image.dtype, saturate=True)


@export("image.random_brightness")
def random_brightness(image: TensorLike, max_delta: float | Tensor, seed: int | None = None) -> Tensor:
    """Adds a random delta in [-max_delta, max_delta) to the pixels.

    Args:
        max_delta: Largest change, in the scale of [0, 1].
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


@export("image.adjust_gamma")
def adjust_gamma(image: TensorLike, gamma: float | Tensor = 1, gain: TensorLike = 1) -> Tensor:
    """Raises pixels to a power and multiplies them by a gain.

    Args:
        gamma: The exponent.
        gain: Factor of the result.
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = convert_to_tensor(image, name="image")
        pixels = in_floats(image)
        message = "gamma is negative"
        if isinstance(gamma, Tensor):
            gamma = with_dependencies([Assert(gamma >= 0, [message])], gamma)
        elif gamma < 0:
            raise ValueError(message)
        return convert_image_dtype(gain * pixels**gamma, image.dtype, saturate=True)


@export("image.per_image_standardization")
def per_image_standardization(image: TensorLike) -> Tensor:
    """Scales each image to mean 0 and standard deviation 1; the deviation has a lower bound."""
    with name_scope(None, "per_image_standardization", [image]) as scope:
        pixels = cast(image_tensor(image), dtypes.float32)
        count = reduce_prod(shape_of(pixels)[-3:])
        centered = pixels - reduce_mean(pixels, [-1, -2, -3], keepdims=True)
        deviation = sqrt(reduce_mean(square(centered), [-1, -2, -3], keepdims=True))
        return realdiv(centered, maximum(deviation, rsqrt(cast(count, dtypes.float32))), name=scope)
