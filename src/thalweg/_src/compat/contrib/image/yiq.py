"""HSV adjustment by one matrix in YIQ space."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.contraction import tensordot
from thalweg._src.graph.ops.image_color import convert_image_dtype
from thalweg._src.graph.ops.math import cos, sin
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_TO_YIQ = np.array([[0.299, 0.596, 0.211], [0.587, -0.274, -0.523], [0.114, -0.322, 0.312]], np.float32)


@export("contrib.image.adjust_hsv_in_yiq")
def adjust_hsv_in_yiq(
    image: TensorLike,
    delta_hue: TensorLike = 0,
    scale_saturation: TensorLike = 1,
    scale_value: TensorLike = 1,
    name: str | None = None,
) -> Tensor:
    """Rotates the hue of RGB images by an angle in radians and scales saturation and value."""
    with name_scope(name, "adjust_hsv_in_yiq", [image]):
        image = convert_to_tensor(image, name="image")
        hue, saturation, value = (cast(x, dtypes.float32) for x in (delta_hue, scale_saturation, scale_value))
        u, w = value * saturation * cos(hue), value * saturation * sin(hue)
        change = reshape(stack([value, 0.0, 0.0, 0.0, u, w, 0.0, -w, u]), [3, 3])
        matrix = matmul(matmul(_TO_YIQ, change), np.linalg.inv(_TO_YIQ))
        changed = tensordot(convert_image_dtype(image, dtypes.float32), matrix, 1)
        changed.set_shape(image.get_shape())
        return convert_image_dtype(changed, image.dtype)


@export("contrib.image.random_hsv_in_yiq")
def random_hsv_in_yiq(
    image: TensorLike,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: int | None = None,
) -> Tensor:
    """Adjusts hue, saturation and value of RGB images at random, within bounds."""
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for what, lower, upper in (("saturation", lower_saturation, upper_saturation), ("value", lower_value, upper_value)):
        if lower < 0:
            raise ValueError(f"lower_{what} must be non-negative.")
        if lower > upper:
            raise ValueError(f"lower_{what} must be < upper_{what}.")
    with name_scope(None, "random_hsv_in_yiq", [image]):
        hue = random_uniform([], -max_delta_hue, max_delta_hue, seed=seed) if max_delta_hue else 0
        saturation = _drawn(lower_saturation, upper_saturation, seed)
        return adjust_hsv_in_yiq(image, hue, saturation, _drawn(lower_value, upper_value, seed))


def _drawn(lower: float, upper: float, seed: int | None) -> Any:
    return lower if lower == upper else random_uniform([], lower, upper, seed=seed)
