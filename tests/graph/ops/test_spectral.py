from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.checks import check_op
from thalweg._src.graph.ops import spectral


def real(*shape: int, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def terms(*shape: int, dtype: str = "complex64") -> np.ndarray:
    return (real(*shape, dtype="float64") + 1j * real(*shape, seed=1, dtype="float64")).astype(dtype)


def run(value: Any) -> Any:
    with tf.Session() as session:
        return session.run(value)


AXES = {1: (-1,), 2: (-2, -1), 3: (-3, -2, -1)}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_complex(rank: int, dtype: str) -> None:
    suffix = "" if rank == 1 else f"{rank}d"
    x = terms(2, 3, 4, 5, dtype=dtype)
    check_op(getattr(spectral, f"fft{suffix}"), lambda t: torch.fft.fftn(t, dim=AXES[rank]), x, atol=1e-5)
    check_op(getattr(spectral, f"ifft{suffix}"), lambda t: torch.fft.ifftn(t, dim=AXES[rank]), x, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("last", [4, 5])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_real(rank: int, last: int, dtype: str) -> None:
    suffix = "" if rank == 1 else f"{rank}d"
    forward, back = getattr(spectral, f"rfft{suffix}"), getattr(spectral, f"irfft{suffix}")
    x = real(2, 3, 4, last, dtype=dtype)
    check_op(forward, lambda t: torch.fft.rfftn(t, dim=AXES[rank]), x, atol=1e-5)
    y = terms(2, 3, 4, last, dtype="complex64" if dtype == "float32" else "complex128")
    check_op(back, lambda t: torch.fft.irfftn(t, dim=AXES[rank]), y, atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 5, 6, 7, 8, 11])
def test_truncated_and_padded(length: int) -> None:
    check_op(lambda x: spectral.rfft(x, [length]), lambda x: torch.fft.rfft(x, length), real(3, 7), atol=1e-5)
    check_op(lambda x: spectral.irfft(x, [length]), lambda x: torch.fft.irfft(x, length), terms(3, 4), atol=1e-5)


@pytest.mark.parametrize("lengths", [(3, 6), (6, 3), (9, 9), (5, 7)])
def test_truncated_and_padded_2d(lengths: tuple[int, int]) -> None:
    axes = (-2, -1)
    check_op(
        lambda x: spectral.rfft2d(x, lengths), lambda x: torch.fft.rfftn(x, lengths, axes), real(2, 5, 7), atol=1e-5
    )
    check_op(
        lambda x: spectral.irfft2d(x, lengths), lambda x: torch.fft.irfftn(x, lengths, axes), terms(2, 5, 4), atol=1e-5
    )


def test_second_order() -> None:
    x = tf.constant(real(2, 6, dtype="float64"))
    with tf.Session():
        y = spectral.irfft(spectral.rfft(x, [5]) ** 2, [7])
        energy = tf.reduce_sum(y**3)
        (gradient,) = tf.gradients(energy, x)
        assert tf.test.compute_gradient_error(x, [2, 6], gradient, [2, 6]) < 1e-4


def test_empty_signals() -> None:
    assert run(spectral.fft(np.zeros((3, 0), np.complex64))).shape == (3, 0)
    assert run(spectral.rfft(np.zeros((0, 3), np.float32))).shape == (0, 2)
    assert run(spectral.irfft(np.zeros((0, 3), np.complex64))).shape == (0, 4)
    assert run(spectral.rfft(real(2, 3), [0])).shape == (2, 0)


def test_static_shapes() -> None:
    x = tf.placeholder(tf.float32, [None, 8])
    assert spectral.rfft(x).shape.as_list() == [None, 5]
    assert spectral.rfft(x, [12]).shape.as_list() == [None, 7]
    assert spectral.irfft(spectral.rfft(x)).shape.as_list() == [None, 8]
    assert spectral.dct(x).shape.as_list() == [None, 8]
    assert spectral.rfft(tf.placeholder(tf.float32, [3, None])).shape.as_list() == [3, None]


def test_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="rank at least 2"):
        spectral.fft2d(np.zeros(3, np.complex64))
    with pytest.raises(ValueError, match=r"at least \[4\] in the last dimensions"):
        spectral.rfft_op(np.zeros((2, 3), np.float32), [4])
    with pytest.raises(ValueError, match="expected an input of type float32"):
        spectral.rfft(tf.constant([1, 2, 3]))
    length = tf.placeholder(tf.int32, [1])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"\[4\] requires \[4\]"):
        session.run(spectral.rfft_op(np.zeros((2, 3), np.float32), length), {length: [4]})


def cosines(kind: int) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a cosine transform by its definition."""

    def transform(x: np.ndarray) -> np.ndarray:
        size = x.shape[-1]
        n, k = np.arange(size), np.arange(size)[:, None]
        if kind == 1:
            table = 2 * np.cos(np.pi * n * k / (size - 1))
            table[:, [0, -1]] /= 2
        elif kind == 2:
            table = 2 * np.cos(np.pi * (2 * n + 1) * k / (2 * size))
        elif kind == 3:
            table = 2 * np.cos(np.pi * n * (2 * k + 1) / (2 * size))
            table[:, 0] /= 2
        else:
            table = 2 * np.cos(np.pi * (2 * n + 1) * (2 * k + 1) / (4 * size))
        return x @ table.T

    return transform


@pytest.mark.parametrize("size", [2, 5, 6])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_dct(kind: int, size: int) -> None:
    x = real(3, size, dtype="float64")
    expected = cosines(kind)(x)
    np.testing.assert_allclose(run(spectral.dct(x, type=kind)), expected, atol=1e-10)
    unknown = tf.placeholder_with_default(x, [3, None])
    np.testing.assert_allclose(run(spectral.dct(unknown, type=kind)), expected, atol=1e-10)
    factor = 2 * (size - 1) if kind == 1 else 2 * size
    np.testing.assert_allclose(run(spectral.idct(expected, type=kind)) / factor, x, atol=1e-10)


@pytest.mark.parametrize("kind", [2, 3, 4])
def test_dct_is_orthogonal(kind: int) -> None:
    matrix = run(spectral.dct(np.eye(5), type=kind, norm="ortho"))
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(5), atol=1e-10)
    x = tf.constant(real(3, 5, dtype="float64"))
    back = spectral.idct(spectral.dct(x, type=kind, norm="ortho"), type=kind, norm="ortho")
    np.testing.assert_allclose(*run([back, x]), atol=1e-10)


def test_shifts() -> None:
    x = np.arange(15).reshape(3, 5)
    for axes in (None, 0, -1, [0, 1]):
        np.testing.assert_array_equal(run(spectral.fftshift(x, axes)), np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(run(spectral.ifftshift(x, axes)), np.fft.ifftshift(x, axes))
