"""Window functions of signal processing: Hann, Hamming, Kaiser, Kaiser-Bessel derived, Vorbis."""

from __future__ import annotations

from math import pi
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, math, sequences as sequences_ops
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.nn import relu
from thalweg._src.graph.ops.reduction import cumsum
from thalweg._src.graph.ops.reshape import constant_value, ones, ones_like
from thalweg._src.graph.ops.special import bessel_i0e
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _length(window_length: TensorLike, dtype: DTypeLike) -> tuple[Tensor, DType]:
    """Returns the length as a scalar, and the dtype, which must be floating."""
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"dtype is {kind.name}, expected a floating type")
    length = convert_to_tensor(window_length, dtypes.int32, name="window_length")
    length.shape.assert_has_rank(0)
    return length, kind


@export("signal.hann_window", "contrib.signal.hann_window")
def hann_window(
    window_length: TensorLike, periodic: TensorLike = True, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """Returns the Hann window; a periodic one omits the 0 at the end."""
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


@export("signal.hamming_window", "contrib.signal.hamming_window")
def hamming_window(
    window_length: TensorLike, periodic: TensorLike = True, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """Returns the Hamming window."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(
    name: str | None,
    default: str,
    window_length: TensorLike,
    periodic: TensorLike,
    dtype: DTypeLike,
    middle: float,
    swing: float,
) -> Tensor:
    with name_scope(name, default, [window_length, periodic]):
        length, kind = _length(window_length, dtype)
        static_length = constant_value(length)
        if static_length is not None and static_length == 1:
            return ones([1], kind)
        # Only an even length is shortened: that is how TensorFlow reads `periodic`.
        is_periodic = cast_ops.cast(convert_to_tensor(periodic, dtypes.bool, name="periodic"), dtypes.int32)
        period = cast_ops.cast(length + is_periodic * (1 - length % 2) - 1, kind)
        wave = math.cos(cast_ops.cast(sequences_ops.range(length), kind) * (2 * pi) / period)
        window = middle - swing * wave
        return window if static_length is not None else where_v2(equal(length, 1), ones_like(window), window)


@export("signal.kaiser_window")
def kaiser_window(
    window_length: TensorLike, beta: Any = 12.0, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """Returns the Kaiser window, narrower for larger `beta`.

    Args:
        beta: Shape of the window; larger is narrower.
    """
    with name_scope(name, "kaiser_window", [window_length, beta]):
        length, kind = _length(window_length, dtype)
        static_length = constant_value(length)
        if static_length is not None and static_length == 1:
            return ones([1], kind)
        beta = cast_ops.cast(beta, kind)
        middle = cast_ops.cast(length - 1, kind) / 2
        place = (cast_ops.cast(sequences_ops.range(length), kind) - middle) / middle
        height = beta * math.sqrt(relu(1 - math.square(place)))
        return math.exp(height - beta) * (bessel_i0e(height) / bessel_i0e(beta))


@export("signal.kaiser_bessel_derived_window")
def kaiser_bessel_derived_window(
    window_length: TensorLike, beta: TensorLike = 12.0, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """Returns the Kaiser-Bessel derived window, whose half-overlapping squares add up to 1.

    Args:
        beta: Shape of the window; larger is narrower.
    """
    with name_scope(name, "kaiser_bessel_derived_window", [window_length, beta]):
        length, kind = _length(window_length, dtype)
        sums = cumsum(kaiser_window(length // 2 + 1, beta, kind))
        rising = math.sqrt(sums[:-1] / sums[-1])
        return concat([rising, rising[::-1]], 0)


@export("signal.vorbis_window")
def vorbis_window(window_length: TensorLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns the Vorbis power complementary window."""
    with name_scope(name, "vorbis_window", [window_length]):
        length, kind = _length(window_length, dtype)
        place = cast_ops.cast(sequences_ops.range(length), kind) + 0.5
        return math.sin(pi / 2 * math.square(math.sin(pi / cast_ops.cast(length, kind) * place)))
