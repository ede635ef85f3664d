"""TFRecord format: byte strings, each framed by its length and the checksums of both."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from thalweg._src.base import errors
from thalweg._src.base.formats.crc32c import masked_crc32c
from thalweg._src.base.formats.regular import open_regular

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")


def framed(data: bytes) -> bytes:
    """Returns a record with its frame."""
    length = struct.pack("<Q", len(data))
    return b"".join([length, _FOOTER.pack(masked_crc32c(length)), data, _FOOTER.pack(masked_crc32c(data))])


def read_records(path: str) -> Iterator[bytes]:
    """Yields the records of a file; a truncated or damaged one raises DataLossError."""
    if not os.path.exists(path):
        raise errors.NotFoundError(None, None, f"{path}; No such file or directory")
    with open(open_regular(path), "rb") as file:
        position = 0
        while header := file.read(_HEADER.size):
            if len(header) < _HEADER.size:
                raise _lost(path, position, "truncated record")
            length, checksum = _HEADER.unpack(header)
            if checksum != masked_crc32c(header[:8]):
                raise _lost(path, position, "corrupted record")
            end = position + _HEADER.size + length + _FOOTER.size
            if end > os.fstat(file.fileno()).st_size:
                raise _lost(path, position, "truncated record")
            data = file.read(length)
            if _FOOTER.unpack(file.read(_FOOTER.size))[0] != masked_crc32c(data):
                raise _lost(path, position, "corrupted record")
            yield data
            position = end


def _lost(path: str, position: int, what: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"{what} at {position} in {path}")
