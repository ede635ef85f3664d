"""Framing of signals, overlap-add, STFT and MDCT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import (
    cast as cast_ops,
    concat as concat_ops,
    math,
    reshape as reshape_ops,
    sequences as sequences_ops,
)
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.pad_tile import pad, reverse, tile
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import constant_value, expand_dims, reshape, shape, transpose, zeros_like
from thalweg._src.graph.ops.shape_functions import normalize_axis
from thalweg._src.graph.ops.spectral import dct, extend, irfft, last_size, rfft
from thalweg._src.graph.ops.where import one_hot, where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.signal.windows import hann_window, vorbis_window

Window = Callable[..., Tensor]


def _number(value: TensorLike, name: str) -> Any:
    """Returns an integer if its value is known statically, otherwise a scalar tensor."""
    tensor = convert_to_tensor(value, name=name)
    tensor.shape.assert_has_rank(0)
    if not tensor.dtype.is_integer:
        raise ValueError(f"{name} must be an integer. Got {tensor.dtype.name}")
    static_number = constant_value(tensor)
    return cast_ops.cast(tensor, dtypes.int32) if static_number is None else int(static_number)


def _at_least(least: int, value: Any) -> Any:
    return math.maximum(least, value) if isinstance(value, Tensor) else max(least, value)


def _size(tensor: Tensor, axis: int) -> Any:
    """Returns a size: an integer if it is known statically, otherwise a tensor."""
    size = None if tensor.dims is None else tensor.dims[axis]
    return shape(tensor)[axis] if size is None else size


@export("signal.frame", "contrib.signal.frame")
def frame(
    signal: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Splits an axis into frames, one every `frame_step`; an incomplete last frame is dropped or padded.

    Args:
        signal: The signal.
        pad_value: Value to pad with.
        axis: The axis to cut; the last by default.
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = convert_to_tensor(signal, name="signal")
        length, step = _number(frame_length, "frame_length"), _number(frame_step, "frame_step")
        axis = _number(axis, "axis")
        if signal.dims is not None:
            axis = normalize_axis(axis, len(signal.dims))
        samples = _size(signal, axis)
        if pad_end:
            count = -(-samples // step)
            missing = _at_least(0, length + step * (count - 1) - samples)
            signal = _padded(signal, axis, missing, convert_to_tensor(pad_value, signal.dtype))
        else:
            count = _at_least(0, 1 + (samples - length) // step)
        starts = expand_dims(sequences_ops.range(count) * step, 1)
        frames = gather(signal, starts + expand_dims(sequences_ops.range(length), 0), axis=axis)
        if signal.dims is not None and frames.dims is not None and isinstance(length, int):
            frames.set_shape([*frames.dims[: axis + 1], length, *frames.dims[axis + 2 :]])
        return frames


def _padded(signal: Tensor, axis: int, missing: Any, value: Tensor) -> Tensor:
    if signal.dims is not None:
        paddings: Any = [[0, missing if i == axis else 0] for i in range(len(signal.dims))]
    else:
        rank = reshape_ops.rank(signal)
        after = one_hot(math.floormod(axis, rank), rank, missing, 0, dtype=dtypes.int32)
        paddings = stack([zeros_like(after), after], 1)
    return pad(signal, paddings, constant_values=value)


@export("signal.overlap_and_add", "contrib.signal.overlap_and_add")
def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: str | None = None) -> Tensor:
    """Overlap-adds frames [..., frames, frame_length] that start every `frame_step`.

    Args:
        signal: Frames [..., frames, length].
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = convert_to_tensor(signal, name="signal")
        _require_rank(signal, 2)
        step = _number(frame_step, "frame_step")
        frames, length = _size(signal, -2), _size(signal, -1)
        total = length + step * (frames - 1)
        outer = shape(signal)[:-2]
        if isinstance(step, int) and isinstance(length, int) and step == length:
            result = reshape(signal, concat([outer, [total]], 0))
        else:
            result = _overlapped(signal, outer, frames, length, step)[..., :total]
        if signal.dims is not None:
            result.set_shape([*signal.dims[:-2], total if isinstance(total, int) else None])
        return result


def _overlapped(signal: Tensor, outer: Tensor, frames: Any, length: Any, step: Any) -> Tensor:
    """Adds the overlapping segments of frames, each of length frame_step.

    Segment p of frame f belongs at f + p. After padding with as many empty frames as a frame has segments, a reshape
    to rows that are one shorter aligns segment p of frame f with segment 0 of frame f + p.
    """
    pieces = -(-length // step)
    rows = frames + pieces
    signal = extend(signal, stack([rows, pieces * step]), 2)
    split = reshape(signal, concat([outer, [rows, pieces, step]], 0))
    axes = sequences_ops.range(reshape_ops.size(outer))
    turned = transpose(split, concat([axes, reshape_ops.size(outer) + [1, 0, 2]], 0))
    turned = reshape(turned, concat([outer, [rows * pieces, step]], 0))
    shorter = reshape(turned[..., : (rows - 1) * pieces, :], concat([outer, [pieces, rows - 1, step]], 0))
    return reshape(reduce_sum(shorter, -3), concat([outer, [(rows - 1) * step]], 0))


def _require_rank(tensor: Tensor, rank: int) -> None:
    if tensor.dims is not None and len(tensor.dims) < rank:
        raise ValueError(f"Shape {tensor.shape} must have rank at least {rank}")


def _fft_length(fft_length: Any, frame_length: TensorLike) -> Any:
    """Returns the length of a transform: the given one, or the smallest power of two that encloses a frame."""
    if fft_length is not None:
        return _number(fft_length, "fft_length")
    if isinstance(frame_length, int):
        return int(2 ** np.ceil(np.log(frame_length) / np.log(2.0)))
    exponent = math.ceil(math.log(cast_ops.cast(frame_length, dtypes.float32)) / np.log(2.0))
    return cast_ops.cast(math.pow(2.0, exponent), dtypes.int32)


@export("signal.stft", "contrib.signal.stft")
def stft(
    signals: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the short-time Fourier transform, [..., frames, fft_length // 2 + 1]."""
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = convert_to_tensor(signals, name="signals")
        _require_rank(signals, 1)
        length = _number(frame_length, "frame_length")
        frames = frame(signals, length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames, [_fft_length(fft_length, length)])


@export("signal.inverse_stft", "contrib.signal.inverse_stft")
def inverse_stft(
    stfts: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Returns the inverse short-time Fourier transform; `inverse_stft_window_fn` makes it exact."""
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = convert_to_tensor(stfts, name="stfts")
        _require_rank(stfts, 2)
        length = _number(frame_length, "frame_length")
        frames = irfft(stfts, [_fft_length(fft_length, length)])
        frames = extend(frames[..., :length], stack([length]), 1)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


@export("signal.inverse_stft_window_fn", "contrib.signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: TensorLike, forward_window_fn: Window = hann_window, name: str | None = None
) -> Callable[[Any, Any], Tensor]:
    """Returns a window function for inverse_stft: the forward window, divided by the overlapped sum of its squares."""

    def window(frame_length: TensorLike, dtype: DType) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn", [frame_length]):
            step, length = _number(frame_step, "frame_step"), _number(frame_length, "frame_length")
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            squares = extend(math.square(forward), stack([overlaps * step]), 1)
            sums = reduce_sum(reshape(squares, stack([overlaps, step])), 0)
            sums = tile(sums, stack([overlaps]))[:length]
            return where(equal(sums, 0.0), zeros_like(forward), forward / sums)

    return window


@export("signal.mdct", "contrib.signal.mdct")
def mdct(
    signals: TensorLike,
    frame_length: TensorLike,
    window_fn: Window | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the modified discrete cosine transform of half-overlapping frames, [..., frames, frame_length // 2]."""
    with name_scope(name, "mdct", [signals, frame_length]):
        signals = convert_to_tensor(signals, name="signals")
        _require_rank(signals, 1)
        length = _number(frame_length, "frame_length")
        if isinstance(length, int) and length % 4:
            raise ValueError(f"frame_length is {length}, expected a multiple of 4")
        frames = frame(signals, length, length // 2, pad_end=pad_end)
        frames = frames * (2**-0.5 if window_fn is None else window_fn(length, dtype=frames.dtype))
        a, b, c, d = concat_ops.split(frames, 4, axis=-1)
        folded = concat([-reverse(c, [-1]) - d, a - reverse(b, [-1])], -1)
        return dct(folded, type=4, norm=norm)


@export("signal.inverse_mdct", "contrib.signal.inverse_mdct")
def inverse_mdct(
    mdcts: TensorLike, window_fn: Window | None = vorbis_window, norm: str | None = None, name: str | None = None
) -> Tensor:
    """Returns the inverse modified discrete cosine transform."""
    with name_scope(name, "inverse_mdct", [mdcts]):
        mdcts = convert_to_tensor(mdcts, name="mdcts")
        _require_rank(mdcts, 2)
        if norm not in (None, "ortho"):
            raise ValueError(f"norm is {norm!r}, expected 'ortho' or None")
        count = last_size(mdcts)
        folded = dct(mdcts, type=4, norm=norm)
        folded = folded if norm else folded * (0.5 / cast_ops.cast(count, mdcts.dtype))
        low, high = concat_ops.split(folded, 2, axis=-1)
        frames = concat([high, -reverse(high, [-1]), -reverse(low, [-1]), -low], -1)
        frames = frames * (2**-0.5 if window_fn is None else window_fn(2 * count, dtype=mdcts.dtype))
        return overlap_and_add(frames, count)
