"""Kernels of summary writers: summaries become events of a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base.errors import invalid
from thalweg._src.base.formats import summaries
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.summary import (
    audio_summarizer,
    histogram_summarizer,
    image_summarizer,
    only,
    tensor_summarizer,
    text_tag,
)
from thalweg._src.runtime.kernels.waiting import shared
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.summary_writers import SummaryWriter

Array = np.ndarray[Any, Any]


def _require(handle: object) -> SummaryWriter:
    if not isinstance(handle, SummaryWriter):
        raise invalid(f"the handle is not a summary writer: {handle!r}")
    return handle


def _number(value: torch.Tensor, name: str) -> int:
    require(value.ndim == 0, f"{name} has shape {list(value.shape)}", expected=f"a scalar {name}")
    return int(value)


def _add(writer: object, step: torch.Tensor, summary: bytes) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    _require(writer).add(Event(summary=Summary.FromString(summary)), _number(step, "step"))


def _parsed(message: type, value: Array, name: str) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return message.FromString(only(value, name))  # type: ignore[attr-defined]
    except DecodeError:
        raise invalid(f"{name} is not a serialized {message.__name__}") from None


@kernel("SummaryWriter", devices=("CPU",))
def bind_summary_writer(node: Node, device: Device) -> Constant:
    return Constant(shared(node, device, "summary writer", SummaryWriter))


@plain_kernel("CreateSummaryFileWriter", devices=("CPU",))
def _create(
    writer: object, logdir: Array, max_queue: torch.Tensor, flush_millis: torch.Tensor, filename_suffix: Array
) -> None:
    events, millis = _number(max_queue, "max_queue"), _number(flush_millis, "flush_millis")
    folder, suffix = os.fsdecode(only(logdir, "logdir")), os.fsdecode(only(filename_suffix, "filename_suffix"))
    _require(writer).open(folder, events, millis / 1000, suffix)


@plain_kernel("FlushSummaryWriter", devices=("CPU",))
def _flush(writer: object) -> None:
    _require(writer).flush()


@plain_kernel("CloseSummaryWriter", devices=("CPU",))
def _close(writer: object) -> None:
    _require(writer).close()


@kernel("WriteSummary", devices=("CPU",))
def bind_write_summary(node: Node, device: Device) -> Callable[..., None]:
    summarize = tensor_summarizer(node)

    def write(writer: object, step: torch.Tensor, tensor: torch.Tensor, tag: Array, summary_metadata: Array) -> None:
        _add(writer, step, summarize(tag, tensor, summary_metadata).item())

    return write


@plain_kernel("WriteScalarSummary", devices=("CPU",))
def _write_scalar(writer: object, step: torch.Tensor, tag: Array, value: torch.Tensor) -> None:
    require(value.ndim == 0, f"value has shape {list(value.shape)}", expected="a scalar value")
    _add(writer, step, summaries.scalars([text_tag(tag)], [float(value)]))


@kernel("WriteHistogramSummary", devices=("CPU",))
def bind_write_histogram(node: Node, device: Device) -> Callable[..., None]:
    summarize = histogram_summarizer(node)
    return lambda writer, step, tag, values: _add(writer, step, summarize(tag, values).item())


@kernel("WriteImageSummary", devices=("CPU",))
def bind_write_image(node: Node, device: Device) -> Callable[..., None]:
    summarize = image_summarizer(node.attrs["max_images"], node.attrs["T"])

    def write(writer: object, step: torch.Tensor, tag: Array, tensor: torch.Tensor, bad_color: torch.Tensor) -> None:
        require(bad_color.ndim == 1, f"bad_color has shape {list(bad_color.shape)}", expected="a vector")
        _add(writer, step, summarize(tag, tensor, bad_color.numpy()).item())

    return write


@kernel("WriteAudioSummary", devices=("CPU",))
def bind_write_audio(node: Node, device: Device) -> Callable[..., None]:
    summarize = audio_summarizer(node)
    return lambda writer, step, tag, tensor, rate: _add(writer, step, summarize(tag, tensor, rate).item())


@plain_kernel("WriteGraphSummary", devices=("CPU",))
def _write_graph(writer: object, step: torch.Tensor, tensor: Array) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    message = _parsed(GraphDef, tensor, "tensor")
    _require(writer).add(Event(graph_def=message.SerializeToString()), _number(step, "step"))


@plain_kernel("ImportEvent", devices=("CPU",))
def _import_event(writer: object, event: Array) -> None:
    from tensorboard.compat.proto.event_pb2 import Event

    _require(writer).add(_parsed(Event, event, "event"))
