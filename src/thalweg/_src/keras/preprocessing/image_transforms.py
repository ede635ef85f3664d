"""Changes of images: affine transforms, colors and brightness, by given and by random amounts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.keras.preprocessing.image_files import Array, array_to_img, img_to_array


@export("keras.preprocessing.image.apply_affine_transform")
def apply_affine_transform(
    x: Array,
    theta: float = 0,
    tx: float = 0,
    ty: float = 0,
    shear: float = 0,
    zx: float = 1,
    zy: float = 1,
    row_axis: int = 0,
    col_axis: int = 1,
    channel_axis: int = 2,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    order: int = 1,
) -> Array:
    """Returns an image that is rotated, shifted, sheared and zoomed about its center."""
    _require_image(x, row_axis, col_axis, channel_axis)
    matrix = _affine_matrix(theta, tx, ty, shear, zx, zy)
    if matrix is None:
        return x
    center = np.eye(3)
    center[:2, 2] = x.shape[row_axis] / 2 - 0.5, x.shape[col_axis] / 2 - 0.5
    matrix = center @ matrix @ np.linalg.inv(center)
    if col_axis > row_axis:
        matrix = matrix[[1, 0, 2]][:, [1, 0, 2]]
    ndimage = _ndimage()
    channels = [
        ndimage.affine_transform(channel, matrix[:2, :2], matrix[:2, 2], order=order, mode=fill_mode, cval=cval)
        for channel in np.moveaxis(x, channel_axis, 0)
    ]
    return np.stack(channels, axis=channel_axis)


def _require_image(x: Array, row_axis: int, col_axis: int, channel_axis: int) -> None:
    """Raises an error unless an array is one image with these axes."""
    if sorted((row_axis, col_axis, channel_axis)) != [0, 1, 2] or channel_axis == 1:
        raise ValueError(
            "row_axis, col_axis and channel_axis: expected 0, 1 and 2 in some order, with channels at 0 or 2, received "
            f"{row_axis}, {col_axis} and {channel_axis}"
        )
    require_kind("x", x, np.ndarray, "an array")
    if x.ndim != 3:
        raise ValueError(f"x: expected one image, of rank 3, received shape {x.shape}")


def _affine_matrix(theta: float, tx: float, ty: float, shear: float, zx: float, zy: float) -> Array | None:
    """Returns the product of the transforms that change something, None if there are none."""
    factors = []
    if theta:
        turn = np.deg2rad(theta)
        factors.append([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    if tx or ty:
        factors.append([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear:
        angle = np.deg2rad(shear)
        factors.append([[1, -np.sin(angle), 0], [0, np.cos(angle), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        factors.append([[zx, 0, 0], [0, zy, 0], [0, 0, 1]])
    if not factors:
        return None
    matrix = np.eye(3)
    for factor in factors:
        matrix = matrix @ np.array(factor)
    return matrix


def _ndimage() -> Any:
    """Returns the functions of SciPy for images, which only affine transforms need."""
    try:
        from scipy import ndimage
    except ImportError:
        raise ImportError("Image transformations require SciPy: `pip install scipy`") from None
    return ndimage


@export("keras.preprocessing.image.random_rotation")
def random_rotation(
    x: Array,
    rg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """Returns an image that is rotated by a random angle."""
    theta = np.random.uniform(-rg, rg)
    return apply_affine_transform(
        x, theta, 0, 0, 0, 1, 1, row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order
    )


@export("keras.preprocessing.image.random_shift")
def random_shift(
    x: Array,
    wrg: float,
    hrg: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """Returns an image that is shifted by random fractions of its height and width."""
    _require_image(x, row_axis, col_axis, channel_axis)
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(
        x, 0, tx, ty, 0, 1, 1, row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order
    )


@export("keras.preprocessing.image.random_shear")
def random_shear(
    x: Array,
    intensity: float,
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """Returns an image that is sheared by a random angle."""
    shear = np.random.uniform(-intensity, intensity)
    return apply_affine_transform(
        x, 0, 0, 0, shear, 1, 1, row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order
    )


@export("keras.preprocessing.image.random_zoom")
def random_zoom(
    x: Array,
    zoom_range: Sequence[float],
    row_axis: int = 1,
    col_axis: int = 2,
    channel_axis: int = 0,
    fill_mode: str = "nearest",
    cval: float = 0.0,
    interpolation_order: int = 1,
) -> Array:
    """Returns an image whose height and width are zoomed by random factors."""
    zx, zy = random_factors(require_pair(zoom_range, "zoom_range"))
    return apply_affine_transform(
        x, 0, 0, 0, 0, zx, zy, row_axis, col_axis, channel_axis, fill_mode, cval, interpolation_order
    )


def random_factors(between: Sequence[float]) -> tuple[float, float]:
    """Returns two random factors of a range; one that contains 1 alone needs no random numbers."""
    low, high = between
    zx, zy = (1, 1) if low == high == 1 else np.random.uniform(low, high, 2)
    return zx, zy


def require_pair(values: Any, name: str) -> Sequence[float]:
    """Returns two numbers; raises ValueError if they are not two."""
    if not isinstance(values, list | tuple) or len(values) != 2:
        raise ValueError(f"`{name}` should be a tuple or list of two floats, received {values!r}")
    return values


@export("keras.preprocessing.image.apply_channel_shift")
def apply_channel_shift(x: Array, intensity: float, channel_axis: int = 0) -> Array:
    """Returns an image with a number added to each value, within the range that it has."""
    return np.asarray(np.clip(x + intensity, np.min(x), np.max(x)))


@export("keras.preprocessing.image.random_channel_shift")
def random_channel_shift(x: Array, intensity_range: float, channel_axis: int = 0) -> Array:
    """Returns an image with a random number added to each value, within the range that it has."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


@export("keras.preprocessing.image.apply_brightness_shift")
def apply_brightness_shift(x: Array, brightness: float, scale: bool = True) -> Array:
    """Returns an image that is brighter by a factor, or darker if it is below 1."""
    from PIL import ImageEnhance

    low, high = np.min(x), np.max(x)
    is_outside = bool(low < 0 or high > 255)  # of what an image of Pillow can have
    image = ImageEnhance.Brightness(array_to_img(x, scale=scale or is_outside)).enhance(brightness)
    changed = img_to_array(image)
    return changed / 255 * (high - low) + low if is_outside and not scale else changed


@export("keras.preprocessing.image.random_brightness")
def random_brightness(x: Array, brightness_range: Sequence[float], scale: bool = True) -> Array:
    """Returns an image whose brightness is changed by a random factor."""
    low, high = require_pair(brightness_range, "brightness_range")
    return apply_brightness_shift(x, np.random.uniform(low, high), scale)
