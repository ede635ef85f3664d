"""Kernels of file readers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.queues import require_queue
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.waiting import failure, require_same, shared
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.queues import Queue
from thalweg._src.runtime.resources.readers import (
    FixedLengthRecordReader,
    IdentityReader,
    LMDBReader,
    Reader,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]


def _bind(node: Node, device: Device, kind: type[Reader], *settings: object) -> Constant:
    if device.readable_folder and node.facts.external:
        text = f"{node.type} reads whatever files a queue names, and files may only be read in {device.readable_folder}"
        raise errors.PermissionDeniedError(None, None, text)
    reader = shared(node, device, "reader", lambda name: kind(name, *settings))
    require_same(reader, {"kind": kind.kind, "settings": settings}, {"kind": reader.kind, "settings": reader.settings})
    return Constant(reader)


@kernel("IdentityReaderV2", devices=("CPU",))
def bind_identity_reader(node: Node, device: Device) -> Constant:
    return _bind(node, device, IdentityReader)


@kernel("WholeFileReaderV2", devices=("CPU",))
def bind_whole_file_reader(node: Node, device: Device) -> Constant:
    return _bind(node, device, WholeFileReader)


@kernel("TextLineReaderV2", devices=("CPU",))
def bind_text_line_reader(node: Node, device: Device) -> Constant:
    skipped = node.attrs["skip_header_lines"]
    if skipped < 0:
        raise invalid(f"skip_header_lines is {skipped}, expected at least 0")
    return _bind(node, device, TextLineReader, skipped)


@kernel("FixedLengthRecordReaderV2", devices=("CPU",))
def bind_fixed_length_record_reader(node: Node, device: Device) -> Constant:
    names = ("header_bytes", "record_bytes", "footer_bytes", "hop_bytes")
    header, length, footer, hop = (node.attrs[name] for name in names)
    for name, value in zip(names, (header, length - 1, footer, hop)):
        if value < 0:
            raise invalid(f"{name} is {node.attrs[name]}, expected at least {int(name == 'record_bytes')}")
    encoding = node.attrs["encoding"]
    if encoding not in ("", "ZLIB"):
        raise invalid(f"encoding is {encoding!r}, expected '' or 'ZLIB'")
    return _bind(node, device, FixedLengthRecordReader, header, length, footer, hop or length, encoding)


@kernel("_LMDBReader", devices=("CPU",))
def bind_lmdb_reader(node: Node, device: Device) -> Constant:
    return _bind(node, device, LMDBReader)


@kernel("TFRecordReaderV2", devices=("CPU",))
def bind_tf_record_reader(node: Node, device: Device) -> Constant:
    compression = node.attrs["compression_type"]
    if compression not in ("", "ZLIB", "GZIP"):
        raise invalid(f"compression_type is {compression!r}, expected '', 'ZLIB' or 'GZIP'")
    return _bind(node, device, TFRecordReader, compression)


def _require(handle: object) -> Reader:
    if not isinstance(handle, Reader):
        raise invalid(f"the handle is not a reader: {handle!r}")
    return handle


def _require_names(handle: object) -> Queue:
    queue = require_queue(handle)
    if queue.dtypes != (dtypes.string,) or (queue.shapes is not None and queue.shapes != ((),)):
        raise invalid(f"{queue} does not hold file names: expected one string component")
    return queue


def _text(value: bytes) -> Any:
    return np.array(value, dtype=object)


@kernel("ReaderReadV2", devices=("CPU",))
def bind_read(node: Node, device: Device) -> Function:
    fail = failure(node, device)

    def read(step: Step, finish: Function, reader: Any, queue: Any) -> None:
        def hand_over(key: bytes, value: bytes) -> None:
            finish(_text(key), _text(value))

        _require(reader).read(_require_names(queue), None, step, hand_over, fail)

    return read


@kernel("ReaderReadUpToV2", devices=("CPU",))
def bind_read_up_to(node: Node, device: Device) -> Function:
    fail = failure(node, device)

    def read(step: Step, finish: Function, reader: Any, queue: Any, num_records: Any) -> None:
        if num_records.ndim or int(num_records) < 1:
            raise invalid(f"num_records is {num_records.tolist()}, expected a positive integer")

        def hand_over(keys: list[bytes], values: list[bytes]) -> None:
            finish(object_array(keys, (len(keys),)), object_array(values, (len(values),)))

        _require(reader).read(_require_names(queue), int(num_records), step, hand_over, fail)

    return read


plain_kernel("ReaderNumRecordsProducedV2", devices=("CPU",))(
    lambda reader: torch.tensor(_require(reader).records_produced)
)
plain_kernel("ReaderNumWorkUnitsCompletedV2", devices=("CPU",))(
    lambda reader: torch.tensor(_require(reader).work_finished)
)
plain_kernel("ReaderSerializeStateV2", devices=("CPU",))(lambda reader: _text(_require(reader).serialized()))


@plain_kernel("ReaderRestoreStateV2", devices=("CPU",))
def _restore_state(reader: object, state: np.ndarray[Any, Any]) -> None:
    if state.ndim:
        raise invalid(f"state has shape {show(tuple(state.shape))}, expected a scalar")
    _require(reader).restore(state.item())


plain_kernel("ReaderResetV2", devices=("CPU",))(lambda reader: _require(reader).reset())
