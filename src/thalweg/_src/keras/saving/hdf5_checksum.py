"""The checksum of an HDF5 file, an attribute of the files that this package writes.

It is the CRC-32C of the bytes of the file, with zeros in place of its own digits, and stands near the start. So it is
found and compared before HDF5 interprets a byte, which damaged files can keep busy for ever. Files of other programs
have none, and other programs ignore it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from thalweg._src.base.formats.crc32c import crc32c
from thalweg._src.base.formats.regular import require_regular
from thalweg._src.base.formats.text import PathLike
from thalweg._src.keras.saving.hdf5_contents import h5py, open_file

_KEY = "thalweg_checksum"
_MARK, _ZEROS = b"thalweg file crc32c ", b"0" * 8
_START = 1 << 16  # bytes of a file in which the checksum is
_PIECE = 1 << 24


class ChangedFileError(ValueError):
    """An HDF5 file is not as it was when this package wrote it."""

    def __init__(self) -> None:
        super().__init__(
            "the HDF5 file is not as it was written: its checksum is another one. Another program has changed it, or "
            "it is damaged\n  hint: pass strict=False to tf.keras.models.load_model or Model.load_weights to load it "
            "as it is, and save the model again"
        )


@contextmanager
def created(path: PathLike) -> Iterator[Any]:
    """A context with a new HDF5 file, which gets its checksum at the end."""
    with h5py().File(path, "w") as file:
        file.attrs[_KEY] = np.bytes_(_MARK + _ZEROS)
        yield file
    with open(path, "r+b") as written:
        place = _place(written)
        digits = _digits(written, place)
        written.seek(place)
        written.write(digits)


def opened(path: PathLike, strict: bool) -> Any:
    """Returns an HDF5 file, opened for reading; strict: its checksum is compared if it has one."""
    require_regular(path)
    if strict:
        _require_unchanged(path)
    return open_file(path)


def _require_unchanged(path: PathLike) -> None:
    with open(path, "rb") as file:
        place = _place(file)
        if place < len(_MARK):
            return
        file.seek(place)
        if file.read(len(_ZEROS)) != _digits(file, place):
            raise ChangedFileError


def _place(file: BinaryIO) -> int:
    """Returns where the digits of the checksum are, less than the length of its mark if there are none."""
    file.seek(0)
    return file.read(_START).find(_MARK) + len(_MARK)


def _digits(file: BinaryIO, place: int) -> bytes:
    """Returns the checksum of a file, with zeros at a place."""
    file.seek(0)
    crc = crc32c(_ZEROS, crc32c(file.read(place)))
    file.seek(len(_ZEROS), os.SEEK_CUR)
    while piece := file.read(_PIECE):
        crc = crc32c(piece, crc)
    return b"%08x" % crc
