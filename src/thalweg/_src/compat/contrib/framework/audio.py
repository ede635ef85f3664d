"""The functions of tensorflow.contrib.framework.python.ops.audio_ops, which speech programs import."""

from __future__ import annotations

from thalweg._src.graph.ops.audio import audio_spectrogram_op, mfcc_op
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def audio_spectrogram(
    input: TensorLike, window_size: int, stride: int, magnitude_squared: bool = False, name: str | None = None
) -> Tensor:
    """Returns the magnitudes [channels, frames, frequencies] of Hann windows of samples [samples, channels]."""
    return audio_spectrogram_op(
        input, window_size=window_size, stride=stride, magnitude_squared=magnitude_squared, name=name
    )


def mfcc(
    spectrogram: TensorLike,
    sample_rate: TensorLike,
    upper_frequency_limit: float = 4000,
    lower_frequency_limit: float = 20,
    filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Tensor:
    """Returns the mel-frequency cepstral coefficients of a spectrogram of squared magnitudes."""
    return mfcc_op(
        spectrogram,
        sample_rate,
        upper_frequency_limit=upper_frequency_limit,
        lower_frequency_limit=lower_frequency_limit,
        filterbank_channel_count=filterbank_channel_count,
        dct_coefficient_count=dct_coefficient_count,
        name=name,
    )
