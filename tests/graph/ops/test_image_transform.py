"""Flips, turns, crops and margins; measures of images; sound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg import audio, image
from thalweg._src.base import errors
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 5, 7, 3)).astype(np.float32)


def run(fetch: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(fetch, feeds)


@pytest.mark.parametrize("x", [X, X[0]], ids=["batch", "image"])
def test_flips_and_rotations(x: np.ndarray) -> None:
    check_op(image.flip_left_right, lambda t: t.flip(-2), x)
    check_op(image.flip_up_down, lambda t: t.flip(-3), x)
    check_op(image.transpose_image, lambda t: t.transpose(-3, -2), x)
    for k in (-1, 0, 1, 2, 3, 5):
        check_op(lambda t, k=k: image.rot90(t, k), lambda t, k=k: torch.rot90(t, k, (-3, -2)), x)


def test_a_rotation_decided_in_the_step() -> None:
    x, k = constant(X), placeholder("int32", [])
    turned = image.rot90(x, k)
    assert turned.get_shape().as_list() == [2, None, None, 3]
    for number in range(4):
        np.testing.assert_array_equal(run(turned, {k: number}), np.rot90(X, number, (1, 2)))


@pytest.mark.parametrize("flip", [image.random_flip_left_right, image.random_flip_up_down])
@pytest.mark.parametrize("shape", [(64, 3, 4, 1), (3, 4, 1), None])
def test_random_flips(flip: Any, shape: Any) -> None:
    axis = -2 if flip is image.random_flip_left_right else -3
    x = RNG.normal(size=(64, 3, 4, 1)).astype(np.float32)
    x = x[0] if shape is not None and len(shape) == 3 else x
    with Graph().as_default(), Session() as session:
        given = placeholder("float32", shape)
        flipped = flip(given, seed=3)
        assert flipped.get_shape().ndims == (None if shape is None else len(shape))
        values = [session.run(flipped, {given: x}) for _ in range(12)]
    other = np.flip(x, axis)
    count = 0
    for value in values:
        for part, same, turned in zip(*(v.reshape(-1, 3, 4, 1) for v in (value, x, other))):
            count += np.array_equal(part, turned)
            assert np.array_equal(part, same) or np.array_equal(part, turned)
    total = len(values) * (x.size // 12)
    assert 0.1 * total < count < 0.9 * total


def test_ranks_are_checked() -> None:
    with pytest.raises(ValueError, match="at least three-dimensional"):
        image.flip_left_right(X[0, 0])
    with pytest.raises(ValueError, match="either 3 or 4 dimensions"):
        image.flip_up_down(X[None])
    with pytest.raises(ValueError, match="image is empty"):
        image.rot90(X[:, :0])
    free = placeholder("float32", None)
    with pytest.raises(errors.InvalidArgumentError):
        run(image.flip_left_right(free), {free: X[:, :0]})


# -- crops and margins ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [X, X[0]], ids=["batch", "image"])
def test_windows(x: np.ndarray) -> None:
    check_op(lambda t: image.crop_to_bounding_box(t, 1, 2, 3, 4), lambda t: t[1:4, 2:6], X[0])
    np.testing.assert_array_equal(run(image.crop_to_bounding_box(x, 1, 2, 3, 4)), x[..., 1:4, 2:6, :])
    expected = np.zeros((*x.shape[:-3], 8, 12, 3), np.float32)
    expected[..., 1:6, 2:9, :] = x
    np.testing.assert_array_equal(run(image.pad_to_bounding_box(x, 1, 2, 8, 12)), expected)
    sizes = [placeholder("int32", []) for _ in range(4)]
    padded = image.pad_to_bounding_box(x, *sizes)
    np.testing.assert_array_equal(run(padded, dict(zip(sizes, (1, 2, 8, 12)))), expected)
    with pytest.raises(errors.InvalidArgumentError, match="width must be <= target - offset"):
        run(padded, dict(zip(sizes, (1, 2, 8, 8))))
    with pytest.raises(ValueError, match="height must be >= target"):
        image.crop_to_bounding_box(x, 3, 0, 3, 3)
    with pytest.raises(ValueError, match="offset_width must be >= 0"):
        image.pad_to_bounding_box(x, 0, -1, 9, 9)


@pytest.mark.parametrize("size", [(5, 7), (3, 9), (8, 2), (2, 3), (11, 13)])
def test_crop_or_pad(size: tuple[int, int]) -> None:
    def fitted(x: np.ndarray, axis: int, new: int) -> np.ndarray:
        old = x.shape[axis]
        if new <= old:
            return x.take(range((old - new) // 2, (old - new) // 2 + new), axis)
        before = (new - old) // 2
        return np.pad(x, [(before, new - old - before) if i == axis else (0, 0) for i in range(x.ndim)])

    expected = fitted(fitted(X, 1, size[0]), 2, size[1])
    resized = image.resize_image_with_crop_or_pad(X, *size)
    assert resized.get_shape().as_list() == [2, *size, 3]
    np.testing.assert_array_equal(run(resized), expected)
    free = placeholder("float32", None)
    np.testing.assert_array_equal(run(image.resize_image_with_crop_or_pad(free, *size), {free: X[1]}), expected[1])


def test_central_crop() -> None:
    cropped = image.central_crop(X, 0.5)
    assert cropped.get_shape().as_list() == [2, 3, 5, 3]
    np.testing.assert_array_equal(run(cropped), X[:, 1:4, 1:6])
    fraction, free = placeholder("float32", []), placeholder("float32", [None, None, 3])
    value = run(image.central_crop(free, fraction), {free: X[0], fraction: 0.5})
    np.testing.assert_array_equal(value, X[0, 1:4, 1:6])
    with pytest.raises(ValueError, match=r"out of range"):
        image.central_crop(X, 0.0)


# -- measures ---------------------------------------------------------------------------------------------------------


def test_neighbours() -> None:
    value = run(image.total_variation(constant(X)))
    np.testing.assert_allclose(
        value, np.abs(np.diff(X, axis=1)).sum((1, 2, 3)) + np.abs(np.diff(X, axis=2)).sum((1, 2, 3)), rtol=1e-5
    )
    dy, dx = run(image.image_gradients(constant(X)))
    np.testing.assert_allclose(dy[:, :-1], np.diff(X, axis=1), atol=1e-6)
    np.testing.assert_allclose(dx[:, :, :-1], np.diff(X, axis=2), atol=1e-6)
    assert not dy[:, -1].any() and not dx[:, :, -1].any()


def test_sobel() -> None:
    ramp = np.broadcast_to(np.arange(7, dtype=np.float32)[None, None, :, None], (1, 5, 7, 2)).copy()
    edges = image.sobel_edges(constant(ramp))
    assert edges.get_shape().as_list() == [1, 5, 7, 2, 2]
    value = run(edges)
    assert not value[..., 0].any()
    np.testing.assert_array_equal(value[:, :, 1:-1, :, 1], 8)


def test_image_similarity() -> None:
    first = RNG.uniform(size=(2, 180, 190, 3)).astype(np.float32)
    second = np.clip(first + 0.1 * RNG.normal(size=first.shape), 0, 1).astype(np.float32)
    error = ((first - second) ** 2).mean((1, 2, 3))
    np.testing.assert_allclose(run(image.psnr(first, second, 1.0)), -10 * np.log10(error), rtol=1e-4)
    for measure in (image.ssim, image.ssim_multiscale):
        same, near = run([measure(first, first, 1.0), measure(first, second, 1.0)])
        np.testing.assert_allclose(same, 1, rtol=1e-4)
        assert ((near > 0.5) & (near < 0.99)).all()
    with pytest.raises(ValueError):
        image.psnr(constant(first), constant(second[:, :5]), 1.0)
    with pytest.raises(ValueError, match="subtracting 11 from"):
        image.ssim(first[:, :5], second[:, :5], 1.0)


# -- sound ------------------------------------------------------------------------------------------------------------


def test_wav_round_trip() -> None:
    sound = RNG.uniform(-1, 1, size=(50, 2)).astype(np.float32)
    file = run(audio.encode_wav(sound, 8000))
    back, rate = run(list(audio.decode_wav(file)))
    assert rate == 8000
    np.testing.assert_allclose(back, sound, atol=1 / 32768)
    few = audio.decode_wav(file, desired_channels=3, desired_samples=60)
    assert few.audio.get_shape().as_list() == [60, 3]
    value = run(few.audio)
    np.testing.assert_array_equal(value[:50, 2], back[:, 1])
    assert not value[50:].any()
    assert run(audio.decode_wav(file, desired_samples=0).audio).shape == (0, 2)
    loud = run(audio.decode_wav(audio.encode_wav(sound * 10, 8000)).audio)
    assert loud.max() == 32767 / 32768 and loud.min() == -1


@pytest.mark.parametrize("size", [0, 4, 11, 20, 43, 60])
def test_invalid_wav(size: int) -> None:
    file = run(audio.encode_wav(np.zeros((50, 1), np.float32), 8000))
    with pytest.raises(errors.InvalidArgumentError, match="invalid WAV data"):
        run(list(audio.decode_wav(file[:size])))
