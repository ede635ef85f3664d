"""Reading of tensor bundles: whole tensors and slices, directly into their destination, with checksums verified."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats import durable, slices
from thalweg._src.base.formats.bundle import MAPPED, Entry, Shape, data_name, index_name, lost, names_of, read_index
from thalweg._src.base.formats.bundle_data import DataFile
from thalweg._src.base.formats.crc32c import combine, crc32c, mask
from thalweg._src.base.formats.slices import Extent, Slice
from thalweg._src.base.formats.table import Damaged, read_varint
from thalweg._src.base.processes import usable_cores

Array = np.ndarray[Any, Any]
_CHUNK = 1 << 24
_SMALL = 1 << 18
_READERS = 4


class BundleReader:
    """Reads tensors of a checkpoint by name; not thread-safe."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._entries, self._count = read_index(prefix)
        self._names = dict(names_of(self._entries))
        self._files: dict[int, DataFile] = {}
        self._verified: set[bytes] = set()
        self._executor: ThreadPoolExecutor | None = None

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)  # waits for readers before its files are closed
            self._executor = None
        files, self._files = self._files, {}
        for file in files.values():
            file.close()

    def __enter__(self) -> BundleReader:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_files", None):
            self.close()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def names(self) -> list[str]:
        return list(self._names)

    def entry(self, name: str) -> Entry:
        """Returns the entry of a tensor; raises NotFoundError if there is none of that name."""
        if name not in self._names:
            raise errors.NotFoundError(None, None, f"Key {name} not found in checkpoint {self.prefix}")
        return self._names[name]

    def shape(self, name: str, spec: str = "") -> Shape:
        """Returns the shape of a tensor, or of a slice of it, which must belong to a tensor of this shape."""
        entry = self.entry(name)
        return tuple(length for _, length in self._region(name, entry, spec))

    def read(self, name: str, spec: str = "") -> Array:
        """Returns a tensor, or a slice of it, as a new array."""
        entry, shape = self.entry(name), self.shape(name, spec)
        if entry.dtype is dtypes.string:
            return self.strings(name, spec)
        numpy_type = np.dtype(entry.dtype.as_numpy_dtype)
        self._require_room(name, entry)
        result = np.empty(shape, numpy_type)
        self.read_into(name, spec, result.reshape(-1).view(np.uint8))
        return result

    def read_into(self, name: str, spec: str, out: Array) -> None:
        """Fills a byte array with the elements of a tensor, or of a slice of it."""
        entry = self.entry(name)
        region = self._region(name, entry, spec)
        key = _key(name)
        if not entry.slices:
            if region == _whole(entry.shape):
                self._read_checked(key, entry, out)
            else:
                self._read_slice(key, entry, region, _elements(out, entry, region), region)
            return
        target = _elements(out, entry, region)
        for slice_, common in self._pieces(key, entry, region):
            piece_key = slice_.key(key)
            self._read_slice(piece_key, self._entries[piece_key], common, target, region, slice_.within(entry.shape))

    def read_all_into(self, requests: Sequence[tuple[str, str, Array]]) -> None:
        """Fills arrays with many tensors in parallel; a request has the arguments of `read_into`."""
        beside = []
        for name, spec, out in requests:
            entry = self.entry(name)
            if not spec and not entry.slices and _SMALL < entry.size <= _CHUNK:
                self._file(_key(name), entry)  # opened here, since opening is not thread-safe
                beside.append(self._threads().submit(self._read_checked, _key(name), entry, out))
            else:
                self.read_into(name, spec, out)
        for read in beside:
            read.result()

    def mapped(self, name: str, spec: str = "") -> Array | None:
        """Returns the bytes of a large tensor, or of a slice that is stored as one, as a private mapping of the file.

        The result is None if there is no such mapping, or if it would not be aligned to the elements.
        """
        entry, key = self.entry(name), _key(name)
        region = self._region(name, entry, spec)
        if entry.slices:
            keys = [slice_.key(key) for slice_ in entry.slices if slice_.within(entry.shape) == region]
            if not keys:
                return None
            key, entry = keys[0], self._entries[keys[0]]
        elif region != _whole(entry.shape):
            return None
        if entry.dtype is dtypes.string or entry.size < MAPPED or entry.offset % entry.dtype.size:
            return None
        view = self._file(key, entry).map()[entry.offset : entry.offset + entry.size]

        def piece(begin: int) -> tuple[int, int]:
            chunk = view[begin : begin + _CHUNK]
            return crc32c(chunk), len(chunk)

        self._compare(key, entry, self._combined(entry.size, piece))
        return view

    def strings(self, name: str, spec: str = "") -> Array:
        """Returns a string tensor, or a slice of it, as an array of objects."""
        entry = self.entry(name)
        region, key = self._region(name, entry, spec), _key(name)
        if not entry.slices:
            whole = self._read_strings(key, entry)
            return whole[_index(region, _whole(entry.shape))] if region else whole
        pieces = self._pieces(key, entry, region)
        result = np.empty([n for _, n in region], dtype=object)
        for slice_, common in pieces:
            values = self._read_strings(slice_.key(key), self._entries[slice_.key(key)])
            result[_index(common, region)] = values[_index(common, slice_.within(entry.shape))]
        return result

    def verify(self) -> None:
        """Reads everything with bounded memory, and raises DataLossError for the first damaged tensor."""
        for key, entry in self._entries.items():
            if entry.slices:
                if not slices.are_disjoint([slice_.within(entry.shape) for slice_ in entry.slices]):
                    raise lost(index_name(self.prefix), key, "its slices overlap")
            elif entry.dtype is dtypes.string:
                self._read_strings(key, entry)
            else:
                self._verify(key, entry)

    # -- slices -------------------------------------------------------------------------------------------------------

    def _region(self, name: str, entry: Entry, spec: str) -> tuple[Extent, ...]:
        if not spec:
            return _whole(entry.shape)
        try:
            shape, slice_ = slices.parse(spec)
        except ValueError as error:
            raise invalid(f"tensor {name!r}: {error}") from None
        if shape != entry.shape:
            raise invalid(
                f"tensor {name!r} has shape {list(entry.shape)} in the checkpoint {self.prefix}, "
                f"a slice of shape {list(shape)} was requested"
            )
        return slice_.within(shape)

    def _pieces(self, key: bytes, entry: Entry, region: tuple[Extent, ...]) -> list[tuple[Slice, tuple[Extent, ...]]]:
        """Returns the stored slices that a slice consists of, each with the region it contributes."""
        extents = [slice_.within(entry.shape) for slice_ in entry.slices]
        overlaps = [(slice_, slices.overlap(region, e)) for slice_, e in zip(entry.slices, extents)]
        pieces = [(slice_, common) for slice_, common in overlaps if common is not None]
        covered = sum(math.prod(n for _, n in common) for _, common in pieces)
        if not slices.are_disjoint(extents):
            raise lost(index_name(self.prefix), key, "its slices overlap")
        if covered != math.prod(n for _, n in region):
            raise lost(index_name(self.prefix), key, "its slices do not cover the requested region")
        return pieces

    def _read_slice(
        self,
        key: bytes,
        entry: Entry,
        common: tuple[Extent, ...],
        target: Array,
        region: tuple[Extent, ...],
        placed: tuple[Extent, ...] | None = None,
    ) -> None:
        """Copies the region `common` of a stored slice to its location in the target."""
        placed = placed or _whole(entry.shape)
        self._verify(key, entry)
        (start, length), (origin, _) = common[0], placed[0]
        row = math.prod(entry.shape[1:]) * entry.dtype.size
        rows = np.empty((length, *entry.shape[1:]), f"V{entry.dtype.size}")
        file = self._file(key, entry)
        self._fill(key, entry, file, rows.reshape(-1).view(np.uint8), entry.offset + (start - origin) * row)
        target[_index(common, region)] = rows[(slice(None), *_index(common[1:], placed[1:]))]

    # -- bytes --------------------------------------------------------------------------------------------------------

    def _file(self, key: bytes, entry: Entry) -> DataFile:
        """Returns the open data file of an entry, after checking that it contains the entry."""
        path = self._path(entry)
        if entry.shard not in self._files:
            try:
                self._files[entry.shard] = DataFile(path)
            except FileNotFoundError:
                raise lost(path, key, "the data file is missing") from None
            except OSError as error:
                raise durable.typed_error(error, path) from None
        file = self._files[entry.shard]
        if entry.offset + entry.size > file.size:
            raise lost(path, key, f"its bytes end at {entry.offset + entry.size}, the file has {file.size}")
        return file

    def _path(self, entry: Entry) -> str:
        return data_name(self.prefix, entry.shard, self._count)

    def _require_room(self, name: str, entry: Entry) -> None:
        """Checks that the bytes exist before memory is allocated for them."""
        key = _key(name)
        for stored_key in [slice_.key(key) for slice_ in entry.slices] or [key]:
            stored = self._entries[stored_key]
            if stored.size:
                self._file(key, stored)

    def require_room(self, name: str, spec: str = "") -> None:
        """Raises, before memory is allocated for a tensor, if its bytes cannot exist."""
        entry = self.entry(name)
        self._require_room(name, entry)
        if entry.slices:
            self._pieces(_key(name), entry, self._region(name, entry, spec))

    def _fill(self, key: bytes, entry: Entry, file: DataFile, out: Array, offset: int) -> None:
        try:
            count = file.read(out, offset)
        except OSError as error:
            raise durable.typed_error(error, self._path(entry)) from None
        if count < len(out):
            raise lost(self._path(entry), key, "the file was truncated while it was read")

    def _read_checked(self, key: bytes, entry: Entry, out: Array) -> None:
        """Fills an array and verifies the checksum; large reads use several threads."""
        if not entry.size:
            return self._compare(key, entry, 0)
        file = self._file(key, entry)

        def piece(begin: int) -> tuple[int, int]:
            chunk = out[begin : begin + _CHUNK]
            self._fill(key, entry, file, chunk, entry.offset + begin)
            return crc32c(chunk), len(chunk)

        return self._compare(key, entry, self._combined(entry.size, piece))

    def _combined(self, size: int, piece: Callable[[int], tuple[int, int]]) -> int:
        """Returns the checksum of pieces, computed by several threads; piece: from offset to checksum and length."""
        if size <= _CHUNK:
            return piece(0)[0]
        crc = 0
        for checksum, length in self._threads().map(piece, range(0, size, _CHUNK)):
            crc = combine(crc, checksum, length)
        return crc

    def _threads(self) -> ThreadPoolExecutor:
        if self._executor is None:
            threads = min(usable_cores() + 1, _READERS)  # one of them waits for the disk
            self._executor = ThreadPoolExecutor(threads, "reading")
        return self._executor

    def _verify(self, key: bytes, entry: Entry) -> None:
        """Verifies the checksum of an entry once, with bounded memory."""
        if key in self._verified:
            return
        crc = 0
        if entry.size:
            file = self._file(key, entry)
            buffer = np.empty(min(entry.size, _CHUNK), np.uint8)
            for begin in range(0, entry.size, _CHUNK):
                chunk = buffer[: entry.size - begin]
                self._fill(key, entry, file, chunk, entry.offset + begin)
                crc = crc32c(chunk, crc)
        self._compare(key, entry, crc)
        self._verified.add(key)

    def _compare(self, key: bytes, entry: Entry, crc: int) -> None:
        if mask(crc) != entry.crc:
            raise lost(self._path(entry), key, "its bytes do not match the checksum in the index")

    def _read_strings(self, key: bytes, entry: Entry) -> Array:
        file = self._file(key, entry)
        data = np.empty(entry.size, np.uint8)
        self._fill(key, entry, file, data, entry.offset)
        content = data.tobytes()
        count = math.prod(entry.shape)
        try:
            lengths, position = _lengths(content, count)
        except Damaged as error:
            raise lost(self._path(entry), key, str(error)) from None
        crc = crc32c(b"".join(struct.pack("<I" if n < 1 << 32 else "<Q", n) for n in lengths))
        self._compare(key, entry, crc32c(content[position:], crc))
        result = np.empty(count, dtype=object)
        position += 4
        for i, length in enumerate(lengths):
            result[i] = content[position : position + length]
            position += length
        return result.reshape(entry.shape)


def _lengths(content: bytes, count: int) -> tuple[list[int], int]:
    """Returns the lengths of strings, which must add up to the content."""
    lengths: list[int] = []
    position = 0
    for _ in range(count):
        length, position = read_varint(content, position, len(content))
        lengths.append(length)
    if position + 4 + sum(lengths) != len(content):
        raise Damaged("the lengths of its strings do not match its bytes")
    return lengths, position


def _key(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _whole(shape: Shape) -> tuple[Extent, ...]:
    return tuple((0, size) for size in shape)


def _index(region: tuple[Extent, ...], whole: tuple[Extent, ...]) -> tuple[slice, ...]:
    """Returns the index of a region within an array that holds a larger one."""
    return tuple(slice(s - origin, s - origin + n) for (s, n), (origin, _) in zip(region, whole))


def _elements(out: Array, entry: Entry, region: tuple[Extent, ...]) -> Array:
    return out.view(f"V{entry.dtype.size}").reshape([n for _, n in region])
