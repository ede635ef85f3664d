"""Sizes: TensorFlow's coordinates, weights and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg import image
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.image_resize import (
    resize_images_v2,
    resize_nearest_grad,
    scale_and_translate,
    scale_and_translate_grad,
)
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.runtime.session.session import Session

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 5, 7, 3)).astype(np.float32)
SIZES = [(5, 7), (3, 4), (10, 14), (9, 2), (1, 1), (1, 6)]
COORDINATES = [(False, False), (True, False), (False, True)]


def run(fetch: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(fetch, feeds)


def places(old: int, new: int, align: bool, half: bool) -> torch.Tensor:
    scale = (old - 1) / (new - 1) if align and new > 1 else old / new
    steps = torch.arange(new, dtype=torch.float32)
    return (steps + 0.5) * scale - 0.5 if half else steps * scale


def bilinear(x: torch.Tensor, size: tuple[int, int], align: bool, half: bool) -> torch.Tensor:
    for axis, new in ((1, size[0]), (2, size[1])):
        at = places(x.shape[axis], new, align, half)
        low, high = (p.long().clamp(0, x.shape[axis] - 1) for p in (at.floor(), at.ceil()))
        share = (at - at.floor()).view([-1 if i == axis else 1 for i in range(4)])
        x = x.index_select(axis, low) * (1 - share) + x.index_select(axis, high) * share
    return x


def nearest(x: torch.Tensor, size: tuple[int, int], align: bool, half: bool) -> torch.Tensor:
    for axis, new in ((1, size[0]), (2, size[1])):
        at = places(x.shape[axis], new, align, half) + (0.5 if half or align else 0)
        x = x.index_select(axis, at.floor().long().clamp(0, x.shape[axis] - 1))
    return x


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("align", "half"), COORDINATES)
def test_bilinear(size: tuple[int, int], align: bool, half: bool) -> None:
    check_op(
        lambda x: image.resize_bilinear(x, size, align, half_pixel_centers=half),
        lambda x: bilinear(x, size, align, half),
        X,
        atol=1e-5,
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("align", "half"), COORDINATES)
def test_nearest(size: tuple[int, int], align: bool, half: bool) -> None:
    check_op(
        lambda x: image.resize_nearest_neighbor(x, size, align, half_pixel_centers=half),
        lambda x: nearest(x, size, align, half),
        X,
    )


@pytest.mark.parametrize("align", [False, True])
def test_bilinear_matches_torch(align: bool) -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        moved = torch.nn.functional.interpolate(x.permute(0, 3, 1, 2), (8, 3), mode="bilinear", align_corners=align)
        return moved.permute(0, 2, 3, 1)

    check_op(lambda x: image.resize_bilinear(x, [8, 3], align, half_pixel_centers=not align), reference, X, atol=1e-5)


def test_area_of_whole_pixels_is_their_mean() -> None:
    x = RNG.normal(size=(2, 6, 8, 3)).astype(np.float32)
    check_op(
        lambda x: image.resize_area(x, [3, 2]),
        lambda x: x.reshape(2, 3, 2, 2, 4, 3).mean((2, 4)),
        x,
        grad=False,
        atol=1e-5,
    )


def test_bicubic_keeps_pixels_that_stay_in_place() -> None:
    value = run(image.resize_bicubic(X, [9, 13], align_corners=True))
    np.testing.assert_allclose(value[:, ::2, ::2], X, atol=1e-5)
    plain = np.broadcast_to(np.float32(3.5), (1, 4, 5, 2))
    for align, half in COORDINATES:
        resized = run(image.resize_bicubic(plain, [7, 3], align, half_pixel_centers=half))
        np.testing.assert_allclose(resized, 3.5, rtol=1e-5)


@pytest.mark.parametrize(("align", "half"), COORDINATES)
def test_bicubic_gradient_is_the_transpose(align: bool, half: bool) -> None:
    x = placeholder("float32", [None, None, None, None])
    y = image.resize_bicubic(x, [8, 3], align, half_pixel_centers=half)
    g = RNG.normal(size=(2, 8, 3, 3)).astype(np.float32)
    value, grad = run([y, gradients(y, x, g)[0]], {x: X})
    np.testing.assert_allclose((value * g).sum(), (grad * X).sum(), rtol=1e-3)


@pytest.mark.parametrize("resize", [image.resize_bilinear, image.resize_bicubic, image.resize_nearest_neighbor])
def test_second_order(resize: Any) -> None:
    x = constant(X)
    y = resize(x, [8, 3])
    first = gradients(y * y, x)[0]
    second = gradients(first, x)[0]
    assert run(second).shape == X.shape
    np.testing.assert_allclose(
        run(reduce_sum(second * X)), 2 * run(reduce_sum(y * resize(np.ones_like(X), [8, 3]))), rtol=1e-3
    )


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int64", "float16", "float64"])
def test_types(dtype: str) -> None:
    x = (np.abs(X) * 40).astype(dtype)
    for resize in (image.resize_bilinear, image.resize_bicubic, image.resize_area):
        assert run(resize(x, [3, 9])).dtype == np.float32
    value = run(image.resize_nearest_neighbor(x, [10, 14]))
    assert value.dtype == x.dtype
    np.testing.assert_array_equal(value[:, ::2, ::2], x)


@pytest.mark.parametrize("method", range(4))
def test_resize_images(method: int) -> None:
    one, size = placeholder("float32", [None, None, 3]), placeholder("int32", [2])
    known = image.resize_images(one, [4, 6], method)
    assert known.get_shape().as_list() == [4, 6, 3]
    free = image.resize_images(one, size, method)
    assert free.get_shape().as_list() == [None, None, 3]
    a, b = run([known, free], {one: X[0], size: [4, 6]})
    np.testing.assert_array_equal(a, b)
    batch = run(image.resize_images(X, [4, 6], method))
    np.testing.assert_allclose(batch[0], a, atol=1e-6)


def test_resize_images_corners() -> None:
    x = constant(X)
    assert image.resize_images(x, [5, 7]) is x
    assert image.resize_images(x, [10, 10], preserve_aspect_ratio=True).get_shape().as_list() == [2, 7, 10, 3]
    with pytest.raises(ValueError, match="3 or 4"):
        image.resize_images(X[0, 0], [2, 2])
    with pytest.raises(ValueError, match="1-D Tensor of 2 elements"):
        image.resize_images(X, [2, 2, 2])
    with pytest.raises(ValueError, match="not implemented"):
        image.resize_images(X, [2, 2], method=7)
    with pytest.raises(ValueError, match="positive sizes"):
        image.resize_bilinear(X, [0, 2])
    with pytest.raises(ValueError, match="at most one of them"):
        image.resize_bilinear(X, [2, 2], align_corners=True, half_pixel_centers=True)


def test_resizing_of_empty_batches() -> None:
    with pytest.raises(ValueError, match="images with pixels"):
        image.resize_area(X[..., :0], [2, 2])
    empty = np.zeros((2, 0, 7, 3), np.float32)
    assert not run(resize_nearest_grad(empty, [4, 5])).any()
    assert not run(scale_and_translate_grad(empty, X, [1.0, 1.0], [0.0, 0.0])).any()


def test_filter_weights_sum_to_one() -> None:
    plain = np.full((1, 6, 9, 1), 2.0, np.float32)
    for method in ("lanczos3", "lanczos5", "gaussian", "mitchellcubic", "bilinear", "bicubic", "area", "nearest"):
        for antialias in (False, True):
            value = run(resize_images_v2(plain, [4, 13], method, antialias=antialias))
            np.testing.assert_allclose(value, 2.0, rtol=1e-5)


def test_filter_gradient_is_the_transpose() -> None:
    x = constant(X)
    y = scale_and_translate(x, [8, 3], [0.7, 1.3], [1.5, -2.0], kernel_type="triangle")
    g = RNG.normal(size=(2, 8, 3, 3)).astype(np.float32)
    value, grad = run([y, gradients(y, x, g)[0]])
    np.testing.assert_allclose((value * g).sum(), (grad * X).sum(), rtol=1e-3)


def test_pad_keeps_proportions() -> None:
    value = run(image.resize_image_with_pad(X, 10, 20))
    assert value.shape == (2, 10, 20, 3)
    inner = run(image.resize_bilinear(X, [10, 14]))
    np.testing.assert_allclose(value[:, :, 3:17], inner, atol=1e-5)
    assert not value[:, :, :3].any() and not value[:, :, 17:].any()
    free = placeholder("float32", None)
    np.testing.assert_allclose(run(image.resize_image_with_pad(free, 10, 20), {free: X[1]}), value[1], atol=1e-5)
