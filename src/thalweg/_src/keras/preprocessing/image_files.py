"""Images of Pillow and arrays: read, converted and saved."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from thalweg._src.base import logging
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.text import PathLike
from thalweg._src.keras.backend.settings import floatx, image_data_format

Array = np.ndarray[Any, Any]
_MODES = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}
_GRAYS = ("L", "I;16", "I")  # modes of Pillow with one channel, which have up to 32 bits
_METHODS = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def required_format(data_format: str | None) -> str:
    """Returns the place of channels, by default the one that is set; raises ValueError if it is none."""
    data_format = data_format or image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f'data_format: expected "channels_first" or "channels_last", received {data_format!r}')
    return data_format


@export("keras.preprocessing.image.load_img")
def load_img(
    path: PathLike | IO[bytes],
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: Sequence[int] | None = None,
    interpolation: str = "nearest",
) -> Any:
    """Returns the image of a file as one of Pillow."""
    from PIL import Image

    if grayscale:
        logging.warning('grayscale is deprecated. Please use color_mode = "grayscale"')
        color_mode = "grayscale"
    if color_mode not in _MODES:
        raise ValueError(f'color_mode: expected "grayscale", "rgb" or "rgba", received {color_mode!r}')
    if not isinstance(path, str | bytes | os.PathLike):
        require_members("path", path, "a path or an open file", "read", "seek")
    image: Any = Image.open(path)
    image.load()
    if image.mode != _MODES[color_mode] and not (color_mode == "grayscale" and image.mode in _GRAYS):
        image = image.convert(_MODES[color_mode])
    if target_size is None or image.size == (target_size[1], target_size[0]):
        return image
    if interpolation not in _METHODS:
        raise ValueError(f"interpolation: expected one of {', '.join(_METHODS)}, received {interpolation!r}")
    return image.resize((target_size[1], target_size[0]), Image.Resampling[interpolation.upper()])


@export("keras.preprocessing.image.img_to_array")
def img_to_array(img: Any, data_format: str | None = None, dtype: npt.DTypeLike | None = None) -> Array:
    """Returns an image of Pillow as an array of rank 3."""
    data_format = required_format(data_format)
    x = np.asarray(img, dtype=dtype or floatx())
    if x.ndim not in (2, 3):
        raise ValueError(f"img: expected an image with or without channels, received shape {x.shape}")
    x = x[:, :, None] if x.ndim == 2 else x
    return x.transpose(2, 0, 1) if data_format == "channels_first" else x


@export("keras.preprocessing.image.array_to_img")
def array_to_img(
    x: np.ndarray[Any, Any], data_format: str | None = None, scale: bool = True, dtype: npt.DTypeLike | None = None
) -> Any:
    """Returns an array of rank 3 as an image of Pillow."""
    from PIL import Image

    x = np.asarray(x, dtype=dtype or floatx())
    if x.ndim != 3:
        raise ValueError(f"x: expected one image, of rank 3, received shape {x.shape}")
    if required_format(data_format) == "channels_first":
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - np.min(x)
        x = x / (np.max(x) or 1) * 255
    channels = x.shape[2]
    if channels not in (1, 3, 4):
        raise ValueError(f"x: expected 1, 3 or 4 channels, received {channels}")
    if channels > 1:
        return Image.fromarray(x.astype(np.uint8))
    return Image.fromarray(x[:, :, 0].astype(np.int32 if np.max(x) > 255 else np.uint8))


@export("keras.preprocessing.image.save_img")
def save_img(
    path: PathLike | IO[bytes],
    x: np.ndarray[Any, Any],
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Saves an array of rank 3 as an image."""
    image = array_to_img(x, data_format, scale)
    if image.mode == "RGBA" and file_format in ("jpg", "jpeg"):
        logging.warning("JPEG files have no transparency: the image is saved as RGB")
        image = image.convert("RGB")
    image.save(path, format="jpeg" if file_format == "jpg" else file_format, **kwargs)
