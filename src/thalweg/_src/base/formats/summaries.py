"""Summary messages for TensorBoard: scalars, histograms, images and audio under a tag."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _summary() -> Any:
    from tensorboard.compat.proto.summary_pb2 import Summary

    return Summary()


def scalars(tags: Iterable[bytes], values: Iterable[float]) -> bytes:
    """Returns a summary of scalars, one per tag."""
    summary = _summary()
    for tag, value in zip(tags, values):
        summary.value.add(tag=_text(tag), simple_value=value)
    return _bytes(summary)


@functools.cache
def bucket_limits() -> Array:
    """Returns the upper bounds of a histogram's buckets, which grow by 10 % away from 0."""
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(sys.float_info.max)
    return np.array([*(-limit for limit in reversed(positive)), 0.0, *positive])


def histogram(tag: bytes, values: Array) -> bytes:
    """Returns a summary of the distribution of finite values; adjacent empty buckets are merged."""
    summary = _summary()
    message = summary.value.add(tag=_text(tag)).histo
    limits = bucket_limits()
    places = np.minimum(np.searchsorted(limits, values, side="right"), len(limits) - 1)
    counts = np.bincount(places, minlength=len(limits)).astype(np.float64)
    message.min, message.max = (values.min(), values.max()) if values.size else (limits[-1], limits[0])
    message.num = values.size
    if values.size:
        with np.errstate(over="ignore"):  # sequentially, as sums of doubles depend on the order
            message.sum, message.sum_squares = np.cumsum(values)[-1], np.cumsum(np.square(values))[-1]
    empty = counts == 0
    is_listed = ~empty | ~np.append(empty[1:], False)
    message.bucket_limit.extend(limits[is_listed].tolist())
    message.bucket.extend(counts[is_listed].tolist())
    return _bytes(summary)


def images(tag: bytes, pictures: Sequence[tuple[int, int, int, bytes]], numbered: bool) -> bytes:
    """Returns a summary of images, given by height, width, channels and PNG data."""
    summary = _summary()
    for name, (height, width, channels, data) in zip(_names(tag, "image", numbered, len(pictures)), pictures):
        image = summary.value.add(tag=name).image
        image.height, image.width, image.colorspace = height, width, channels
        image.encoded_image_string = data
    return _bytes(summary)


def sounds(tag: bytes, waves: Sequence[tuple[int, int, bytes]], rate: float, numbered: bool) -> bytes:
    """Returns a summary of audio clips, given by channels, frames and WAV data."""
    summary = _summary()
    for name, (channels, moments, data) in zip(_names(tag, "audio", numbered, len(waves)), waves):
        audio = summary.value.add(tag=name).audio
        audio.sample_rate, audio.num_channels, audio.length_frames = rate, channels, moments
        audio.encoded_audio_string, audio.content_type = data, "audio/wav"
    return _bytes(summary)


def _names(tag: bytes, suffix: str, numbered: bool, count: int) -> list[str]:
    """Returns the tags of several values, numbered if there may be more than one."""
    start = f"{_text(tag)}/{suffix}"
    return [f"{start}/{i}" for i in range(count)] if numbered else [start]


def tensor(tag: bytes, proto: Any, metadata: bytes | None, node_name: str = "") -> bytes:
    """Returns a summary of any tensor; raises ValueError if the metadata is not such a message."""
    from google.protobuf.message import DecodeError

    summary = _summary()
    value = summary.value.add(tag=_text(tag), node_name=node_name)
    value.tensor.CopyFrom(proto)
    if metadata is not None:
        value.metadata.SetInParent()
        try:
            value.metadata.MergeFromString(metadata)
        except DecodeError:
            raise ValueError("serialized_summary_metadata is not a SummaryMetadata message") from None
    return _bytes(summary)


def merged(summaries: Iterable[bytes]) -> bytes:
    """Merges summaries; raises ValueError for an input that is not a summary and for a duplicate tag."""
    from google.protobuf.message import DecodeError

    summary = _summary()
    seen: set[str] = set()
    for serialized in summaries:
        try:
            piece = type(summary).FromString(serialized)
        except DecodeError:
            raise ValueError("an input is not a serialized Summary message") from None
        for value in piece.value:
            if value.tag and value.tag in seen:
                raise ValueError(f"Duplicate tag {value.tag} found in summary inputs")
            seen.add(value.tag)
            summary.value.append(value)
    return _bytes(summary)


def _text(tag: bytes) -> str:
    return tag.decode("utf-8")


def _bytes(summary: Any) -> bytes:
    return bytes(summary.SerializeToString(deterministic=True))
