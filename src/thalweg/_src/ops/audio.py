"""WAV audio encoding and decoding ops."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.export import export
from thalweg._src.graph.infer import Inference
from thalweg._src.ops.declarations import nondifferentiable_op
from thalweg._src.ops.shape_functions import require, with_rank
from thalweg._src.shapes import Shape, show


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


decode_wav = export("audio.decode_wav")(
    nondifferentiable_op(
        "DecodeWav",
        "contents: string -> audio: float32, sample_rate: int32",
        "Decodes a 16-bit WAV file to samples in [-1, 1), one column per channel; returns them and the sample rate.",
        desired_channels=-1,
        desired_samples=-1,
        infer=_decoded,
    )
)
encode_wav = export("audio.encode_wav")(
    nondifferentiable_op(
        "EncodeWav",
        "audio: float32, sample_rate: int32 -> contents: string",
        "Encodes samples in [-1, 1] as a 16-bit PCM WAV file.",
        host="sample_rate",
        infer=_encoded,
    )
)
