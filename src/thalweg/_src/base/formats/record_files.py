"""Reading and writing of record files, optionally compressed, record by record."""

from __future__ import annotations

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any, ClassVar, Protocol

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.export import export
from thalweg._src.base.formats.crc32c import masked_crc32c
from thalweg._src.base.formats.gfile import _path, _typed_errors
from thalweg._src.base.formats.proportion import is_in_proportion
from thalweg._src.base.formats.record_blocks import require_proportion
from thalweg._src.base.formats.records import framed
from thalweg._src.base.formats.text import AnyPath, PathLike

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_PIECE = 1 << 18  # bytes read or decompressed at a time, whatever length a damaged file claims
_GZIP_BITS = 16  # added to zlib's window bits, selects gzip's header


@export("io.TFRecordCompressionType", "python_io.TFRecordCompressionType")
class TFRecordCompressionType:
    """The compression types of record files."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


@export("io.TFRecordOptions", "python_io.TFRecordOptions")
class TFRecordOptions:
    """The compression options of a record file."""

    compression_type_map: ClassVar[dict[Any, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Returns "", "ZLIB" or "GZIP" for options, a compression type or its name."""
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return str(options)
        raise ValueError(f"not a valid compression_type: {options!r}")

    def compressor(self) -> Any:
        """Returns a zlib compressor with these options; None for an uncompressed file."""
        compression = self.get_compression_type_string(self)
        if not compression:
            return None
        bits = 15 if self.window_bits is None else self.window_bits
        return zlib.compressobj(
            zlib.Z_DEFAULT_COMPRESSION if self.compression_level is None else self.compression_level,
            zlib.DEFLATED if self.compression_method is None else self.compression_method,
            bits + _GZIP_BITS if compression == "GZIP" else bits,
            zlib.DEF_MEM_LEVEL if self.mem_level is None else self.mem_level,
            zlib.Z_DEFAULT_STRATEGY if self.compression_strategy is None else self.compression_strategy,
        )


@export("io.TFRecordWriter", "python_io.TFRecordWriter")
class TFRecordWriter:
    """Writes records to a file; a context manager that closes it.

    Args:
        path: Path of the file.
        options: A `TFRecordOptions` with the compression of the file.
    """

    def __init__(self, path: PathLike, options: TFRecordOptions | str | None = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        self._path = path
        self._compressor = options.compressor()
        with _typed_errors(path):
            self._file: IO[bytes] | None = open(_path(path), "wb")  # noqa: SIM115

    def _write(self, data: bytes) -> None:
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, f"the writer of {self._path} is closed")
        with _typed_errors(self._path):
            self._file.write(data)

    def write(self, record: str | bytes) -> None:
        """Appends a record."""
        if isinstance(record, str):
            raise TypeError(f"record: expected bytes, received the str {record[:40]!r}")
        data = framed(bytes(record))
        self._write(data if self._compressor is None else self._compressor.compress(data))

    def flush(self) -> None:
        """Flushes all records written so far to the operating system."""
        self._write(b"" if self._compressor is None else self._compressor.flush(zlib.Z_SYNC_FLUSH))
        if self._file is not None:
            with _typed_errors(self._path):
                self._file.flush()

    def close(self) -> None:
        """Writes buffered records and closes the file."""
        if self._file is None:
            return
        if self._compressor is not None:
            self._write(self._compressor.flush())
        with _typed_errors(self._path):
            file, self._file = self._file, None
            file.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@export("io.tf_record_iterator", "python_io.tf_record_iterator")
def tf_record_iterator(path: PathLike, options: TFRecordOptions | str | None = None) -> Iterator[bytes]:
    """Yields the records of a file; a truncated or damaged one raises DataLossError.

    Args:
        path: Path of the file.
        options: A `TFRecordOptions` with the compression of the file.
    """
    compression = TFRecordOptions.get_compression_type_string(options)
    for _, record in records_of(path, compression):
        yield record


class Source(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes: ...


class _Available:
    """The bytes of a pipe: as many as are available, at least one except at the end."""

    def __init__(self, file: Any) -> None:
        self.read = file.read1


class _Inflated:
    """The decompressed bytes of a file, produced piece by piece; of a pipe, those that are available."""

    def __init__(self, file: Source, path: AnyPath, compression: str) -> None:
        self._file = file
        self._is_pipe = isinstance(file, _Available)
        self._path = path
        self._bits = 15 + (_GZIP_BITS if compression == "GZIP" else 0)
        self._inflate = zlib.decompressobj(self._bits)
        self._begun = False
        self._ready = b""
        self._taken = 0  # bytes read of the file

    def read(self, size: int, /) -> bytes:
        """Returns up to `size` bytes; fewer only at the end, or of a pipe."""
        pieces, missing = [], size
        while missing > 0 and (self._ready or self._fill()):
            piece, self._ready = self._ready[:missing], self._ready[missing:]
            pieces.append(piece)
            missing -= len(piece)
            if self._is_pipe:
                break
        return b"".join(pieces)

    def _next(self) -> bytes:
        compressed = self._file.read(_PIECE)
        self._taken += len(compressed)
        return compressed

    def require_proportion(self, size: int) -> None:
        """Raises DataLossError for a record of so many bytes, or more, if the file had far less up to here."""
        if not is_in_proportion(self._taken, size):
            raise _lost(self._path, f"a record that {self._taken} bytes are unpacked to has more than {size}")

    def _fill(self) -> bool:
        """Decompresses the next piece; returns False at the end of the file."""
        while not self._ready:
            if self._inflate.eof:  # a file may consist of several concatenated streams
                rest = self._inflate.unused_data or self._next()
                if not rest:
                    return False
                self._inflate = zlib.decompressobj(self._bits)
            else:
                rest = self._inflate.unconsumed_tail or self._next()
                if not rest:
                    if self._begun:
                        raise _lost(self._path, "the compressed data is truncated")
                    return False
            self._begun = True
            try:
                self._ready = self._inflate.decompress(rest, _PIECE)
            except zlib.error as error:
                raise _lost(self._path, str(error)) from None
        return True


def _lost(path: AnyPath, what: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"{os.fsdecode(path)}: {what}")


def is_pipe(path: AnyPath) -> bool:
    """Returns whether the bytes of a file may still have to be written by another program."""
    try:
        return not stat.S_ISREG(os.stat(_path(path)).st_mode)
    except OSError:
        return False


def open_source(path: AnyPath, compression: str = "", as_available: bool = False) -> tuple[Source, Any]:
    """Opens a file for reading; returns the stream of its bytes, and the file to close.

    as_available: a pipe gives the bytes that it has, instead of waiting for as many as are read
    """
    if compression not in TFRecordOptions.compression_type_map.values():
        raise invalid(f"unknown compression: {compression!r}")
    with _typed_errors(path):
        file = open(_path(path), "rb")  # noqa: SIM115
    source: Source = _Available(file) if as_available and is_pipe(path) else file
    return (_Inflated(source, path, compression) if compression else source), file


def _exactly(source: Source, size: int) -> bytes:
    """Returns `size` bytes, or fewer at the end; a wrong length allocates no memory."""
    if size <= _PIECE:
        return source.read(size)
    pieces, missing = [], size
    while missing > 0:
        piece = source.read(min(missing, _PIECE))
        if not piece:
            break
        pieces.append(piece)
        missing -= len(piece)
        require_proportion(source, size - missing)
    return b"".join(pieces)


def records_of(path: AnyPath, compression: str = "") -> Iterator[tuple[int, bytes]]:
    """Yields the records of a file, each with its offset."""
    source, file = open_source(path, compression)
    with file, _typed_errors(path):
        position = 0
        while header := source.read(_HEADER.size):
            if len(header) < _HEADER.size:
                raise _lost(path, f"truncated record at {position}")
            length, checksum = _HEADER.unpack(header)
            if checksum != masked_crc32c(header[:8]):
                raise _lost(path, f"corrupted record at {position}")
            data = _exactly(source, length)
            footer = source.read(_FOOTER.size)
            if len(data) < length or len(footer) < _FOOTER.size:
                raise _lost(path, f"truncated record at {position}")
            if _FOOTER.unpack(footer)[0] != masked_crc32c(data):
                raise _lost(path, f"corrupted record at {position}")
            yield position, data
            position += _HEADER.size + length + _FOOTER.size
