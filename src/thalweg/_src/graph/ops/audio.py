"""Audio ops: WAV encoding and decoding, spectrograms and MFCCs."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ops.declarations import nondifferentiable_op
from thalweg._src.graph.ops.shape_functions import require, with_rank


def _decoded(c: Inference) -> Sequence[Shape]:
    require(not c.shapes[0], f"contents has shape {show(c.shapes[0])}", expected="a scalar")
    channels, samples = c.attrs["desired_channels"], c.attrs["desired_samples"]
    for key, number in (("desired_channels", channels), ("desired_samples", samples)):
        require(number >= -1, f"{key} is {number}", expected="a number, or -1 for the file's own")
    return [(None if samples < 0 else samples, None if channels < 0 else channels), ()]


def _encoded(c: Inference) -> Sequence[Shape]:
    audio = with_rank(c, 0, 2)
    require(audio is None or audio[1] != 0, f"audio has shape {show(audio)}", expected="at least one channel")
    require(not c.shapes[1], f"sample_rate has shape {show(c.shapes[1])}", expected="a scalar")
    rate = c.value(1)
    require(rate is None or int(rate) > 0, f"sample_rate is {rate}", expected="a positive number")
    return [()]


def _spectrogram(c: Inference) -> Sequence[Shape]:
    audio = with_rank(c, 0, 2)
    size, stride = c.attrs["window_size"], c.attrs["stride"]
    require(size >= 2, f"window_size is {size}", expected="at least 2 samples")
    require(stride >= 1, f"stride is {stride}", expected="at least 1 sample")
    samples, channels = audio or (None, None)
    frames = None if samples is None else max((samples - size) // stride + 1, 0)
    return [(channels, frames, fft_length(size) // 2 + 1)]


def fft_length(window_size: int) -> int:
    """Returns the length of the transform of a window: the next power of two."""
    return 1 << (window_size - 1).bit_length()


def _mfcc(c: Inference) -> Sequence[Shape]:
    channels, frames, frequencies = with_rank(c, 0, 3) or (None, None, None)
    require(frequencies is None or frequencies > 1, f"spectrogram has {frequencies} frequencies", expected="at least 2")
    require(not c.shapes[1], f"sample_rate has shape {show(c.shapes[1])}", expected="a scalar")
    rate = c.value(1)
    require(rate is None or int(rate) > 0, f"sample_rate is {rate}", expected="a positive number")
    low, high = c.attrs["lower_frequency_limit"], c.attrs["upper_frequency_limit"]
    require(0 <= low < high, f"the frequency limits are {low} and {high}", expected="0 <= lower < upper")
    bands, coefficients = c.attrs["filterbank_channel_count"], c.attrs["dct_coefficient_count"]
    require(
        1 <= coefficients <= bands,
        f"dct_coefficient_count is {coefficients}, filterbank_channel_count {bands}",
        expected="at least one coefficient, and no more than channels",
    )
    return [(channels, frames, coefficients)]


decode_wav = export(
    "audio.decode_wav",
    desired_channels="Number of channels to return; -1 takes those of the file.",
    desired_samples="Number of samples to return; -1 takes those of the file.",
)(
    nondifferentiable_op(
        "DecodeWav",
        "contents: string -> audio: float32, sample_rate: int32",
        "Decodes a 16-bit WAV file to samples in [-1, 1), one column per channel; returns them and the sample rate.",
        desired_channels=-1,
        desired_samples=-1,
        infer=_decoded,
    )
)
encode_wav = export("audio.encode_wav", audio="Samples [length, channels] in [-1, 1].")(
    nondifferentiable_op(
        "EncodeWav",
        "audio: float32, sample_rate: int32 -> contents: string",
        "Encodes samples in [-1, 1] as a 16-bit PCM WAV file.",
        host="sample_rate",
        infer=_encoded,
    )
)
audio_spectrogram_op = nondifferentiable_op(
    "AudioSpectrogram",
    "input: float32 -> spectrogram: float32",
    "Returns the magnitudes [channels, frames, frequencies] of Hann windows of samples [samples, channels].",
    window_size=attr.integer(),
    stride=attr.integer(),
    magnitude_squared=False,
    infer=_spectrogram,
)
mfcc_op = nondifferentiable_op(
    "Mfcc",
    "spectrogram: float32, sample_rate: int32 -> output: float32",
    "Returns the mel-frequency cepstral coefficients of a spectrogram of squared magnitudes.",
    upper_frequency_limit=4000.0,
    lower_frequency_limit=20.0,
    filterbank_channel_count=40,
    dct_coefficient_count=13,
    host="sample_rate",
    infer=_mfcc,
)
