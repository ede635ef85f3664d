"""Mel scale: the mel filter bank and cepstral coefficients."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, math
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.reshape import constant_value, expand_dims, reshape, zeros
from thalweg._src.graph.ops.sequences import linspace
from thalweg._src.graph.ops.spectral import dct, last_size
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

_BREAK_HERTZ = 700.0
_HIGH_FREQUENCY_Q = 1127.0


def _as_mel(hertz: Tensor) -> Tensor:
    return _HIGH_FREQUENCY_Q * math.log(1.0 + hertz / _BREAK_HERTZ)


@export("signal.linear_to_mel_weight_matrix", "contrib.signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: TensorLike = 129,
    sample_rate: TensorLike = 8000,
    lower_edge_hertz: TensorLike = 125.0,
    upper_edge_hertz: TensorLike = 3800.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Returns the matrix from spectrogram bins to mel bands, with triangular filters on the mel scale."""
    kind = dtypes.as_dtype(dtype)
    if isinstance(sample_rate, Tensor):
        static_rate = constant_value(sample_rate)
        sample_rate = sample_rate if static_rate is None else static_rate.item()
    _require_bands(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, kind)
    with name_scope(name, "linear_to_mel_weight_matrix", [sample_rate]) as scope:
        rate = cast_ops.cast(sample_rate, kind, name="sample_rate")
        low, high = (convert_to_tensor(edge, kind) for edge in (lower_edge_hertz, upper_edge_hertz))
        # The first bin, of frequency 0, belongs to no band.
        bins = linspace(zeros([], kind), rate / 2.0, num_spectrogram_bins)[1:]
        heights = expand_dims(_as_mel(bins), 1)
        edges = linspace(_as_mel(low), _as_mel(high), num_mel_bins + 2)
        lower, centre, upper = (reshape(edges[i : i + num_mel_bins], [1, num_mel_bins]) for i in range(3))
        rising, falling = (heights - lower) / (centre - lower), (upper - heights) / (upper - centre)
        weights = math.maximum(zeros([], kind), math.minimum(rising, falling))
        return pad(weights, [[1, 0], [0, 0]], name=scope)


def _require_bands(count: int, sample_rate: Any, low: Any, high: Any, dtype: dtypes.DType) -> None:
    if count <= 0:
        raise ValueError(f"num_mel_bins is {count}, expected 1 or more")
    if low < 0.0:
        raise ValueError(f"lower_edge_hertz is {low}, expected 0 or more")
    if low >= high:
        raise ValueError(f"lower_edge_hertz {low:.1f} >= upper_edge_hertz {high:.1f}")
    if not isinstance(sample_rate, Tensor):
        if sample_rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
        if high > sample_rate / 2:
            raise ValueError(
                f"upper_edge_hertz {high} is above the Nyquist frequency, half of sample_rate {sample_rate}"
            )
    if not dtype.is_floating:
        raise ValueError(f"dtype is {dtype.name}, expected a floating type")


@export("signal.mfccs_from_log_mel_spectrograms", "contrib.signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike, name: str | None = None) -> Tensor:
    """Returns the mel-frequency cepstral coefficients of log mel spectrograms, scaled as in HTK."""
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        bands = convert_to_tensor(log_mel_spectrograms)
        count = last_size(bands)
        if isinstance(count, int) and count == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {bands}")
        return dct(bands, type=2) * math.rsqrt(cast_ops.cast(count, bands.dtype) * 2.0)
