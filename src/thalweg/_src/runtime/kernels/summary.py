"""Kernels of summaries: host values become serialized Summary messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats import summaries
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.graph.tensor_proto import array_proto, shape_proto
from thalweg._src.runtime.kernels.audio import encode_wav
from thalweg._src.runtime.kernels.image_files import encode_png
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TensorValue, to_read
from thalweg._src.runtime.resources.devices import Device

Array = np.ndarray[Any, Any]
_SMALL = 1e-6  # an image whose maximum is below is black


def _result(summary: bytes) -> Array:
    result = np.empty((), dtype=object)
    result[()] = summary
    return result


def only(tag: Array, name: str = "tag") -> bytes:
    """Returns the string of a scalar."""
    require(tag.ndim == 0, f"{name} has shape {list(tag.shape)}", expected=f"a scalar {name}")
    value: bytes = tag.item()
    return value


def text_tag(tag: Array) -> bytes:
    """Returns the tag that a scalar holds."""
    value = only(tag)
    _require_text(value)
    return value


def _require_text(tag: bytes) -> None:
    try:
        tag.decode("utf-8")
    except UnicodeDecodeError:
        raise invalid(f"the tag {tag!r} is not valid UTF-8") from None


@plain_kernel("ScalarSummary", devices=("CPU",))
def _scalar_summary(tags: Array, values: torch.Tensor) -> Array:
    require(
        tags.shape == tuple(values.shape),
        f"tags and values differ in shape: {list(tags.shape)} and {list(values.shape)}",
        expected="one tag per value",
    )
    names = tags.reshape(-1).tolist()
    for name in names:
        _require_text(name)
    return _result(summaries.scalars(names, map(float, values.reshape(-1).tolist())))


@kernel("HistogramSummary", devices=("CPU",))
def bind_histogram_summary(node: Node, device: Device) -> Callable[..., Array]:
    return histogram_summarizer(node)


def histogram_summarizer(node: Node) -> Callable[[Array, torch.Tensor], Array]:
    """Returns a function from a tag and values to a histogram summary."""

    def summarize(tag: Array, values: torch.Tensor) -> Array:
        name, numbers = text_tag(tag), values.reshape(-1).to(torch.float64).numpy()
        if not np.isfinite(numbers).all():
            what = "Nan" if np.isnan(numbers).any() else "Infinity"
            raise invalid(f"{what} in summary histogram for: {node.name}")
        return _result(summaries.histogram(name, numbers))

    return summarize


@kernel("ImageSummary", devices=("CPU",))
def bind_image_summary(node: Node, device: Device) -> Callable[..., Array]:
    summarize, bad_color = image_summarizer(node.attrs["max_images"], node.attrs["T"]), node.attrs["bad_color"]
    return lambda tag, tensor: summarize(tag, tensor, bad_color)


def image_summarizer(most: int, dtype: DType) -> Callable[[Array, torch.Tensor, Array], Array]:
    """Returns a function from a tag, images and the color of non-finite pixels to a summary of the first images."""

    def summarize(tag: Array, tensor: torch.Tensor, bad_color: Array) -> Array:
        name = text_tag(tag)
        require(tensor.ndim == 4, f"tensor has rank {tensor.ndim}", expected="images, rows, columns and channels")
        height, width, channels = tensor.shape[1:]
        require(channels in (1, 3, 4), f"tensor has {channels} channels", expected="1, 3 or 4 channels")
        require(dtype is dtypes.uint8 or channels <= len(bad_color), f"bad_color has no value for {channels} channels")
        require(height > 0 and width > 0, f"tensor has shape {list(tensor.shape)}", expected="images with pixels")
        pictures = []
        for image in tensor[:most].contiguous().numpy():
            pixels = image if dtype is dtypes.uint8 else _as_bytes(image, bad_color[:channels])
            pictures.append((height, width, channels, encode_png(pixels, -1)))
        return _result(summaries.images(name, pictures, numbered=most > 1))

    return summarize


def _as_bytes(image: Array, bad_color: Array) -> Array:
    """Scales values to bytes: the maximum is white; or 128 is zero, if some are negative.

    Non-finite pixels are ignored and get the bad color.
    """
    finite = np.isfinite(image).all(axis=-1)
    least, largest = (float(image[finite].min()), float(image[finite].max())) if finite.any() else (np.inf, -np.inf)
    scale, offset = 255.0, 0.0
    if least < 0:
        largest = max(abs(least), abs(largest))
        scale, offset = 127.0, 128.0
    factor = 0.0 if largest < _SMALL else np.float32(scale) / np.float32(largest)
    kind = image.dtype.type
    with np.errstate(invalid="ignore"):
        scaled = image * kind(factor) + kind(offset)
    result = np.empty(image.shape, np.uint8)
    result[finite] = scaled[finite].astype(np.uint8)
    result[~finite] = bad_color
    return result


@kernel("AudioSummaryV2", devices=("CPU",))
def bind_audio_summary(node: Node, device: Device) -> Callable[..., Array]:
    return audio_summarizer(node)


def audio_summarizer(node: Node) -> Callable[[Array, torch.Tensor, torch.Tensor], Array]:
    """Returns a function from a tag, clips and their sample rate to a summary of the first clips."""
    most = node.attrs["max_outputs"]

    def summarize(tag: Array, tensor: torch.Tensor, sample_rate: torch.Tensor) -> Array:
        name = text_tag(tag)
        require(tensor.ndim in (2, 3), f"tensor has rank {tensor.ndim}", expected="rank 2, or 3 with channels")
        require(sample_rate.ndim == 0, f"sample_rate has shape {list(sample_rate.shape)}", expected="a scalar")
        rate = float(sample_rate)
        require(0 < rate < 2**31, f"sample_rate is {rate}", expected="a positive number")
        whole = torch.tensor(max(round(rate), 1))
        audio = tensor if tensor.ndim == 3 else tensor.unsqueeze(-1)
        waves = []
        for sound in audio[:most]:
            waves.append((sound.shape[1], sound.shape[0], encode_wav(sound, whole).item()))
        return _result(summaries.sounds(name, waves, rate, numbered=most > 1))

    return summarize


@plain_kernel("MergeSummary", devices=("CPU",))
def _merge_summary(*inputs: Array) -> Array:
    try:
        return _result(summaries.merged(message for array in inputs for message in array.reshape(-1).tolist()))
    except ValueError as error:
        raise invalid(str(error)) from None


def _proto(value: Any, dtype: DType) -> Any:
    """Returns a tensor's message with raw bytes, as summary readers expect."""
    from tensorboard.compat.proto.tensor_pb2 import TensorProto

    if dtype is dtypes.string:
        return array_proto(value, dtype)
    if dtype in (dtypes.resource, dtypes.variant):
        raise invalid(f"values of type {dtype.name} cannot be summarized")
    array = to_read(value)
    content, shape = array.tobytes(), shape_proto(array.shape)
    return TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=shape, tensor_content=content)


@kernel("TensorSummaryV2", devices=("CPU",))
def bind_tensor_summary_v2(node: Node, device: Device) -> Callable[..., Array]:
    return tensor_summarizer(node)


def tensor_summarizer(node: Node) -> Callable[[Array, Any, Array], Array]:
    """Returns a function from a tag, a tensor and metadata to a summary."""
    dtype = node.attrs["T"]

    def summarize(tag: Array, value: TensorValue, metadata: Array) -> Array:
        name = text_tag(tag)
        try:
            return _result(summaries.tensor(name, _proto(value, dtype), only(metadata, "serialized_summary_metadata")))
        except ValueError as error:
            raise invalid(str(error)) from None

    return summarize


@kernel("TensorSummary", devices=("CPU",))
def bind_tensor_summary(node: Node, device: Device) -> Callable[..., Array]:
    dtype = node.attrs["T"]
    return lambda value: _result(summaries.tensor(b"", _proto(value, dtype), None, node_name=node.name))
