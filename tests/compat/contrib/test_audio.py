"""Spectrograms and MFCCs, which speech programs import from contrib.framework.python.ops.audio_ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import fft
from thalweg.contrib.framework.python.ops import audio_ops

import thalweg as tf

AUDIO = np.random.default_rng(3).normal(size=(400, 2)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feed)


@pytest.mark.parametrize("squared", [False, True])
def test_a_spectrogram_is_of_hann_windows(squared: bool) -> None:
    audio = tf.placeholder(tf.float32, [400, 2])
    made = audio_ops.audio_spectrogram(audio, window_size=100, stride=30, magnitude_squared=squared)
    assert made.shape.as_list() == [2, 11, 65]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(100) / 100)
    frames = np.stack([AUDIO[start : start + 100].T * window for start in range(0, 301, 30)], 1)
    wanted = np.abs(np.fft.rfft(frames, 128)) ** (2 if squared else 1)
    np.testing.assert_allclose(run(made, {audio: AUDIO}), wanted, rtol=1e-4, atol=1e-5)


def test_too_few_samples_make_no_frames() -> None:
    assert run(audio_ops.audio_spectrogram(AUDIO[:50], 64, 8)).shape == (2, 0, 33)
    with pytest.raises(ValueError, match="window_size is 1"):
        audio_ops.audio_spectrogram(AUDIO, 1, 1)


def test_coefficients_are_cosines_of_the_log_of_triangular_mel_bands() -> None:
    rate, bands, low, high = 8000, 12, 20.0, 3500.0
    spectrogram = np.abs(np.random.default_rng(4).normal(size=(2, 3, 65))).astype(np.float32)
    made = audio_ops.mfcc(
        spectrogram=spectrogram,
        sample_rate=rate,
        upper_frequency_limit=high,
        lower_frequency_limit=low,
        filterbank_channel_count=bands,
        dct_coefficient_count=5,
    )
    assert made.shape.as_list() == [2, 3, 5]

    def mel(hertz: Any) -> Any:
        return 1127 * np.log1p(hertz / 700)

    corners = np.linspace(mel(low), mel(high), bands + 2)
    frequencies = np.arange(65) * (rate / 2 / 64)
    used = (frequencies > low) & (frequencies <= high)
    energies = []
    for band in range(bands):
        triangle = np.interp(mel(frequencies), corners[band : band + 3], [0, 1, 0]) * used
        energies.append(np.sqrt(spectrogram) @ triangle)
    logs = np.log(np.maximum(np.stack(energies, -1), 1e-12))
    wanted = fft.dct(logs, norm="ortho")[..., :5]
    wanted[..., 0] *= np.sqrt(2)  # the first coefficient is scaled like the others
    np.testing.assert_allclose(run(made), wanted, rtol=1e-4, atol=1e-4)


def test_wrong_arguments_of_mfcc_are_refused() -> None:
    with pytest.raises(ValueError, match="no more than channels"):
        audio_ops.mfcc(np.zeros([1, 1, 9]), 8000, dct_coefficient_count=50)
    with pytest.raises(ValueError, match="lower < upper"):
        audio_ops.mfcc(np.zeros([1, 1, 9]), 8000, upper_frequency_limit=10)
    rate = tf.placeholder(tf.int32, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="sample_rate is 0"):
        run(audio_ops.mfcc(np.zeros([1, 1, 9]), rate), {rate: 0})
