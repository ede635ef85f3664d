"""Image file codecs (PNG, JPEG, BMP, GIF): bytes to pixel arrays and back, by Pillow and zlib.

A header is checked before anything is allocated: the pixels may not exceed what the file's bytes can encode. Every
decoding failure raises InvalidArgumentError.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid

Array = np.ndarray[Any, Any]
_MOST_PIXELS = 1 << 29
_MOST_BYTES = 1 << 31
_DEFLATE = 1040  # the maximum compression ratio of deflate
_BLOCKS = 4096  # pixels per byte that a JPEG file can encode, generously


def _invalid(form: str, data: bytes, why: str) -> errors.InvalidArgumentError:
    return invalid(f"invalid {form} data of {len(data)} bytes: {why}")


def _require_size(form: str, data: bytes, width: int, height: int, at_most: int) -> None:
    """Rejects sizes that are unreasonable or that the file cannot fill."""
    if width <= 0 or height <= 0:
        raise _invalid(form, data, f"its size is {width} x {height} pixels")
    if width >= 1 << 27 or height >= 1 << 27 or width * height >= _MOST_PIXELS:
        raise _invalid(form, data, f"{width} x {height} pixels are too many")
    if width * height > at_most:
        raise _invalid(form, data, f"it is too short for {width} x {height} pixels")


def _guarded(form: str, data: bytes, load: Callable[[], Any]) -> Any:
    """Calls a function that uses Pillow and converts its various exceptions to one type."""
    try:
        return load()
    except errors.OpError:
        raise
    except Exception as error:
        text = str(error).splitlines()
        cut = isinstance(error, IndexError | struct.error)
        raise _invalid(form, data, "it is truncated" if cut or not text else text[0]) from None


# -- PNG --------------------------------------------------------------------------------------------------------------

_PNG = b"\x89PNG\r\n\x1a\n"
_KEPT = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
_GRAY, _RGB, _PALETTE, _GRAY_ALPHA, _RGB_ALPHA = 0, 2, 3, 4, 6
_CHANNELS = {_GRAY: 1, _RGB: 3, _PALETTE: 1, _GRAY_ALPHA: 2, _RGB_ALPHA: 4}


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yields type, start and end of the chunks."""
    position = len(_PNG)
    while position + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, position)
        end = position + 12 + size
        if end > len(data):
            return
        yield kind, position, end
        if kind == b"IEND":
            return
        position = end


def decode_png(data: bytes, channels: int, wide: bool) -> Array:
    """Returns the pixels of a PNG file, with 16 bits if `wide`, else 8; channels=0 keeps the file's own."""
    bodies: dict[bytes, bytes] = {}
    chunks = [_PNG]
    for kind, start, end in _png_chunks(data):
        if kind in _KEPT:  # color profiles and texts are ignored
            chunks.append(data[start:end])
            bodies.setdefault(kind, data[start + 8 : end - 4] if kind != b"IDAT" else b"")
    header = bodies.get(b"IHDR", b"")
    if len(header) != 13 or b"IDAT" not in bodies or b"IEND" not in bodies:
        raise _invalid("PNG", data, "it has no header" if len(header) != 13 else "it is truncated")
    width, height, depth, color = struct.unpack_from(">IIBB", header)
    if color not in _CHANNELS:
        raise _invalid("PNG", data, f"its color type is {color}")
    bits = _CHANNELS[color] * depth
    _require_size("PNG", data, width, height, len(data) * _DEFLATE * 8 // max(bits, 1))
    stored_channels = (4 if b"tRNS" in bodies else 3) if color == _PALETTE else _CHANNELS[color]
    channels = channels or stored_channels
    content = b"".join(chunks)
    key = bodies.get(b"tRNS") if channels in (2, 4) else None
    palette = bodies.get(b"PLTE", b"")
    deep = wide or channels < 3

    def load() -> Array:
        return _png_pixels(content, color, depth, key, deep, palette)

    opaque = (1 << min(depth, 8)) - 1  # TensorFlow adds alpha before it expands low bit depths
    return _with_depth(_with_channels(_guarded("PNG", data, load), channels, opaque), wide)


def _png_pixels(content: bytes, color: int, depth: int, key: bytes | None, wide: bool, palette: bytes) -> Array:
    """Returns the pixels as stored: grayscale or color, with alpha where present."""
    from PIL.PngImagePlugin import PngImageFile

    image = PngImageFile(io.BytesIO(content))
    if color == _PALETTE:
        colors = np.zeros((256, 4 if key else 3), np.uint8)
        rows = np.frombuffer(palette, np.uint8).reshape(-1, 3)[:256]
        colors[: len(rows), :3] = rows
        if key:
            colors[:, 3] = 255
            colors[: len(key), 3] = np.frombuffer(key, np.uint8)[:256]
        colored: Array = colors[np.asarray(image)]
        return colored
    if depth == 16 and color != _GRAY and (wide or key):
        pixels = _sixteen_bits(content, color)
    else:
        pixels = np.asarray(image.convert("L") if image.mode == "1" else image)
        if pixels.dtype == np.int32:
            pixels = pixels.astype(np.uint16)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    return _with_key(pixels, key, depth) if key and color in (_GRAY, _RGB) else pixels


def _sixteen_bits(content: bytes, color: int) -> Array:
    """Returns 16-bit colors, of which Pillow unpacks the upper bytes, or given another byte order, the lower ones."""
    from PIL.PngImagePlugin import PngImageFile

    if color == _GRAY_ALPHA:  # four bytes per pixel, whatever they mean
        image = PngImageFile(io.BytesIO(content))
        image._mode = "RGBA"
        image.tile = [tile._replace(args="RGBA") for tile in image.tile]
        return np.ascontiguousarray(np.asarray(image)).view(">u2").astype(np.uint16)
    halves = []
    for order in ("B", "L"):
        image = PngImageFile(io.BytesIO(content))
        image.tile = [tile._replace(args=f"{image.mode};16{order}") for tile in image.tile]
        halves.append(np.asarray(image))
    pixels: Array = halves[0].astype(np.uint16) << 8 | halves[1]
    return pixels


def _with_key(pixels: Array, key: bytes, depth: int) -> Array:
    """Adds an alpha channel in which pixels of the key color are transparent."""
    scale = 255 // ((1 << depth) - 1) if depth < 8 else 1
    color = np.frombuffer(key, ">u2").astype(np.int64) * scale
    most = np.iinfo(pixels.dtype).max
    alpha = np.where((pixels == color).all(-1, keepdims=True), 0, most).astype(pixels.dtype)
    return np.concatenate([pixels, alpha], -1)


def _with_channels(pixels: Array, channels: int, opaque: int = 255) -> Array:
    """Converts between grayscale and color, with or without alpha."""
    have = pixels.shape[-1]
    if have == channels:
        return pixels
    most = np.iinfo(pixels.dtype).max if pixels.dtype != np.uint8 else opaque
    alpha = pixels[..., -1:] if have in (2, 4) else np.full_like(pixels[..., :1], most)
    color = pixels[..., : have - 1] if have in (2, 4) else pixels
    if channels < 3 and color.shape[-1] == 3:
        r, g, b = (color[..., i : i + 1].astype(np.uint32) for i in range(3))
        half = 0 if pixels.dtype == np.uint8 else 1 << 14  # libpng rounds 16-bit values
        color = ((9797 * r + 19234 * g + 3737 * b + half) >> 15).astype(pixels.dtype)
    elif channels >= 3 and color.shape[-1] == 1:
        color = np.repeat(color, 3, -1)
    return np.concatenate([color, alpha], -1) if channels in (2, 4) else np.ascontiguousarray(color)


def _with_depth(pixels: Array, wide: bool) -> Array:
    if wide and pixels.dtype == np.uint8:
        return pixels.astype(np.uint16) * 257
    return pixels if wide or pixels.dtype == np.uint8 else (pixels >> 8).astype(np.uint8)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))


def encode_png(pixels: Array, level: int) -> bytes:
    """Returns a PNG file of pixels with 1 to 4 channels of 8 or 16 bits, with the "up" filter on each row."""
    height, width, channels = pixels.shape
    depth = 8 * pixels.dtype.itemsize
    color = {1: _GRAY, 2: _GRAY_ALPHA, 3: _RGB, 4: _RGB_ALPHA}[channels]
    raw = pixels.astype(">u2").view(np.uint8) if depth == 16 else pixels
    raw = raw.reshape(height, -1)
    rows = np.empty((height, raw.shape[1] + 1), np.uint8)
    rows[:, 0] = 2
    rows[0, 1:] = raw[0]
    np.subtract(raw[1:], raw[:-1], out=rows[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), level)
    return b"".join([_PNG, _chunk(b"IHDR", header), _chunk(b"IDAT", body), _chunk(b"IEND", b"")])


# -- JPEG -------------------------------------------------------------------------------------------------------------


def _open_jpeg(data: bytes) -> Any:
    from PIL.JpegImagePlugin import JpegImageFile

    image = _guarded("JPEG", data, lambda: JpegImageFile(io.BytesIO(data)))
    _require_size("JPEG", data, image.size[0], image.size[1], len(data) * _BLOCKS)
    return image


def jpeg_shape(data: bytes) -> list[int]:
    """Returns height, width and channels."""
    if not data.startswith(b"\xff\xd8\xff"):
        raise _invalid("JPEG", data, "it does not start like a JPEG file")
    image = _open_jpeg(data)
    return [image.size[1], image.size[0], image.layers]


def decode_jpeg(
    data: bytes,
    channels: int,
    *,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    dct_method: str = "",
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1.0,
    crop: list[int] | None = None,
) -> Array:
    """Returns the pixels of a JPEG file; with try_recover, the missing part of a truncated one is gray."""
    if channels not in (0, 1, 3):
        raise _invalid("JPEG", data, f"it has 1 or 3 channels, not {channels}")
    if try_recover_truncated and acceptable_fraction < 1:
        data += b"\xff\xd9"  # the appended marker ends the data for the decoder
    image = _open_jpeg(data)
    num_channels = channels or (1 if image.mode == "L" else 3)

    def load() -> Array:
        if num_channels == 1 and image.mode == "RGB":
            image.draft("L", None)
        if ratio > 1:
            width, height = (-(-size // ratio) for size in image.size)
            image._size = width, height
            image.tile = [tile._replace(extents=(0, 0, width, height)) for tile in image.tile]
        # Pillow's draft mode combines plain chroma upsampling and the fast DCT: they cannot be selected separately.
        enlarges = num_channels == 3 and len({layer[1:3] for layer in image.layer}) > 1
        draft = not fancy_upscaling if enlarges else dct_method == "INTEGER_FAST"
        image.decoderconfig = (ratio, int(draft))
        return np.asarray(image)

    pixels: Array = _guarded("JPEG", data, load)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if crop is not None:
        pixels = _cropped(data, pixels, crop)
    if pixels.shape[-1] == 4:
        if num_channels == 1:
            raise _invalid("JPEG", data, "CMYK cannot be converted to grayscale")
        wide = 255 - pixels.astype(np.uint16)
        return (wide[..., :3] * wide[..., 3:] // 255).astype(np.uint8)
    if num_channels == 3 and pixels.shape[-1] == 1:
        return np.repeat(pixels, 3, -1)
    return pixels


def _cropped(data: bytes, pixels: Array, crop: list[int]) -> Array:
    if len(crop) != 4:
        raise invalid(f"crop_window has {len(crop)} elements, not 4")
    top, left, height, width = crop
    inside = top >= 0 and left >= 0 and top + height <= pixels.shape[0] and left + width <= pixels.shape[1]
    if not inside or height <= 0 or width <= 0:
        text = f"the window {crop} is not inside an image of {pixels.shape[0]} x {pixels.shape[1]} pixels"
        raise invalid(text)
    return np.ascontiguousarray(pixels[top : top + height, left : left + width])


def encode_jpeg(
    pixels: Array,
    quality: int,
    *,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
) -> bytes:
    """Returns a JPEG file of grayscale or color pixels."""
    from PIL import Image

    height, width, channels = pixels.shape
    if height >= 1 << 16 or width >= 1 << 16:
        raise invalid(f"{height} x {width} pixels are too many for a JPEG file")
    image = Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels)
    out = io.BytesIO()
    # Pillow interprets quality 0 as unset; libjpeg maps both 0 and 1 to its lowest.
    options: dict[str, Any] = {"quality": max(quality, 1), "progressive": progressive, "optimize": optimize_size}
    if channels == 3:
        options["subsampling"] = "4:2:0" if chroma_downsampling else "4:4:4"
    image.save(out, "JPEG", **options)
    coded = out.getvalue()
    # The JFIF segment comes first: unit and densities have fixed offsets in it, other segments follow.
    end = 4 + struct.unpack_from(">H", coded, 4)[0]
    density = struct.pack(">BHH", 1 if density_unit == "in" else 2, x_density, y_density)
    segments = [coded[:13], density, coded[18:end]]
    if xmp_metadata:
        body = b"http://ns.adobe.com/xap/1.0/\0" + xmp_metadata.encode("utf-8", "surrogateescape")
        segments.append(b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body)
    return b"".join([*segments, coded[end:]])


# -- BMP --------------------------------------------------------------------------------------------------------------


def decode_bmp(data: bytes, channels: int) -> Array:
    """Returns the pixels of an uncompressed BMP file, whose bytes are taken as they are: palettes are ignored."""
    if len(data) < 32:
        raise _invalid("BMP", data, "its header is incomplete")
    start, width, height = (struct.unpack_from("<i", data, at)[0] for at in (10, 18, 22))
    (bits,) = struct.unpack_from("<H", data, 28)
    if bits not in (8, 24, 32):
        raise _invalid("BMP", data, f"it has {bits} bits per pixel, not 8, 24 or 32")
    have, rows = bits // 8, abs(height)
    if channels == 1:
        raise _invalid("BMP", data, "it cannot be converted to grayscale")
    _require_size("BMP", data, width, rows, len(data))
    stride = (have * width + 3) // 4 * 4
    last = start + stride * (rows - 1) + have * width
    if start < 0 or last > len(data):
        raise _invalid("BMP", data, f"it is too short for {width} x {rows} pixels")
    body = data[start : start + stride * rows].ljust(stride * rows, b"\0")
    pixels: Array = _guarded("BMP", data, lambda: _bmp_pixels(body, width, rows, stride, have, height > 0))
    return _with_channels(pixels.reshape(rows, width, have), channels or have)


def _bmp_pixels(body: bytes, width: int, rows: int, stride: int, channels: int, upwards: bool) -> Array:
    from PIL import Image

    mode, order = {1: ("L", "L"), 3: ("RGB", "BGR"), 4: ("RGBA", "BGRA")}[channels]
    return np.asarray(Image.frombytes(mode, (width, rows), body, "raw", order, stride, -1 if upwards else 1))


# -- GIF --------------------------------------------------------------------------------------------------------------


class _Frame:
    """One image of a GIF file: its position, palette, and compressed pixels."""

    __slots__ = ("bits", "box", "coded", "interlaced", "palette", "transparent")

    def __init__(
        self, box: tuple[int, ...], palette: Array, transparent: int, interlaced: bool, bits: int, coded: bytes
    ) -> None:
        self.box = box
        self.palette = palette
        self.transparent = transparent
        self.interlaced = interlaced
        self.bits = bits
        self.coded = coded

    def decode(self) -> Any:
        from PIL import Image

        _, _, width, height = self.box
        image = Image.frombytes("P", (width, height), self.coded, "gif", self.bits, int(self.interlaced))
        image.putpalette(self.palette.tobytes())
        return image


def decode_gif(data: bytes, at_most: int | None = None) -> Array:
    """Returns the frames of a GIF file; uncovered parts of a frame show the previous one."""
    if len(data) < 13:
        raise _invalid("GIF", data, "its header is incomplete")
    width, height = struct.unpack_from("<HH", data, 6)
    frames: list[_Frame] = _guarded("GIF", data, lambda: list(_gif_frames(data, at_most)))
    if not frames:
        raise _invalid("GIF", data, "it has no frame")
    _require_size("GIF", data, width, height, _MOST_PIXELS)
    if len(frames) * width * height * 3 > _MOST_BYTES:
        raise _invalid("GIF", data, f"{len(frames)} frames of {width} x {height} pixels are too many")
    result: Array = np.zeros((len(frames), height, width, 3), np.uint8)
    for i, frame in enumerate(frames):
        if i:
            result[i] = result[i - 1]
        left, top, wide, high = frame.box
        _require_size("GIF", data, wide, high, len(data) * _BLOCKS)
        decoded = _guarded("GIF", data, frame.decode)
        rows, columns = min(high, height - top), min(wide, width - left)
        if rows <= 0 or columns <= 0:
            continue
        indices = np.asarray(decoded)[:rows, :columns]
        shown = indices != frame.transparent if frame.transparent >= 0 else None
        count = len(frame.palette)
        if count < 256 and int(indices.max() if shown is None else indices.max(initial=0, where=shown)) >= count:
            raise _invalid("GIF", data, f"frame {i} has a color index outside its palette of {count}")
        colors = np.asarray(decoded.convert("RGB"))[:rows, :columns]
        target = result[i, top : top + rows, left : left + columns]
        np.copyto(target, colors, where=True if shown is None else shown[..., None])
    return result


def _gif_frames(data: bytes, at_most: int | None) -> Iterator[_Frame]:
    flags, position = data[10], 13
    shared, position = _palette(data, flags, position)
    transparent = -1
    count = 0
    while position < len(data) and count != at_most:
        kind = data[position]
        if kind == 0x3B:
            return
        if kind == 0x21:
            if data[position + 1] == 0xF9 and data[position + 2] == 4:
                transparent = data[position + 6] if data[position + 3] & 1 else -1
            position = _after_blocks(data, position + 2)
        elif kind == 0x2C:
            box = struct.unpack_from("<HHHH", data, position + 1)
            flags = data[position + 9]
            palette, position = _palette(data, flags, position + 10)
            palette = palette if len(palette) else shared
            if not len(palette):
                raise ValueError(f"frame {count} has no palette")
            end = _after_blocks(data, position + 1)
            yield _Frame(box, palette, transparent, bool(flags & 0x40), data[position], data[position + 1 : end])
            position, transparent, count = end, -1, count + 1
        else:
            raise ValueError(f"a block starts with {kind:#x}")


def _palette(data: bytes, flags: int, position: int) -> tuple[Array, int]:
    count = 2 << (flags & 7) if flags & 0x80 else 0
    return np.frombuffer(data, np.uint8, 3 * count, position).reshape(count, 3), position + 3 * count


def _after_blocks(data: bytes, position: int) -> int:
    """Returns the position after a sequence of size-prefixed blocks."""
    while data[position]:
        position += data[position] + 1
    return position + 1
