from typing import Any

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.checks import check_op
from thalweg._src.training.nn.signal.frames import (
    frame,
    inverse_mdct,
    inverse_stft,
    inverse_stft_window_fn,
    mdct,
    overlap_and_add,
    stft,
)
from thalweg._src.training.nn.signal.mel import linear_to_mel_weight_matrix, mfccs_from_log_mel_spectrograms
from thalweg._src.training.nn.signal.windows import (
    hamming_window,
    hann_window,
    kaiser_bessel_derived_window,
    kaiser_window,
    vorbis_window,
)


def signal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def run(value: Any) -> Any:
    with tf.Session() as session:
        return session.run(value)


@pytest.mark.parametrize(("length", "step"), [(4, 2), (4, 4), (3, 5), (11, 1), (1, 1)])
def test_frame(length: int, step: int) -> None:
    check_op(lambda x: frame(x, length, step), lambda x: x.unfold(-1, length, step), signal(2, 11))


def test_frame_pads_the_end() -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(x, (0, 3), value=7.0).unfold(-1, 5, 3)

    check_op(lambda x: frame(x, 5, 3, pad_end=True, pad_value=7.0), reference, signal(2, 11))


def test_frame_of_an_axis() -> None:
    check_op(lambda x: frame(x, 3, 2, axis=1), lambda x: x.unfold(1, 3, 2).movedim(-1, 2), signal(2, 8, 5), grad=False)


def test_frames_longer_than_the_signal() -> None:
    assert run(frame(signal(2, 3), 5, 1)).shape == (2, 0, 5)
    assert frame(tf.placeholder(tf.float32, [None, 100]), 25, 10).shape.as_list() == [None, 8, 25]


@pytest.mark.parametrize("step", [1, 2, 4, 5, 7])
def test_overlap_and_add(step: int) -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        result = torch.zeros(*x.shape[:-2], 5 + 2 * step)
        for i in range(3):
            result = result + torch.nn.functional.pad(x[..., i, :], (i * step, (2 - i) * step))
        return result

    check_op(lambda x: overlap_and_add(x, step), reference, signal(2, 4, 3, 5))


def test_stft_matches_torch() -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        found = torch.stft(x, 8, 3, window=torch.hann_window(8), center=False, return_complex=True)
        return found.transpose(-1, -2)

    check_op(lambda x: stft(x, 8, 3), reference, signal(2, 40), atol=1e-5)


def test_the_transform_is_long_enough_for_a_frame() -> None:
    assert stft(signal(50), 20, 5).shape.as_list() == [7, 17]
    assert stft(signal(50), 20, 5, fft_length=20).shape.as_list() == [7, 11]
    length = tf.placeholder_with_default(20, [])
    assert run(stft(signal(50), length, 5)).shape == (7, 17)


@pytest.mark.parametrize("step", [3, 4, 8])
def test_inverse_stft(step: int) -> None:
    x = signal(2, 40, dtype="float64")
    there = stft(x, 16, step)
    back = run(inverse_stft(there, 16, step, window_fn=inverse_stft_window_fn(step)))
    np.testing.assert_allclose(back[:, 16:24], x[:, 16:24], atol=1e-8)


def test_windows() -> None:
    for length in (2, 5, 8):
        for periodic in (True, False):
            cut = periodic and length % 2 == 0
            np.testing.assert_allclose(
                run(hann_window(length, periodic)), torch.hann_window(length, periodic=cut), atol=1e-6
            )
            np.testing.assert_allclose(
                run(hamming_window(length, periodic)), torch.hamming_window(length, periodic=cut), atol=1e-6
            )
        expected = torch.kaiser_window(length, periodic=False, beta=12.0)
        np.testing.assert_allclose(run(kaiser_window(length)), expected, atol=1e-6)
    for window in (hann_window, hamming_window, kaiser_window):
        np.testing.assert_array_equal(run(window(1)), [1.0])
    for window in (vorbis_window, kaiser_bessel_derived_window):
        values = run(window(16, dtype=tf.float64))
        np.testing.assert_allclose(values[:8] ** 2 + values[8:] ** 2, np.ones(8))
    with pytest.raises(ValueError, match="expected a floating type"):
        hann_window(7, dtype=tf.int32)


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("window", [vorbis_window, kaiser_bessel_derived_window, None])
def test_mdct_round_trip(window: Any, norm: str | None) -> None:
    x = signal(2, 48, dtype="float64")
    back = run(inverse_mdct(mdct(x, 16, window_fn=window, norm=norm), window_fn=window, norm=norm))
    np.testing.assert_allclose(back[:, 8:40], x[:, 8:40], atol=1e-8)
    with pytest.raises(ValueError, match="multiple of 4"):
        mdct(x, 6)


def test_mel() -> None:
    weights = run(linear_to_mel_weight_matrix(5, 65, 8000, 100.0, 3900.0))
    assert weights.shape == (65, 5) and not weights[0].any()
    assert np.all(weights >= 0) and np.all(weights.max(0) > 0.8)
    assert np.all(np.diff(weights.argmax(0)) > 0)
    with pytest.raises(ValueError, match="Nyquist"):
        linear_to_mel_weight_matrix(upper_edge_hertz=5000.0)
    with pytest.raises(ValueError, match="num_mel_bins is 0"):
        linear_to_mel_weight_matrix(num_mel_bins=0)


def test_cepstra_of_constant_bands() -> None:
    found = run(mfccs_from_log_mel_spectrograms(np.full((3, 8), 2.0, np.float32)))
    np.testing.assert_allclose(found[:, 0], np.full(3, 2 * 2 * 8 / 4.0), rtol=1e-6)
    np.testing.assert_allclose(found[:, 1:], np.zeros((3, 7)), atol=1e-5)
