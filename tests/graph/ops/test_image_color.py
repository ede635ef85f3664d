"""Colors and brightness."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg import image
from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.numeric import compute_gradient_error
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session

RNG = np.random.default_rng(0)
RGB = RNG.uniform(0.05, 0.95, size=(2, 3, 4, 3)).astype(np.float32)


def run(fetch: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(fetch, feeds)


def each(function: Any, pixels: np.ndarray) -> np.ndarray:
    return np.array([function(*p) for p in pixels.reshape(-1, 3).tolist()], np.float32).reshape(pixels.shape)


def test_hsv_matches_colorsys() -> None:
    pixels = np.concatenate([RGB.reshape(-1, 3), [[0, 0, 0], [0.5, 0.5, 0.5], [1, 0, 0], [0.2, 0.2, 0.1]]]).astype("f")
    check_op(image.rgb_to_hsv, lambda x: torch.from_numpy(each(colorsys.rgb_to_hsv, x.numpy())), pixels, grad=False)
    check_op(image.hsv_to_rgb, lambda x: torch.from_numpy(each(colorsys.hsv_to_rgb, x.numpy())), pixels, grad=False)


def test_nan_stays() -> None:
    assert np.isnan(run(image.rgb_to_hsv(np.float32([0.5, np.nan, 0.2])))).all()


@pytest.mark.parametrize("convert", [image.rgb_to_hsv, image.hsv_to_rgb])
def test_gradients_of_hsv(convert: Any) -> None:
    pixels = constant(RGB.astype(np.float64))
    with Session():
        assert compute_gradient_error(pixels, RGB.shape, convert(pixels), RGB.shape, RGB.astype(np.float64)) < 1e-4


def test_contrast() -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        mean = x.mean((-3, -2), keepdim=True)
        return (x - mean) * 1.7 + mean

    check_op(lambda x: image.adjust_contrast(x, 1.7), reference, RGB)


def test_hue_and_saturation() -> None:
    hsv = each(colorsys.rgb_to_hsv, RGB)
    turned = hsv.copy()
    turned[..., 0] = (turned[..., 0] + 0.3) % 1
    np.testing.assert_allclose(run(image.adjust_hue(RGB, 0.3)), each(colorsys.hsv_to_rgb, turned), atol=1e-5)
    strong = hsv.copy()
    strong[..., 1] = np.clip(strong[..., 1] * 1.6, 0, 1)
    np.testing.assert_allclose(run(image.adjust_saturation(RGB, 1.6)), each(colorsys.hsv_to_rgb, strong), atol=1e-5)
    for same in (image.adjust_hue(RGB, 0.0), image.adjust_hue(RGB, 1.0), image.adjust_saturation(RGB, 1.0)):
        np.testing.assert_allclose(run(same), RGB, atol=1e-5)


@pytest.mark.parametrize("there, back", [(image.rgb_to_yiq, image.yiq_to_rgb), (image.rgb_to_yuv, image.yuv_to_rgb)])
def test_linear_spaces(there: Any, back: Any) -> None:
    np.testing.assert_allclose(run(back(there(RGB))), RGB, atol=1e-4)
    np.testing.assert_allclose(run(there(RGB))[..., 0], RGB @ [0.299, 0.587, 0.114], rtol=1e-4)
    with pytest.raises(TypeError):
        there(np.zeros((2, 2, 3), np.uint8))


def test_grayscale() -> None:
    gray = image.rgb_to_grayscale(RGB)
    assert gray.get_shape().as_list() == [2, 3, 4, 1]
    np.testing.assert_allclose(run(gray)[..., 0], RGB @ np.array([0.2989, 0.587, 0.114]), rtol=1e-5)
    free = placeholder("float32", None)
    np.testing.assert_array_equal(run(image.grayscale_to_rgb(free), {free: RGB[..., :1]}), RGB[..., :1].repeat(3, -1))
    with pytest.raises(ValueError, match="Last dimension of a grayscale image should be size 1"):
        image.grayscale_to_rgb(RGB)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (np.array([0.0, 0.5, 1.0], np.float32), "uint8", [0, 127, 255]),
        (np.array([-0.5, 2.0], np.float32), "uint8", [0, 255]),
        (np.array([0, 128, 255], np.uint8), "float32", [0, 128 / 255, 1]),
        (np.array([0, 1, 255], np.uint8), "uint16", [0, 256, 65280]),
        (np.array([0, 300, 65535], np.uint16), "uint8", [0, 1, 255]),
        (np.array([0, 100, 127], np.int8), "int32", [0, 100 << 24, 127 << 24]),
        (np.array([0, 128], np.uint8), "int16", [0, 16384]),
        (np.array([0.25], np.float32), "float64", [0.25]),
    ],
)
def test_convert_image_dtype(value: np.ndarray, dtype: str, expected: list[float]) -> None:
    converted = run(image.convert_image_dtype(value, dtype, saturate=True))
    assert converted.dtype == np.dtype(dtype)
    np.testing.assert_allclose(converted, np.array(expected, dtype), rtol=1e-6)


def test_integer_images_are_adjusted_in_their_range() -> None:
    pixels = (RGB * 255).astype(np.uint8)
    brighter = run(image.adjust_brightness(pixels, 0.1))
    np.testing.assert_allclose(brighter, np.minimum(pixels + 25.5, 255), atol=1)
    for adjusted in (
        image.adjust_hue(pixels, 0.1),
        image.adjust_saturation(pixels, 0.5),
        image.adjust_gamma(pixels, 2),
    ):
        assert adjusted.dtype is dtypes.uint8
    np.testing.assert_allclose(run(image.adjust_gamma(pixels, 2)), (pixels / 255.0) ** 2 * 255, atol=1)
    with pytest.raises(ValueError, match="gamma is negative"):
        image.adjust_gamma(pixels, -1)


def test_standardization() -> None:
    value = run(image.per_image_standardization(RGB * 255))
    np.testing.assert_allclose(value.mean((1, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(value.std((1, 2, 3)), 1, rtol=1e-4)
    assert not run(image.per_image_standardization(np.full((3, 4, 1), 7, np.uint8))).any()


@pytest.mark.parametrize(
    "adjust",
    [
        lambda x, seed: image.random_brightness(x, 0.3, seed),
        lambda x, seed: image.random_contrast(x, 0.5, 1.5, seed),
        lambda x, seed: image.random_saturation(x, 0.5, 1.5, seed),
        lambda x, seed: image.random_hue(x, 0.2, seed),
    ],
)
def test_random_adjustments(adjust: Any) -> None:
    first, second = (run(adjust(RGB, 3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    adjusted = adjust(RGB, 4)
    with Session() as session:
        values = [session.run(adjusted) for _ in range(2)]
    assert np.abs(values[0] - values[1]).max() > 1e-4


def test_random_ranges_are_checked() -> None:
    for bad in (
        lambda: image.random_brightness(RGB, -1),
        lambda: image.random_contrast(RGB, 1, 0.5),
        lambda: image.random_saturation(RGB, -1, 0.5),
        lambda: image.random_hue(RGB, 0.7),
    ):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(ValueError, match="3 channels"):
        image.adjust_hue(RGB[..., :2], 0.1)
