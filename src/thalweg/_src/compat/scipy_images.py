"""The image functions of scipy.misc, which SciPy 1.2 removed, and the text sizes of Pillow 9, by today's Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np

_FILTERS = {
    "nearest": "NEAREST",
    "lanczos": "LANCZOS",
    "bilinear": "BILINEAR",
    "bicubic": "BICUBIC",
    "cubic": "BICUBIC",
}


def _pillow() -> Any:
    from PIL import Image

    return Image


def bytescale(data: Any, cmin: float | None = None, cmax: float | None = None, high: int = 255, low: int = 0) -> Any:
    """Scales values between `cmin` and `cmax`, by default their minimum and maximum, to uint8 from `low` to `high`."""
    if data.dtype == np.uint8:
        return data
    if not 0 <= low <= high <= 255:
        raise ValueError(f"`low` and `high` should be in order and between 0 and 255, not {low} and {high}")
    cmin = data.min() if cmin is None else cmin
    cmax = data.max() if cmax is None else cmax
    if cmax < cmin:
        raise ValueError("`cmax` should be larger than `cmin`.")
    scaled = (data - cmin) * ((high - low) / float((cmax - cmin) or 1)) + low
    return (scaled.clip(low, high) + 0.5).astype(np.uint8)


def toimage(
    arr: Any,
    high: int = 255,
    low: int = 0,
    cmin: float | None = None,
    cmax: float | None = None,
    pal: Any = None,
    mode: str | None = None,
    channel_axis: int | None = None,
) -> Any:
    """Returns an array as an image of Pillow; values other than uint8 are scaled so that the largest is `high`."""
    data = np.asarray(arr)
    if np.iscomplexobj(data):
        raise ValueError("Cannot convert a complex-valued array.")
    if data.ndim == 2 and mode in ("F", "I"):
        return _pillow().fromarray(data.astype(np.float32 if mode == "F" else np.int32))
    if data.ndim == 2:
        scaled = bytescale(data, cmin, cmax, high, low)
        if mode == "1":
            return _pillow().fromarray(scaled > high // 2)
        image = _pillow().fromarray(scaled)
        if mode == "P" or pal is not None:
            image = image.convert("P")
            image.putpalette(np.asarray(pal if pal is not None else np.repeat(np.arange(256), 3), np.uint8).tobytes())
        return image
    if data.ndim != 3 or not {3, 4} & set(data.shape):
        raise ValueError("'arr' does not have a suitable array shape for any mode.")
    axis = channel_axis if channel_axis is not None else data.shape.index(3 if 3 in data.shape else 4)
    if data.shape[axis] not in (3, 4):
        raise ValueError("Channel axis dimension is not valid.")
    channels = np.ascontiguousarray(np.moveaxis(bytescale(data, cmin, cmax, high, low), axis, 2))
    used = mode or ("RGB" if channels.shape[2] == 3 else "RGBA")
    if len(used.replace("YCbCr", "YCC")) != channels.shape[2]:
        raise ValueError("Invalid array shape for mode.")
    return _pillow().frombytes(used, channels.shape[1::-1], channels.tobytes())


def fromimage(im: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """Returns an image of Pillow as an array; `flatten` makes it one channel of floats."""
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    elif im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    elif im.mode == "1":
        im = im.convert("L")
    return np.array(im.convert("F") if flatten else im)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> Any:
    """Returns the image in a file as an array."""
    with _pillow().open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Writes an array as an image, scaled to uint8 if it is not."""
    toimage(arr, channel_axis=2 if np.ndim(arr) == 3 else None).save(name, format=format)


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> Any:
    """Resizes an image: to percent for an integer, by a factor for a float, or to (height, width)."""
    image = toimage(arr, mode=mode)
    if isinstance(size, int | np.integer):
        size = size / 100
    if isinstance(size, float | np.floating):
        width, height = (int(side * size) for side in image.size)
    else:
        height, width = size[:2]
    return fromimage(image.resize((width, height), resample=_filter(interp)))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> Any:
    """Rotates an image counter-clockwise, by degrees."""
    return fromimage(toimage(arr).rotate(angle, resample=_filter("bicubic" if interp == "lanczos" else interp)))


def _filter(name: str) -> Any:
    return getattr(_pillow().Resampling, _FILTERS[name])


def textsize(self: Any, text: str, font: Any = None, *args: Any, **kwargs: Any) -> tuple[int, int]:
    """Returns the width and height of a text, as ImageDraw.textsize did."""
    left, top, right, bottom = self.multiline_textbbox((0, 0), text, font, *args, **kwargs)
    return int(right - min(left, 0)), int(bottom - min(top, 0))


def getsize(self: Any, text: str, *args: Any, **kwargs: Any) -> tuple[int, int]:
    """Returns the width and height of a text, as ImageFont.getsize did."""
    left, top, right, bottom = self.getbbox(text, *args, **kwargs)
    return int(right - min(left, 0)), int(bottom - min(top, 0))
