"""Tensor bundles: the tensors of a checkpoint in data files, with an index of their locations.

TensorFlow's format, version 2: `<prefix>.index` is a table of names, files like `<prefix>.data-00000-of-00001` hold the
concatenated bytes. Every tensor has a checksum. Sizes in a file are checked before memory is
allocated.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats import durable
from thalweg._src.base.formats.bundle_data import DataWriter
from thalweg._src.base.formats.checkpoint_messages import message_class
from thalweg._src.base.formats.crc32c import crc32c, mask
from thalweg._src.base.formats.regular import read_regular
from thalweg._src.base.formats.slices import FULL, Slice
from thalweg._src.base.formats.table import read_table, table, varint

_DATA = re.compile(r"\.data-(\d{5})-of-(\d{5})$")
_LITTLE_ENDIAN = 0
_VERSION = 1
MAPPED = 1 << 16  # bytes; a tensor of this size or more can be mapped, and is aligned for that
_ALIGNMENT = 64
Shape = tuple[int, ...]


@dataclass(slots=True)
class Entry:
    """A tensor in a bundle: its type and shape, and the location of its bytes or the slices it consists of."""

    dtype: DType
    shape: Shape
    shard: int = 0
    offset: int = 0
    size: int = 0
    crc: int = 0  # masked
    slices: tuple[Slice, ...] = ()


def index_name(prefix: str) -> str:
    return f"{prefix}.index"


def data_name(prefix: str, shard: int, count: int) -> str:
    return f"{prefix}.data-{shard:05d}-of-{count:05d}"


def data_files(prefix: str) -> list[tuple[str, int]]:
    """Returns the data files of a prefix, each with the number of shards in its name."""
    folder, base = os.path.split(prefix)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return []
    matches = [(name, _DATA.search(name)) for name in names if name.startswith(f"{base}.data-")]
    return [(os.path.join(folder, name), int(m[2])) for name, m in matches if m and len(name) == len(base) + len(m[0])]


# -- writing ----------------------------------------------------------------------------------------------------------


class BundleWriter:
    """Writes a bundle of one data file, which becomes visible atomically when it is finished.

    `rest` is called between blocks, so that a background writer can yield the CPU.
    """

    def __init__(self, prefix: str, rest: Callable[[], None] | None = None) -> None:
        self._prefix = prefix
        self._entries: dict[bytes, Entry] = {}
        self._temporary = durable.temporary_name(data_name(prefix, 0, 1))
        with durable.typed_errors(prefix):
            os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
            self._data = DataWriter(self._temporary, rest)
        self._unfinished = True

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, exc_type: object, *rest: object) -> None:
        self._data.close()
        if self._unfinished:
            durable.remove_quietly(self._temporary)

    def add(self, name: str, dtype: DType, shape: Shape, data: Any) -> None:
        """Appends a tensor: a buffer of its elements, or the list of its strings."""
        self._add(_key(name), name, dtype, shape, data)

    def add_slice(self, name: str, whole: Shape, slice_: Slice, dtype: DType, data: Any) -> None:
        """Appends a slice of a tensor of the shape `whole`; other slices may follow, here or in other bundles."""
        shape = tuple(length for _, length in slice_.within(whole))
        if slice_.is_whole(whole):
            return self.add(name, dtype, shape, data)
        entry = self._entries.setdefault(_key(name), Entry(dtype, whole))
        if entry.shape != whole or entry.dtype is not dtype or (entry.size and not entry.slices):
            raise invalid(f"slices of {name!r} belong to tensors of different shapes or types")
        entry.slices += (slice_,)
        return self._add(slice_.key(_key(name)), name, dtype, shape, data)

    def _add(self, key: bytes, name: str, dtype: DType, shape: Shape, data: Any) -> None:
        if key in self._entries or not key:
            raise invalid(f"the tensor {name!r} is saved twice or has no name")
        with durable.typed_errors(self._prefix):
            if dtype is not dtypes.string and math.prod(shape) * dtype.size >= MAPPED:
                self._data.append(bytes(-self._data.size % _ALIGNMENT))
            entry = self._entries[key] = Entry(dtype, shape, 0, self._data.size)
            if dtype is dtypes.string:
                crc = self._append_strings(data)
            else:
                crc = self._data.append(data if math.prod(shape) else b"")
        entry.size, entry.crc = self._data.size - entry.offset, mask(crc)

    def _append_strings(self, values: Sequence[bytes]) -> int:
        """Writes lengths, their checksum and the strings; the checksum covers the lengths as fixed-size integers."""
        lengths = [len(value) for value in values]
        crc = crc32c(b"".join(struct.pack("<I" if n < 1 << 32 else "<Q", n) for n in lengths))
        self._data.append(b"".join(map(varint, lengths)))
        crc = self._data.append(struct.pack("<I", mask(crc)), crc)
        return self._data.append(b"".join(values), crc)

    def finish(self) -> None:
        """Makes the bundle durable and visible: the data first, the index last."""
        with durable.typed_errors(self._prefix):
            self._data.finish()
            count = _unused_count(self._prefix, 1)
            data = data_name(self._prefix, 0, count)
            with durable.removed_on_failure(self._temporary, data):
                os.replace(self._temporary, data)
                self._unfinished = False
                _write_index(self._prefix, self._entries, count)


def _unused_count(prefix: str, least: int) -> int:
    """Returns a shard count under which the prefix has no data yet, at least `least`.

    So new data never replaces data that an older index of the same name refers to.
    """
    taken = {count for _, count in data_files(prefix)} if os.path.exists(index_name(prefix)) else set()
    return next(count for count in range(least, least + len(taken) + 1) if count not in taken)


def _write_index(prefix: str, entries: dict[bytes, Entry], count: int) -> None:
    """Writes the index, which makes the bundle visible, and deletes data that the previous index used."""
    header = message_class("BundleHeaderProto")(num_shards=count, endianness=_LITTLE_ENDIAN)
    header.version.producer = _VERSION
    items = sorted((key, _serialized(entry)) for key, entry in entries.items())
    durable.sync_folder(prefix)  # the data file must have its final name before the index refers to it
    durable.write_file(index_name(prefix), table([(b"", header.SerializeToString()), *items]))
    for path, other in data_files(prefix):
        if other != count:
            durable.remove_quietly(path)


def _serialized(entry: Entry) -> bytes:
    message = message_class("BundleEntryProto")(dtype=entry.dtype.as_datatype_enum)
    message.shape.SetInParent()
    for size in entry.shape:
        message.shape.dim.add(size=size)
    for slice_ in entry.slices:
        extents = message.slices.add().extent
        for start, length in slice_.extents:
            extent = extents.add()
            if (start, length) != (0, FULL):
                extent.start, extent.length = start, length
    if not entry.slices:
        message.shard_id, message.offset, message.size = entry.shard, entry.offset, entry.size
        message.crc32c = entry.crc
    return bytes(message.SerializeToString(deterministic=True))


def _key(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


# -- the index --------------------------------------------------------------------------------------------------------


def read_index(prefix: str) -> tuple[dict[bytes, Entry], int]:
    """Returns the entries of a bundle by key, and the number of its data files, after validating them."""
    path = index_name(prefix)
    try:
        content = read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        raise errors.NotFoundError(
            None, None, f"no checkpoint has the prefix {prefix}: there is no file {path}"
        ) from None
    except (OSError, ValueError) as error:
        raise durable.typed_error(error, path) from None
    items = read_table(content, path)
    count = _read_header(items.pop(b"", None), path)
    entries = {key: _parsed(value, key, path, count) for key, value in items.items()}
    _require_apart(entries, path)
    _require_slices(entries, path)
    return entries, count


def shown(key: bytes) -> str:
    """Returns the name of an entry for messages; for a slice, that of its tensor."""
    name = key[1:].split(b"\x00\x01")[0] if key.startswith(b"\x00") else key
    return name.decode("utf-8", "backslashreplace")


def lost(path: str, key: bytes, what: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"{path}: tensor {shown(key)!r}: {what}")


def _read_header(value: bytes | None, path: str) -> int:
    from google.protobuf.message import DecodeError

    if value is None:
        raise errors.DataLossError(
            None, None, f"{path}: the table has no header, so it is not the index of a checkpoint"
        )
    try:
        header = message_class("BundleHeaderProto").FromString(value)
    except DecodeError:
        raise errors.DataLossError(None, None, f"{path}: the header is damaged") from None
    if header.endianness != _LITTLE_ENDIAN:
        raise errors.UnimplementedError(None, None, f"{path}: the checkpoint was written on a big-endian machine")
    if header.version.min_consumer > _VERSION:
        needed = header.version.min_consumer
        raise errors.UnimplementedError(None, None, f"{path}: the checkpoint needs a reader of version {needed}")
    if header.num_shards < 1:
        raise errors.DataLossError(None, None, f"{path}: the header declares {header.num_shards} data files")
    return int(header.num_shards)


def _parsed(value: bytes, key: bytes, path: str, count: int) -> Entry:
    from google.protobuf.message import DecodeError

    try:
        message = message_class("BundleEntryProto").FromString(value)
        dtype = dtypes.as_dtype(message.dtype)
    except (DecodeError, TypeError):
        raise lost(path, key, "its entry is damaged") from None
    shape = tuple(dim.size for dim in message.shape.dim)
    if message.shape.unknown_rank or any(size < 0 for size in shape):
        raise lost(path, key, f"it has the invalid shape {list(shape)}")
    slices = tuple(
        Slice(tuple((e.start, e.length if e.HasField("length") else FULL) for e in proto.extent))
        for proto in message.slices
    )
    entry = Entry(dtype, shape, message.shard_id, message.offset, message.size, message.crc32c, slices)
    if slices:
        return entry
    elements = math.prod(shape)
    if not 0 <= entry.shard < count or entry.offset < 0 or entry.size < 0:
        raise lost(path, key, "it lies outside the data files")
    if dtype.size and dtype is not dtypes.string and entry.size != elements * dtype.size:
        raise lost(path, key, f"{entry.size} bytes do not match {dtype.name}{list(shape)}")
    if dtype is dtypes.string and entry.size < elements + 4:
        raise lost(path, key, f"{entry.size} bytes are too few for {elements} strings")
    return entry


def _require_apart(entries: dict[bytes, Entry], path: str) -> None:
    """Rejects tensors that share bytes: a small file could otherwise expand without bound."""
    placed = sorted((e.shard, e.offset, e.size, key) for key, e in entries.items() if e.size and not e.slices)
    for (shard, offset, size, _), (next_shard, next_offset, _, key) in itertools.pairwise(placed):
        if shard == next_shard and offset + size > next_offset:
            raise lost(path, key, "its bytes overlap those of another tensor")


def _require_slices(entries: dict[bytes, Entry], path: str) -> None:
    for key, entry in entries.items():
        for slice_ in entry.slices:
            try:
                shape = tuple(length for _, length in slice_.within(entry.shape))
            except ValueError as error:
                raise lost(path, key, str(error)) from None
            stored = entries.get(slice_.key(key))
            if stored is None or stored.slices or stored.shape != shape or stored.dtype is not entry.dtype:
                raise lost(path, key, f"its slice {slice_} is missing or has another type")


# -- merging ----------------------------------------------------------------------------------------------------------


def merge_bundles(prefixes: Iterable[str], destination: str) -> None:
    """Merges bundles into one by renaming their data files, and deletes the sources' remaining files."""
    prefixes = list(dict.fromkeys(prefixes))
    merged: dict[bytes, Entry] = {}
    moves: list[str] = []
    for prefix in prefixes:
        entries, count = read_index(prefix)
        for key, entry in entries.items():
            entry.shard += len(moves)
            _merge(merged, key, entry)
        moves += [data_name(prefix, shard, count) for shard in range(count)]
    with durable.typed_errors(destination):
        os.makedirs(os.path.dirname(destination) or ".", exist_ok=True)
        total = _unused_count(destination, len(moves))
        targets = [data_name(destination, shard, total) for shard in range(len(moves))]
        with durable.removed_on_failure(*targets):
            for source, target in zip(moves, targets):
                if os.path.exists(source):  # an empty data file may be missing
                    os.replace(source, target)
            _write_index(destination, merged, total)
        for prefix in prefixes:
            if prefix != destination:
                durable.remove_quietly(index_name(prefix))


def _merge(merged: dict[bytes, Entry], key: bytes, entry: Entry) -> None:
    first = merged.setdefault(key, entry)
    if first is entry:
        return
    if not first.slices or not entry.slices or (first.shape, first.dtype) != (entry.shape, entry.dtype):
        raise invalid(f"the tensor {shown(key)!r} is in several of the bundles")
    first.slices += entry.slices


def names_of(entries: dict[bytes, Entry]) -> Iterator[tuple[str, Entry]]:
    """Yields the tensors of an index by name, sliced ones once."""
    for key, entry in entries.items():
        if not key.startswith(b"\x00"):
            yield key.decode("utf-8", "surrogateescape"), entry
