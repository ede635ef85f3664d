"""Files in, pixels out: every kind of file that the decoders know, and what is no file at all."""

from __future__ import annotations

import io
import struct
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from thalweg import image
from thalweg._src.base import dtypes, errors
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session

RNG = np.random.default_rng(0)


def run(fetch: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(fetch, feeds)


def coded(pixels: np.ndarray, form: str, mode: str | None = None, **options: Any) -> bytes:
    out = io.BytesIO()
    picture = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    (picture if mode is None else picture.convert(mode)).save(out, form, **options)
    return out.getvalue()


def smooth(height: int, width: int, channels: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    waves = [127 + 90 * np.sin(x / 7 + k) + 30 * np.cos(y / 5 - k) for k in range(channels)]
    return np.stack(waves, -1).clip(0, 255).astype(np.uint8)


def noise(*shape: int, dtype: Any = np.uint8) -> np.ndarray:
    return RNG.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, depth: int, color: int, raw: bytes, extra: bytes = b"") -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    parts = [chunk(b"IHDR", header), extra, chunk(b"IDAT", zlib.compress(raw)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


# -- PNG --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_round_trip(channels: int, dtype: Any) -> None:
    pixels = noise(5, 7, channels, dtype=dtype)
    file = image.encode_png(pixels)
    assert file.dtype is dtypes.string and file.get_shape().as_list() == []
    back = image.decode_png(file, dtype=dtype)
    np.testing.assert_array_equal(run(back), pixels)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_pillow_reads_what_is_encoded(channels: int) -> None:
    pixels = noise(6, 5, channels)
    file = run(image.encode_png(pixels, compression=9))
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(file))).reshape(pixels.shape), pixels)


def test_a_batch_of_png_files() -> None:
    pixels = noise(2, 3, 4, 5, 1)
    files = run(image.encode_png(pixels))
    assert files.shape == (2, 3)
    np.testing.assert_array_equal(run(image.decode_png(constant(files[1, 2]))), pixels[1, 2])


def test_png_channels() -> None:
    pixels = noise(4, 3, 3)
    file = coded(pixels, "PNG")
    with_alpha = run(image.decode_png(file, channels=4))
    np.testing.assert_array_equal(with_alpha[..., :3], pixels)
    assert (with_alpha[..., 3] == 255).all()
    gray = run(image.decode_png(file, channels=1))
    np.testing.assert_allclose(gray[..., 0], pixels @ [0.299, 0.587, 0.114], atol=1.01)
    repeated = run(image.decode_png(coded(pixels[..., :1], "PNG"), channels=3))
    np.testing.assert_array_equal(repeated, np.repeat(pixels[..., :1], 3, -1))


def test_png_of_eight_bits_as_sixteen() -> None:
    pixels = noise(4, 3, 3)
    wide = run(image.decode_png(coded(pixels, "PNG"), dtype=dtypes.uint16))
    np.testing.assert_array_equal(wide, pixels.astype(np.uint16) * 257)


def test_png_of_sixteen_bits_as_eight() -> None:
    pixels = noise(4, 3, 3, dtype=np.uint16)
    np.testing.assert_array_equal(run(image.decode_png(image.encode_png(pixels))), pixels >> 8)


def test_png_palette_with_transparency() -> None:
    rows = b"".join(b"\0" + bytes([0b00_01_10_11]) for _ in range(2))
    palette = bytes(range(12))
    file = png(4, 2, 2, 3, rows, chunk(b"PLTE", palette) + chunk(b"tRNS", b"\x80\x10"))
    expected = np.concatenate([np.arange(12).reshape(4, 3), [[128], [16], [255], [255]]], 1)
    np.testing.assert_array_equal(run(image.decode_png(file)), [expected] * 2)
    np.testing.assert_array_equal(run(image.decode_png(file, channels=3)), [expected[:, :3]] * 2)


def test_png_color_that_is_transparent() -> None:
    rows = b"\0" + bytes([1, 2, 3, 4, 5, 6])
    file = png(2, 1, 8, 2, rows, chunk(b"tRNS", struct.pack(">HHH", 4, 5, 6)))
    assert run(image.decode_png(file)).tolist() == [[[1, 2, 3], [4, 5, 6]]]
    assert run(image.decode_png(file, channels=4)).tolist() == [[[1, 2, 3, 255], [4, 5, 6, 0]]]


def test_png_metadata_is_ignored() -> None:
    bomb = b"a\0\0" + zlib.compress(b"x" * (1 << 22))
    file = png(1, 1, 8, 0, b"\0\x07", chunk(b"zTXt", bomb) + chunk(b"iCCP", bomb))
    assert run(image.decode_png(file)).tolist() == [[[7]]]


# -- JPEG -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_round_trip(channels: int) -> None:
    pixels = smooth(33, 41, channels)
    back = run(image.decode_jpeg(image.encode_jpeg(pixels, quality=100, chroma_downsampling=False)))
    assert back.dtype == np.uint8
    np.testing.assert_allclose(back.astype(int), pixels, atol=4)


def test_jpeg_matches_pillow() -> None:
    file = coded(smooth(33, 41, 3), "JPEG")
    np.testing.assert_array_equal(run(image.decode_jpeg(file)), np.asarray(Image.open(io.BytesIO(file))))


@pytest.mark.parametrize("ratio", [2, 4, 8])
def test_jpeg_at_a_fraction_of_its_size(ratio: int) -> None:
    small = run(image.decode_jpeg(coded(smooth(33, 41, 3), "JPEG"), ratio=ratio))
    assert small.shape == (-(-33 // ratio), -(-41 // ratio), 3)


def test_jpeg_channels_and_shape() -> None:
    file = coded(smooth(9, 7, 3), "JPEG")
    assert run(image.decode_jpeg(file, channels=1)).shape == (9, 7, 1)
    assert run(image.decode_jpeg(file, channels=1, ratio=2)).shape == (5, 4, 1)
    assert run(image.decode_jpeg(coded(smooth(9, 7, 1), "JPEG"), channels=3)).shape == (9, 7, 3)
    assert run(image.extract_jpeg_shape(file)).tolist() == [9, 7, 3]
    cmyk = run(image.decode_jpeg(coded(smooth(9, 7, 3), "JPEG", "CMYK", quality=100, subsampling=0)))
    np.testing.assert_allclose(cmyk.astype(int), smooth(9, 7, 3), atol=4)


def test_jpeg_upscaling() -> None:
    """Plainly enlarged, a color is the same for two by two pixels; the fast transform is not far off."""
    pixels = np.zeros((16, 16, 3), np.uint8)
    pixels[..., 0] = np.arange(16) * 16
    file = coded(pixels, "JPEG", subsampling="4:2:0")
    fancy, plain = run([image.decode_jpeg(file), image.decode_jpeg(file, fancy_upscaling=False)])
    redness = [(value[..., 0].astype(int) - value[..., 1]) for value in (fancy, plain)]
    steps = [np.abs(np.diff(value, axis=1))[:, 2:-2:2].max() for value in redness]
    assert steps[1] <= 4 < steps[0]
    gray = run([image.decode_jpeg(file, channels=1, dct_method=f"INTEGER_{way}") for way in ("ACCURATE", "FAST")])
    np.testing.assert_allclose(gray[0].astype(int), gray[1], atol=2)


def test_jpeg_window() -> None:
    file = coded(smooth(33, 41, 3), "JPEG")
    window = image.decode_and_crop_jpeg(file, [3, 5, 20, 17])
    assert window.get_shape().as_list() == [20, 17, None]
    whole, part = run([image.decode_jpeg(file), window])
    np.testing.assert_array_equal(part, whole[3:23, 5:22])
    with pytest.raises(errors.InvalidArgumentError, match="is not inside an image of 33 x 41 pixels"):
        run(image.decode_and_crop_jpeg(file, [30, 0, 5, 5]))


def test_jpeg_header() -> None:
    options: dict[str, Any] = {"density_unit": "cm", "x_density": 7, "y_density": 9, "xmp_metadata": "hello"}
    file = run(image.encode_jpeg(smooth(9, 7, 3), **options))
    assert file[6:10] == b"JFIF" and struct.unpack_from(">BHH", file, 13) == (2, 7, 9)
    assert b"http://ns.adobe.com/xap/1.0/\0hello" in file
    assert run(image.decode_jpeg(file)).shape == (9, 7, 3)


def test_truncated_jpeg() -> None:
    pixels = smooth(45, 61, 3)
    file = coded(pixels, "JPEG")
    cut = file[: len(file) * 2 // 3]
    with pytest.raises(errors.InvalidArgumentError, match="truncated"):
        run(image.decode_jpeg(cut))
    saved = run(image.decode_jpeg(cut, try_recover_truncated=True, acceptable_fraction=0.2))
    whole = run(image.decode_jpeg(file))
    np.testing.assert_array_equal(saved[:8, :16], whole[:8, :16])


def test_quality() -> None:
    pixels = smooth(32, 32, 3) / np.float32(255)
    coarse, fine = image.adjust_jpeg_quality(pixels, 5), image.adjust_jpeg_quality(pixels, 100)
    assert coarse.dtype is dtypes.float32 and coarse.get_shape().as_list() == [32, 32, 3]
    values = run([coarse, fine, image.random_jpeg_quality(pixels, 50, 60, seed=1)])
    errors_of = [np.abs(value - pixels).mean() for value in values]
    assert errors_of[1] < errors_of[2] < errors_of[0]
    with pytest.raises(ValueError, match="not below"):
        image.random_jpeg_quality(pixels, 60, 50)


def test_is_jpeg() -> None:
    assert run(image.is_jpeg(coded(smooth(2, 2, 3), "JPEG")))
    assert not run(image.is_jpeg(coded(smooth(2, 2, 3), "PNG")))


# -- GIF and BMP ------------------------------------------------------------------------------------------------------


def animation() -> tuple[bytes, np.ndarray]:
    """A GIF of three frames with one palette; the later frames are written where they differ alone."""
    first = RNG.integers(0, 8, (11, 9), dtype=np.uint8)
    frames = [first, first.copy(), first.copy()]
    frames[1][2:5, 3:7] = 5
    frames[2][2:5, 3:7] = 5
    frames[2][8:, :2] = 1
    palette = np.arange(24, dtype=np.uint8) * 10
    pictures = []
    for frame in frames:
        picture = Image.fromarray(frame)
        picture.putpalette(palette.tobytes())
        pictures.append(picture)
    out = io.BytesIO()
    pictures[0].save(out, "GIF", save_all=True, append_images=pictures[1:], duration=50)
    return out.getvalue(), palette.reshape(8, 3)[np.stack(frames)]


def test_gif_frames() -> None:
    file, expected = animation()
    frames = image.decode_gif(file)
    assert frames.get_shape().as_list() == [None, None, None, 3]
    np.testing.assert_array_equal(run(frames), expected)
    np.testing.assert_array_equal(run(image.decode_image(file)), expected)
    first = image.decode_image(file, expand_animations=False)
    assert first.get_shape().as_list() == [None, None, None]
    np.testing.assert_array_equal(run(first), expected[0])
    with pytest.raises(errors.InvalidArgumentError, match="animation of 3 frames"):
        run(image.decode_png(file))


@pytest.mark.parametrize(("mode", "channels"), [("L", 1), ("RGB", 3), ("RGBA", 4)])
def test_bmp(mode: str, channels: int) -> None:
    pixels = noise(5, 7, channels)
    np.testing.assert_array_equal(run(image.decode_bmp(coded(pixels, "BMP"))), pixels)


def test_bmp_from_top_to_bottom() -> None:
    pixels = noise(3, 4, 3)
    file = bytearray(coded(pixels, "BMP"))
    struct.pack_into("<i", file, 22, -3)
    np.testing.assert_array_equal(run(image.decode_bmp(bytes(file))), pixels[::-1])


# -- any format -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["PNG", "BMP", "GIF"])
@pytest.mark.parametrize("dtype", [dtypes.uint8, dtypes.uint16, dtypes.float32, dtypes.float64])
def test_decode_image(form: str, dtype: dtypes.DType) -> None:
    pixels = np.repeat(RNG.integers(0, 2, (4, 5, 1), dtype=np.uint8) * 255, 3, -1)
    value = run(image.decode_image(coded(pixels, form), channels=3, dtype=dtype))
    assert value.dtype == dtype.as_numpy_dtype
    scale = {"uint8": 1, "uint16": 257 if form == "PNG" else 256}.get(dtype.name, 1 / 255)
    expected = pixels.astype(np.float64) * scale
    if dtype is dtypes.float64 and form != "PNG":
        expected = expected * (255 * 256 / 65535)  # by way of 16 bits
    np.testing.assert_allclose(value.reshape(pixels.shape), expected, rtol=1e-5)


def hostile() -> dict[str, bytes]:
    pixels = noise(20, 30, 3)
    files: dict[str, bytes] = {"empty": b"", "random": noise(100).tobytes(), "text": b"<html></html>"}
    for form in ("PNG", "JPEG", "GIF", "BMP"):
        whole = coded(pixels, form)
        files |= {f"{form} {n}": whole[:n] for n in (3, 9, 20, 40, len(whole) // 2)}
    files["huge PNG"] = png(100_000, 100_000, 8, 2, b"\0" * 30)
    files["wide PNG"] = png(20_000, 20_000, 8, 6, b"\0" * 30)
    files["flat PNG"] = png(0, 5, 8, 2, b"")
    files["odd PNG"] = png(4, 4, 8, 5, b"\0" * 30)
    files["PNG without rows"] = png(40, 40, 16, 2, b"\0" * 30)
    jpeg = bytearray(coded(pixels, "JPEG"))
    at = jpeg.index(b"\xff\xc0")
    struct.pack_into(">HH", jpeg, at + 5, 65_500, 65_500)
    files["huge JPEG"] = bytes(jpeg)
    gif = bytearray(coded(pixels, "GIF"))
    struct.pack_into("<HH", gif, 6, 65_535, 65_535)
    files["huge GIF"] = bytes(gif)
    bmp = bytearray(coded(pixels, "BMP"))
    struct.pack_into("<ii", bmp, 18, 2**31 - 1, 2**31 - 1)
    files["huge BMP"] = bytes(bmp)
    return files


HOSTILE = hostile()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("decode", [image.decode_image, image.decode_png, image.decode_jpeg, image.decode_gif])
def test_invalid_images(name: str, decode: Callable[..., Any]) -> None:
    contents = placeholder(dtypes.string, [])
    decoded = decode(contents, name="pixels")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors.InvalidArgumentError) as caught:
            run(decoded, {contents: HOSTILE[name]})
    assert "'pixels" in str(caught.value) and "Traceback" not in str(caught.value)


def test_arguments_are_checked_when_the_graph_is_built() -> None:
    with pytest.raises(ValueError, match="channels is 2"):
        image.decode_png("", channels=2)
    with pytest.raises(ValueError, match="ratio is 3"):
        image.decode_jpeg("", ratio=3)
    with pytest.raises(ValueError, match="image has 2 channels"):
        image.encode_jpeg(noise(3, 4, 2))
    with pytest.raises(ValueError, match="pixels to encode"):
        image.encode_png(noise(0, 4, 2))
