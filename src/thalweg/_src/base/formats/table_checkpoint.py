"""Version 1 checkpoints: each file is an SSTable whose values are the tensors themselves.

The empty key holds the metadata: names, types, shapes and slices; the key of each slice holds its elements. A
checkpoint is a file, or all files that a pattern matches.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats import durable, gfile
from thalweg._src.base.formats.bundle import Entry, Shape, index_name, lost
from thalweg._src.base.formats.bundle_reader import Array, BundleReader
from thalweg._src.base.formats.checkpoint_messages import message_class
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.formats.regular import read_regular
from thalweg._src.base.formats.slices import FULL, Slice
from thalweg._src.base.formats.table import read_table, table

_VERSION = 1
_MAX_BYTES = 1 << 40
_INTEGERS = ("int32", "int16", "int8", "uint8", "uint16", "qint32", "qint16", "qint8", "quint8", "quint16")
# The field of the values and the NumPy type of its elements, two of which form a complex number.
_FIELDS: dict[str, tuple[str, str]] = {
    **{name: ("int_val", name.removeprefix("q")) for name in _INTEGERS},
    "float32": ("float_val", "float32"),
    "float64": ("double_val", "float64"),
    "int64": ("int64_val", "int64"),
    "bool": ("bool_val", "bool"),
    "string": ("string_val", "object"),
    "complex64": ("scomplex_val", "float32"),
    "complex128": ("dcomplex_val", "float64"),
    "float16": ("half_val", "uint16"),
    "bfloat16": ("half_val", "uint16"),
    "uint32": ("uint32_val", "uint32"),
    "uint64": ("uint64_val", "uint64"),
}
# name, type, shape of the whole tensor, slice, elements as bytes or list
Saved = tuple[str, DType, Shape, Slice | None, Any]


def table_files(pattern: str) -> list[str]:
    """Returns the files of a version 1 checkpoint, none if there is no such checkpoint."""
    if os.path.isfile(pattern):
        return [pattern]
    if not any(sign in pattern for sign in "?*["):
        return []
    return sorted(path for path in gfile.glob(pattern) if os.path.isfile(path) and not durable.is_temporary(path))


def open_checkpoint(prefix: str) -> BundleReader:
    """Opens a checkpoint of either version for reading."""
    if os.path.exists(index_name(prefix)):
        return BundleReader(prefix)
    files = table_files(prefix)
    return TableReader(prefix, files) if files else BundleReader(prefix)


# -- reading ----------------------------------------------------------------------------------------------------------


class TableReader(BundleReader):
    """Reads tensors of a version 1 checkpoint, which is held in memory."""

    def __init__(self, prefix: str, files: Sequence[str]) -> None:
        self.prefix = prefix
        self._names: dict[str, Entry] = {}
        self._stored: dict[bytes, tuple[str, bytes]] = {}  # files and values
        self._files, self._executor = {}, None
        for path in files:
            with durable.typed_errors(path):
                content = read_regular(path, _MAX_BYTES)
            values = read_table(content, path)
            self._read_meta(path, values.pop(b"", b""))
            self._stored.update((key, (path, value)) for key, value in values.items())

    def _read_meta(self, path: str, value: bytes) -> None:
        """Merges the metadata of a file; slices of one tensor may be in several files."""
        from google.protobuf.message import DecodeError

        try:
            meta = message_class("SavedTensorSlices").FromString(value).meta
        except DecodeError:
            raise errors.DataLossError(None, None, f"{path}: the list of tensors is damaged") from None
        if meta.versions.min_consumer > _VERSION:
            needed = meta.versions.min_consumer
            raise errors.UnimplementedError(None, None, f"{path}: the checkpoint needs a reader of version {needed}")
        if not meta.tensor:
            raise errors.DataLossError(None, None, f"{path}: the table is not a checkpoint: it lists no tensors")
        for tensor in meta.tensor:
            entry = _entry(tensor, path)
            first = self._names.setdefault(tensor.name, entry)
            if first is not entry:
                if (first.shape, first.dtype) != (entry.shape, entry.dtype):
                    raise lost(path, tensor.name.encode(), "another file has it in another shape or type")
                first.slices += entry.slices

    def read(self, name: str, spec: str = "") -> Array:
        entry = self.entry(name)
        region, key = self._region(name, entry, spec), name.encode("utf-8", "surrogateescape")
        pieces = [
            (self._piece(key, entry, slice_), slice_, common) for slice_, common in self._pieces(key, entry, region)
        ]
        sizes = [length for _, length in region]
        if len(pieces) == 1 and list(pieces[0][0].shape) == sizes:
            return pieces[0][0]
        result = np.empty(sizes, pieces[0][0].dtype)
        for values, slice_, common in pieces:
            origin = slice_.within(entry.shape)
            source = tuple(slice(s - o, s - o + n) for (s, n), (o, _) in zip(common, origin))
            target = tuple(slice(s - o, s - o + n) for (s, n), (o, _) in zip(common, region))
            result[target] = values[source]
        return result

    def _pieces(self, key: bytes, entry: Entry, region: Any) -> Any:
        if len(entry.slices) == 1 and entry.slices[0].is_whole(entry.shape):
            return [(entry.slices[0], region)]  # also for an empty tensor, in which no slice has any
        return super()._pieces(key, entry, region)

    def _piece(self, key: bytes, entry: Entry, slice_: Slice) -> Array:
        """Returns the elements of a stored slice."""
        from google.protobuf.message import DecodeError

        path, value = self._stored.get(slice_.key(key), (self.prefix, b""))
        field, numpy_type = _FIELDS[entry.dtype.name]
        sizes = [length for _, length in slice_.within(entry.shape)]
        try:
            numbers = getattr(message_class("SavedTensorSlices").FromString(value).data.data, field)
        except DecodeError:
            raise lost(path, key, "its value is damaged") from None
        count = math.prod(sizes) * (2 if entry.dtype.is_complex else 1)
        if len(numbers) != count:
            raise lost(path, key, f"{len(numbers)} values do not match {entry.dtype.name}{sizes}")
        try:
            flat = np.fromiter(numbers, numpy_type, count) if numpy_type != "object" else object_array(list(numbers))
        except (OverflowError, ValueError) as error:
            raise lost(path, key, str(error)) from None
        return (flat if numpy_type == "object" else flat.view(entry.dtype.as_numpy_dtype)).reshape(sizes)

    def strings(self, name: str, spec: str = "") -> Array:
        return self.read(name, spec)

    def read_into(self, name: str, spec: str, out: Array) -> None:
        out[:] = np.ascontiguousarray(self.read(name, spec)).reshape(-1).view(np.uint8)

    def mapped(self, name: str, spec: str = "") -> None:
        return None  # its values are encoded

    def read_all_into(self, requests: Sequence[tuple[str, str, Array]]) -> None:
        for name, spec, out in requests:
            self.read_into(name, spec, out)

    def require_room(self, name: str, spec: str = "") -> None:
        self.read(name, spec)  # its values are in memory, and must match its shape

    def verify(self) -> None:
        for name in self._names:
            self.read(name)


def _entry(tensor: Any, path: str) -> Entry:
    key = tensor.name.encode("utf-8", "surrogateescape")
    shape = tuple(dim.size for dim in tensor.shape.dim)
    if tensor.shape.unknown_rank or any(size < 0 for size in shape):
        raise lost(path, key, f"it has the invalid shape {list(shape)}")
    slices = tuple(
        Slice(tuple((e.start, e.length if e.HasField("length") else FULL) for e in proto.extent))
        for proto in tensor.slice
    )
    try:
        dtype = dtypes.as_dtype(tensor.type)
        for slice_ in slices:
            slice_.within(shape)
    except (TypeError, ValueError) as error:
        raise lost(path, key, str(error)) from None
    if dtype.name not in _FIELDS or not slices:
        raise lost(path, key, f"it has the type {dtype.name}" if slices else "it has no slice at all")
    return Entry(dtype, shape, slices=slices)


# -- writing ----------------------------------------------------------------------------------------------------------


def write_table_checkpoint(path: str, tensors: Iterable[Saved]) -> None:
    """Writes a version 1 checkpoint, a file that becomes visible atomically."""
    meta = message_class("SavedTensorSlices")()
    meta.meta.versions.producer = _VERSION
    listed: dict[str, Any] = {}
    items: dict[bytes, bytes] = {}
    for name, dtype, shape, slice_, data in tensors:
        slice_ = slice_ or Slice(((0, FULL),) * len(shape))
        entry = listed.get(name)
        if entry is None:
            entry = listed[name] = meta.meta.tensor.add(name=name, type=dtype.as_datatype_enum)
            entry.shape.SetInParent()
            for size in shape:
                entry.shape.dim.add(size=size)
        elif entry.type != dtype.as_datatype_enum or [dim.size for dim in entry.shape.dim] != list(shape):
            raise invalid(f"slices of {name!r} belong to tensors of different shapes or types")
        key = slice_.key(name.encode("utf-8", "surrogateescape"))
        if key in items:
            raise invalid(f"the tensor {name!r} is saved twice")
        _add_slice(entry.slice.add(), slice_)
        items[key] = _value(name, dtype, slice_, data)
    content = table([(b"", meta.SerializeToString()), *sorted(items.items())])
    with durable.typed_errors(path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        durable.write_file(path, content)


def _add_slice(message: Any, slice_: Slice) -> None:
    message.SetInParent()
    for start, length in slice_.extents:
        extent = message.extent.add()
        if (start, length) != (0, FULL):
            extent.start, extent.length = start, length


def _value(name: str, dtype: DType, slice_: Slice, data: Any) -> bytes:
    if dtype.name not in _FIELDS:
        raise invalid(f"tensor {name!r}: a version 1 checkpoint cannot hold values of {dtype.name}")
    message = message_class("SavedTensorSlices")()
    message.data.name = name
    _add_slice(message.data.slice, slice_)
    field, numpy_type = _FIELDS[dtype.name]
    values = data if numpy_type == "object" else np.frombuffer(memoryview(data).cast("B"), numpy_type).tolist()
    getattr(message.data.data, field).extend(values)
    return bytes(message.SerializeToString())
