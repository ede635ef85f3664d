"""Kernels of audio: WAV encoding and decoding, spectrograms and MFCCs."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.audio import fft_length
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.resources.devices import Device


def _invalid(data: bytes, why: str) -> errors.InvalidArgumentError:
    return invalid(f"invalid WAV data of {len(data)} bytes: {why}")


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yields id, start and size of the chunks of a RIFF file."""
    position = 12
    while position + 8 <= len(data):
        kind, size = struct.unpack_from("<4sI", data, position)
        yield kind, position + 8, size
        position += 8 + size + size % 2


def _parse(data: bytes) -> tuple[np.ndarray[Any, Any], int]:
    """Returns the samples, one row per frame, and the sample rate."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise _invalid(data, "it does not start like a WAV file")
    channels = rate = 0
    for kind, start, size in _chunks(data):
        if start + size > len(data):
            raise _invalid(data, f"its chunk {kind!r} of {size} bytes is truncated")
        if kind == b"fmt ":
            if size < 16:
                raise _invalid(data, "its format is truncated")
            form, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, start)
            if form != 1 or bits != 16:
                raise _invalid(data, f"its format is {form} with {bits} bits per sample, not PCM with 16")
            if not channels or not 0 < rate < 2**31:
                raise _invalid(data, f"it has {channels} channels and {rate} samples per second")
        elif kind == b"data":
            if not channels:
                raise _invalid(data, "its samples precede their format")
            count = size // (2 * channels)
            return np.frombuffer(data, "<i2", count * channels, start).reshape(count, channels), rate
    raise _invalid(data, "it has no samples")


@kernel("DecodeWav", devices=("CPU",))
def bind_decode_wav(node: Node, device: Device) -> Callable[..., Any]:
    channels, moments = node.attrs["desired_channels"], node.attrs["desired_samples"]

    def decode(contents: np.ndarray[Any, Any]) -> Any:
        require(contents.ndim == 0, f"contents has shape {list(contents.shape)}", expected="a scalar")
        samples, rate = _parse(contents.item())
        audio = torch.from_numpy(samples.astype(np.float32)).div_(2**15)
        if moments >= 0:
            audio = audio[:moments]
        if channels >= 0 and channels != audio.shape[1]:
            columns = torch.arange(channels).clamp_(max=audio.shape[1] - 1)
            audio = audio.index_select(1, columns)
        if moments > audio.shape[0]:
            audio = torch.cat([audio, audio.new_zeros((moments - audio.shape[0], audio.shape[1]))])
        return audio, torch.tensor(rate, dtype=torch.int32)

    return decode


@plain_kernel("EncodeWav", devices=("CPU",))
def encode_wav(audio: torch.Tensor, sample_rate: torch.Tensor) -> Any:
    require(audio.ndim == 2, f"audio has rank {audio.ndim}", expected="samples and channels")
    require(sample_rate.ndim == 0, f"sample_rate has shape {list(sample_rate.shape)}", expected="a scalar")
    rate, channels = int(sample_rate), audio.shape[1]
    require(rate > 0, f"sample_rate is {rate}", expected="a positive number")
    require(0 < channels < 2**15, f"audio has {channels} channels", expected="at least one channel")
    samples = torch.nan_to_num(audio * 2**15)
    rounded = torch.where(samples < 0, torch.ceil(samples - 0.5), torch.floor(samples + 0.5))
    body = rounded.clamp_(-(2**15), 2**15 - 1).to(torch.int16).numpy().astype("<i2").tobytes()
    step = 2 * channels
    require(len(body) < 2**32 - 36 and rate * step < 2**32, "the audio is too long for a WAV file")
    header = struct.pack("<4sI4s4sI", b"RIFF", 36 + len(body), b"WAVE", b"fmt ", 16)
    header += struct.pack("<HHIIHH4sI", 1, channels, rate, rate * step, step, 16, b"data", len(body))
    result = np.empty((), dtype=object)
    result[()] = header + body
    return result


# -- spectrograms -----------------------------------------------------------------------------------------------------

_FLOOR = 1e-12  # energies below count as this much, so that their logarithm is finite


@kernel("AudioSpectrogram", devices=("CPU",))
def bind_audio_spectrogram(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    size, stride, squared = node.attrs["window_size"], node.attrs["stride"], node.attrs["magnitude_squared"]
    window = torch.hann_window(size, periodic=True, dtype=torch.float64)
    length = fft_length(size)

    def analyze(audio: torch.Tensor) -> torch.Tensor:
        require(audio.ndim == 2, f"input has rank {audio.ndim}", expected="samples and channels")
        count = max((len(audio) - size) // stride + 1, 0)
        if not count or not audio.shape[1]:
            return torch.zeros(audio.shape[1], count, length // 2 + 1)
        frames = audio.T.to(torch.float64).unfold(1, size, stride) * window
        spectrum = torch.fft.rfft(frames, length)
        energy = spectrum.real.square() + spectrum.imag.square()
        return (energy if squared else energy.sqrt()).to(torch.float32)  # type: ignore[no-any-return]

    return analyze


@kernel("Mfcc", devices=("CPU",))
def bind_mfcc(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    bands, count = node.attrs["filterbank_channel_count"], node.attrs["dct_coefficient_count"]
    low, high = node.attrs["lower_frequency_limit"], node.attrs["upper_frequency_limit"]
    positions = torch.arange(bands, dtype=torch.float64) + 0.5
    angles = torch.arange(count, dtype=torch.float64)[:, None] * positions * (math.pi / bands)
    cosines = (angles.cos() * math.sqrt(2.0 / bands)).T

    def analyze(spectrogram: torch.Tensor, sample_rate: torch.Tensor) -> torch.Tensor:
        require(spectrogram.ndim == 3, f"spectrogram has rank {spectrogram.ndim}", expected="rank 3")
        require(sample_rate.ndim == 0, f"sample_rate has shape {list(sample_rate.shape)}", expected="a scalar")
        rate, frequencies = int(sample_rate), spectrogram.shape[2]
        require(rate > 0, f"sample_rate is {rate}", expected="a positive number")
        require(frequencies > 1, f"spectrogram has {frequencies} frequencies", expected="at least 2")
        if int(high / _bin_width(frequencies, rate)) >= frequencies:
            return torch.zeros(*spectrogram.shape[:2], count)  # as TensorFlow does above half the sample rate
        indices, bands_below, weights = (torch.from_numpy(a) for a in _mel_bands(frequencies, rate, bands, low, high))
        magnitudes = spectrogram[:, :, indices].to(torch.float64).sqrt()
        weighted = magnitudes * weights
        energies = torch.zeros(*spectrogram.shape[:2], bands + 2, dtype=torch.float64)
        energies.index_add_(2, bands_below + 1, weighted).index_add_(2, bands_below + 2, magnitudes - weighted)
        logs = energies[:, :, 1:-1].clamp(min=_FLOOR).log()
        return (logs @ cosines).to(torch.float32)  # type: ignore[no-any-return]

    return analyze


def _bin_width(frequencies: int, rate: int) -> float:
    return 0.5 * rate / (frequencies - 1)


@functools.lru_cache(maxsize=8)
def _mel_bands(frequencies: int, rate: int, bands: int, low: float, high: float) -> tuple[np.ndarray[Any, Any], ...]:
    """Returns the frequencies in use, the band whose center is the last one below each, and its weight in that band.

    Bands are triangles, equally wide in mel; what a frequency does not give to one band it gives to the next.
    """

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log1p(hertz / 700.0)

    spacing = (mel(high) - mel(low)) / (bands + 1)
    width = _bin_width(frequencies, rate)
    indices = np.arange(int(1.5 + low / width), int(high / width) + 1)
    place = (mel(indices * width) - mel(low)) / spacing  # 0 at the lower limit, 1 at the first center
    below = np.clip(np.ceil(place).astype(int) - 2, -1, bands - 1)
    return indices, below, below + 2 - place
