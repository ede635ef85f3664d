"""File reader ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import Shape, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, require, scalar, scalar_value


def _read(c: Inference) -> Sequence[Shape]:
    return [(), ()]


def _read_many(c: Inference) -> Sequence[Shape]:
    count = scalar_value(c, 2)
    require(count is None or count > 0, f"num_records is {count}", expected="at least 1")
    return [(None,), (None,)]


def _restored(c: Inference) -> Sequence[Shape]:
    require(not c.shapes[1], f"state has shape {show(c.shapes[1])}", expected="a scalar state")
    return []


def _handle(name: str, doc: str, **attrs: Any) -> OpDef:
    return stateful_op(name, "-> reader_handle: resource", doc, **attrs, container="", shared_name="", infer=scalar)


identity_reader_op = _handle(
    "IdentityReaderV2", "Creates a reader that returns the queued strings themselves, and returns its handle."
)
whole_file_reader_op = _handle(
    "WholeFileReaderV2", "Creates a reader of whole files and returns its handle.", external="reads files"
)
text_line_reader_op = _handle(
    "TextLineReaderV2", "Creates a reader of lines and returns its handle.", skip_header_lines=0, external="reads files"
)
fixed_length_record_reader_op = _handle(
    "FixedLengthRecordReaderV2",
    "Creates a reader of fixed-length records and returns its handle.",
    external="reads files",
    header_bytes=0,
    record_bytes=attr.integer(),
    footer_bytes=0,
    hop_bytes=0,
    encoding="",
)
tf_record_reader_op = _handle(
    "TFRecordReaderV2",
    "Creates a reader of TFRecord files and returns its handle.",
    external="reads files",
    compression_type="",
)
lmdb_reader_op = _handle(
    "_LMDBReader", "Creates a reader of LMDB databases and returns its handle.", external="reads files"
)
reader_read_op = stateful_op(
    "ReaderReadV2",
    "reader_handle: resource, queue_handle: resource -> key: string, value: string",
    "Reads the next record; blocks for the next file name when it needs one.",
    waits=True,
    infer=_read,
)
reader_read_up_to_op = stateful_op(
    "ReaderReadUpToV2",
    "reader_handle: resource, queue_handle: resource, num_records: int64 -> keys: string, values: string",
    "Reads the next records, up to the end of a file.",
    waits=True,
    host="num_records",
    infer=_read_many,
)
reader_num_records_produced_op = stateful_op(
    "ReaderNumRecordsProducedV2",
    "reader_handle: resource -> records_produced: int64",
    "Returns the number of records read.",
    infer=scalar,
)
reader_num_work_units_completed_op = stateful_op(
    "ReaderNumWorkUnitsCompletedV2",
    "reader_handle: resource -> units_completed: int64",
    "Returns the number of files read completely.",
    infer=scalar,
)
reader_serialize_state_op = stateful_op(
    "ReaderSerializeStateV2", "reader_handle: resource -> state: string", "Returns the state of a reader.", infer=scalar
)
reader_restore_state_op = stateful_op(
    "ReaderRestoreStateV2",
    "reader_handle: resource, state: string ->",
    "Restores the state of a reader.",
    infer=_restored,
)
reader_reset_op = stateful_op(
    "ReaderResetV2", "reader_handle: resource ->", "Resets a reader to its initial state.", infer=no_outputs
)
