"""Readers: the graph API of tf.ReaderBase and its subclasses."""

from __future__ import annotations

from thalweg._src.base.export import export
from thalweg._src.base.formats.record_files import TFRecordOptions
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import readers as ops
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.queues import QueueBase


@export("ReaderBase")
class ReaderBase:
    """The base class of readers: takes file names from a queue and returns (key, record) pairs."""

    reader_ref = ReadOnly[Tensor]("The handle of the reader.")
    supports_serialize = ReadOnly[bool]("Whether the reader can serialize its state.")

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    def read(self, queue: QueueBase | Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns the key and the value of the next record."""
        key, value = ops.reader_read_op.many(self._reader_ref, getattr(queue, "queue_ref", queue), name=name)
        return key, value

    def read_up_to(
        self, queue: QueueBase | Tensor, num_records: TensorLike, name: str | None = None
    ) -> tuple[Tensor, Tensor]:
        """Returns the keys and the values of the next records, fewer at the end of a file."""
        handle = getattr(queue, "queue_ref", queue)
        keys, values = ops.reader_read_up_to_op.many(self._reader_ref, handle, num_records, name=name)
        return keys, values

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Returns the number of records read so far."""
        return ops.reader_num_records_produced_op(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Returns the number of files read completely."""
        return ops.reader_num_work_units_completed_op(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Returns the state of the reader as a string."""
        return ops.reader_serialize_state_op(self._reader_ref, name=name)

    def restore_state(self, state: TensorLike, name: str | None = None) -> Operation:
        """Returns an operation that restores a serialized state."""
        return ops.reader_restore_state_op.operation(self._reader_ref, state, name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Returns an operation that resets the reader to its initial state."""
        return ops.reader_reset_op.operation(self._reader_ref, name=name)


def _container() -> str:
    return get_default_graph().scopes.container


@export("WholeFileReader")
class WholeFileReader(ReaderBase):
    """Reads each file as one record, with its name as the key.

    Args:
        name: A name for the reader.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(ops.whole_file_reader_op(container=_container(), name=name), supports_serialize=True)


@export("TextLineReader")
class TextLineReader(ReaderBase):
    """Reads the lines of text files.

    Args:
        skip_header_lines: Number of lines to skip at the start of each file.
        name: A name for the reader.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(
            ops.text_line_reader_op(skip_header_lines=skip_header_lines, container=_container(), name=name)
        )


@export("FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """Reads records of fixed length between a header and a footer, one every `hop_bytes`.

    Args:
        hop_bytes: Number of bytes from the start of one record to that of the next; 0 means `record_bytes`.
        name: A name for the reader.
        encoding: Compression of the records: None or an empty string for none.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(
            ops.fixed_length_record_reader_op(
                record_bytes=record_bytes,
                header_bytes=header_bytes,
                footer_bytes=footer_bytes,
                hop_bytes=hop_bytes,
                encoding=encoding,
                container=_container(),
                name=name,
            )
        )


@export("TFRecordReader")
class TFRecordReader(ReaderBase):
    """Reads the records of TFRecord files.

    Args:
        name: A name for the reader.
        options: A `TFRecordOptions` with the compression of the files.
    """

    def __init__(self, name: str | None = None, options: TFRecordOptions | str | None = None) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(ops.tf_record_reader_op(compression_type=compression, container=_container(), name=name))


@export("LMDBReader")
class LMDBReader(ReaderBase):
    """Reads the keys and values of LMDB databases; needs the package lmdb.

    Args:
        options: Accepted for compatibility and ignored.
    """

    def __init__(self, name: str | None = None, options: TFRecordOptions | str | None = None) -> None:
        del options  # TensorFlow accepts them, and ignores them
        super().__init__(ops.lmdb_reader_op(container=_container(), name=name))


@export("IdentityReader")
class IdentityReader(ReaderBase):
    """Returns the queued strings themselves, as keys and as values.

    Args:
        name: A name for the reader.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(ops.identity_reader_op(container=_container(), name=name), supports_serialize=True)
