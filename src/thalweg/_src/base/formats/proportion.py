"""Proportion: how much a compressed file may be unpacked to, so that a small file does not fill memory or the disk."""

from __future__ import annotations

import gzip
import os
import zlib

from thalweg._src.base.formats.text import AnyPath

ALWAYS = 1 << 28  # bytes that any file may be unpacked to
RATIO = 100  # bytes for each byte of a file, beyond those
_PIECE = 1 << 20


def is_in_proportion(stored: int, unpacked: int) -> bool:
    """Returns whether a file of a number of bytes may be unpacked to another one."""
    return unpacked <= ALWAYS + RATIO * stored


def out_of_proportion(path: AnyPath, stored: int) -> str:
    """Returns the message of an error about a file that is unpacked to too many bytes."""
    return (
        f"{os.fsdecode(path)}: its {stored} bytes are unpacked to more than {ALWAYS + RATIO * stored}, which is "
        "refused\n  hint: unpack it with another program if you know where it comes from"
    )


def read_gzip(path: AnyPath) -> bytes:
    """Returns the content of a file that gzip has compressed."""
    stored, pieces, size = os.path.getsize(path), [], 0
    try:
        with gzip.open(path) as file:
            while piece := file.read(_PIECE):
                size += len(piece)
                if not is_in_proportion(stored, size):
                    raise ValueError(out_of_proportion(path, stored))
                pieces.append(piece)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{os.fsdecode(path)}: expected a file of gzip, received another one: {error}") from None
    return b"".join(pieces)
