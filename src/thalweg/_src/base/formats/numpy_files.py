"""NumPy's files from outside: .npy and .npz, whose headers are checked before memory is taken for their arrays."""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import numpy as np

from thalweg._src.base.formats.proportion import is_in_proportion, out_of_proportion
from thalweg._src.base.formats.text import PathLike

Array = np.ndarray[Any, Any]
ReadObjects = Callable[[IO[bytes]], Array]
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_ZIP = b"PK"
_EXPECTED = "expected a file of numpy.savez or numpy.save, received another one"


def load(path: PathLike, read_objects: ReadObjects | None = None) -> Array | Mapping[str, Array]:
    """Returns the array of a file, or those of an archive by name, which are read when they are looked up.

    read_objects: reads the array of objects that follows a header; without it such an array is refused
    """
    with open(path, "rb") as file:
        if file.read(2) != _ZIP:
            file.seek(0)
            return _read(file, os.fsdecode(path), os.path.getsize(path), read_objects)
    return Archive(path, read_objects)


class Archive(Mapping[str, Array]):
    """The arrays of an .npz file by name."""

    def __init__(self, path: PathLike, read_objects: ReadObjects | None = None) -> None:
        self._path, self._read_objects = path, read_objects
        with self._opened() as archive:
            self._sizes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
        stored = os.path.getsize(path)
        if not is_in_proportion(stored, sum(self._sizes.values())):
            raise ValueError(out_of_proportion(path, stored))

    def __getitem__(self, name: str) -> Array:
        if name not in self._sizes:
            raise KeyError(name)
        place = f"{os.fsdecode(self._path)}[{name}]"
        with self._opened() as archive:
            inner = f"{name}.npy"
            with archive.open(inner if inner in archive.namelist() else name) as file:
                try:
                    return _read(file, place, self._sizes[name], self._read_objects)
                except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                    raise ValueError(f"{place}: {error}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self._path)
        except zipfile.BadZipFile as error:
            raise ValueError(f"{os.fsdecode(self._path)}: {_EXPECTED}: {error}") from None


def _read(file: IO[bytes], place: str, size: int, read_objects: ReadObjects | None) -> Array:
    """Returns the array of a stream of some size, if its header claims no more than that."""
    try:
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"its format has version {version}, 1.0 or 2.0 was expected")
        shape, is_fortran, dtype = _HEADERS[version](file)
    except ValueError as error:
        raise ValueError(f"{place}: {_EXPECTED}: {error}") from None
    if dtype.hasobject:
        if read_objects is None:
            raise ValueError(f"{place}: Object arrays, which are pickled, may run code and are refused")
        return read_objects(file)
    if any(length < 0 for length in shape) or math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"{place}: its header claims an array of shape {shape}, which the file is too short for")
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    data = file.read(count * dtype.itemsize)
    if len(data) < count * dtype.itemsize:
        raise ValueError(f"{place}: the file is truncated")
    return np.frombuffer(bytearray(data), dtype, count).reshape(shape, order="F" if is_fortran else "C")
