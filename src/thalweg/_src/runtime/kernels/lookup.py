"""Kernels of lookup tables: a table is found or created when the step is compiled, and each step calls its methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import is_fully_defined, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.decoding import parse_number
from thalweg._src.runtime.kernels.files import read_whole
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.strings import as_bytes
from thalweg._src.runtime.kernels.types import TORCH, UNSIGNED, TensorValue
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.tables import KEYS, DenseTable, LookupTable, StaticTable, same_table

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

_VALUES = frozenset(TORCH) - dtypes.QUANTIZED - set(UNSIGNED) | {dtypes.string}
_LINE_NUMBER, _WHOLE_LINE = -1, -2


def _find_table(node: Node, device: Device, kind: type, make: Callable[[str], LookupTable]) -> LookupTable:
    """Returns the table of a handle, created on first use."""
    attrs = node.attrs
    name = attrs["shared_name"] or node.name
    table: LookupTable = device.resources.lookup_or_create(attrs["container"], "table", name, lambda: make(name))
    key, value = attrs["key_dtype"], attrs["value_dtype"]
    if not same_table(table, kind, key, value, attrs.get("value_shape", ())):
        raise invalid(
            errors.describe(
                f"table {name!r} already exists with another type",
                expected=repr(table),
                received=f"{node.type} {key.name} -> {value.name}{show(attrs.get('value_shape', ()))}",
            )
        )
    return table


def _value_shape(node: Node) -> tuple[int, ...]:
    shape = node.attrs.get("value_shape", ())
    if not is_fully_defined(shape):
        raise invalid(f"value_shape {show(shape)} is not fully defined")
    return tuple(shape)


@kernel("HashTableV2", devices=("CPU",), key_dtype=KEYS, value_dtype=_VALUES)
def bind_static(node: Node, device: Device) -> Constant:
    key, value = node.attrs["key_dtype"], node.attrs["value_dtype"]
    return Constant(_find_table(node, device, StaticTable, lambda name: StaticTable(name, key, value)))


@kernel("MutableHashTableV2", "MutableHashTableOfTensorsV2", devices=("CPU",), key_dtype=KEYS, value_dtype=_VALUES)
def bind_mutable(node: Node, device: Device) -> Constant:
    key, value, shape = node.attrs["key_dtype"], node.attrs["value_dtype"], _value_shape(node)
    return Constant(_find_table(node, device, LookupTable, lambda name: LookupTable(name, key, value, shape)))


@kernel("MutableDenseHashTableV2", devices=("CPU",), key_dtype=KEYS, value_dtype=_VALUES)
def bind_dense(node: Node, device: Device) -> Function:
    attrs, shape = node.attrs, _value_shape(node)
    buckets, load = attrs["initial_num_buckets"], attrs["max_load_factor"]
    if buckets < 4 or buckets & (buckets - 1):
        raise invalid(f"initial_num_buckets is {buckets}, expected a power of 2, at least 4")
    if not 0 < load < 1:
        raise invalid(f"max_load_factor is {load}, expected 0 < max_load_factor < 1")

    def handle(empty: torch.Tensor, deleted: torch.Tensor) -> LookupTable:
        def make(name: str) -> LookupTable:
            one = tuple(empty.shape)
            return DenseTable((empty, deleted), name, attrs["key_dtype"], attrs["value_dtype"], shape, one)

        if empty.shape != deleted.shape:
            raise invalid(
                f"the shapes of empty_key and deleted_key differ: {list(empty.shape)} and {list(deleted.shape)}"
            )
        return _find_table(node, device, DenseTable, make)

    return handle


def _require_table(table: object) -> LookupTable:
    if not isinstance(table, LookupTable):
        raise invalid(f"the handle is not a table: {table!r}")
    return table


def _types(node: Node, key: str, value: str = "") -> Callable[[Any], LookupTable]:
    """Returns the check that a handle is a table, with the key and value types of the op."""
    key_dtype, value_dtype = node.attrs[key], node.attrs[value] if value else None

    def check(table: object) -> LookupTable:
        checked = _require_table(table)
        checked.require_types(key_dtype, value_dtype)
        return checked

    return check


@kernel("LookupTableFindV2", devices=("CPU",))
def bind_find(node: Node, device: Device) -> Function:
    check = _types(node, "Tin", "Tout")
    return lambda table, keys, default: check(table).find(keys, default)


@kernel("LookupTableInsertV2", devices=("CPU",))
def bind_insert(node: Node, device: Device) -> Function:
    check = _types(node, "Tin", "Tout")
    return lambda table, keys, values: check(table).insert(keys, values)


@kernel("LookupTableImportV2", devices=("CPU",))
def bind_import(node: Node, device: Device) -> Function:
    check = _types(node, "Tin", "Tout")
    return lambda table, keys, values: check(table).replace(keys, values)


@kernel("LookupTableRemoveV2", devices=("CPU",))
def bind_remove(node: Node, device: Device) -> Function:
    check = _types(node, "Tin")
    return lambda table, keys: check(table).remove(keys)


plain_kernel("LookupTableSizeV2", devices=("CPU",))(lambda table: torch.tensor(_require_table(table).size()))


def _empty(dtype: DType) -> Any:
    return np.empty(0, dtype=object) if dtype is dtypes.string else torch.empty(0, dtype=TORCH[dtype])


@kernel("LookupTableExportV2", devices=("CPU",), Tkeys=KEYS, Tvalues=_VALUES)
def bind_export(node: Node, device: Device) -> Function:
    check = _types(node, "Tkeys", "Tvalues")
    keys, values = _empty(node.attrs["Tkeys"]), _empty(node.attrs["Tvalues"])
    return lambda table: check(table).export(keys, values)


def _static(table: LookupTable) -> StaticTable:
    if not isinstance(table, StaticTable):
        raise invalid(f"table {table.name!r} is mutable and cannot be initialized")
    return table


@kernel("InitializeTableV2", devices=("CPU",))
def bind_initialize(node: Node, device: Device) -> Function:
    check = _types(node, "Tkey", "Tval")

    def initialize(handle: object, keys: TensorValue, values: TensorValue) -> None:
        table = _static(check(handle))
        if keys.shape != values.shape or keys.ndim != 1:
            raise errors.ShapeError("keys and values differ in shape", expected="two vectors of equal length")
        table.fill(table.keys_of(keys), table.values_of(values))

    return initialize


@kernel("InitializeTableFromTextFileV2", devices=("CPU",))
def bind_initialize_from_file(node: Node, device: Device) -> Function:
    reader = _LineReader(node.attrs, device)

    def initialize(handle: object, filename: Array) -> None:
        table = _static(_require_table(handle))
        table.fill(*reader.read(filename.item(), table.key_dtype, table.value_dtype))

    return initialize


class _LineReader:
    """Parses keys and values from the lines of a file."""

    def __init__(self, attrs: dict[str, Any], device: Device) -> None:
        self._device = device
        self._columns = (attrs["key_index"], attrs["value_index"])
        self._limit = attrs["vocab_size"]
        self._offset = attrs["offset"]
        self._delimiter = as_bytes(attrs["delimiter"])
        if len(self._delimiter) != 1:
            raise invalid(f"delimiter is {attrs['delimiter']!r}, expected one character")

    def read(self, path: bytes, *types: DType) -> list[Sequence[Any]]:
        """Returns all keys and all values."""
        for column, dtype, what in zip(self._columns, types, ("key", "value")):
            if column == _LINE_NUMBER and dtype is not dtypes.int64:
                raise invalid(f"line numbers are int64, but the table's {what} type is {dtype.name}")
        lines = self._lines(path)
        return [self._column(column, dtype, lines, path) for column, dtype in zip(self._columns, types)]

    def _lines(self, path: bytes) -> list[bytes]:
        lines = read_whole(path, self._device).replace(b"\r", b"").split(b"\n")
        if not lines[-1]:
            lines.pop()
        name = path.decode("utf-8", "backslashreplace")
        if self._limit >= 0:
            if len(lines) < self._limit:
                raise invalid(f"Invalid vocab_size in {name}: expected {self._limit} but got {len(lines)}")
            lines = lines[: self._limit]
        if not lines:
            raise errors.OutOfRangeError(None, None, f"{name} has no lines")
        if b"" in lines:
            raise invalid(f"Invalid content in {name}: empty line found at position {lines.index(b'')}")
        return lines

    def _column(self, column: int, dtype: DType, lines: list[bytes], path: bytes) -> Sequence[Any]:
        if column == _LINE_NUMBER:
            return range(self._offset, self._offset + len(lines))
        texts = lines if column == _WHOLE_LINE else [self._piece(line, column, i, path) for i, line in enumerate(lines)]
        if dtype is dtypes.string:
            return texts
        numbers = [parse_number(text, dtype) for text in texts]
        if None in numbers:
            line = numbers.index(None)
            shown = texts[line].decode("utf-8", "backslashreplace")
            raise invalid(f"Field {shown} in line {line} is not a valid {dtype.name}.")
        return numbers

    def _piece(self, line: bytes, column: int, number: int, path: bytes) -> bytes:
        pieces = line.split(self._delimiter)
        if column >= len(pieces):
            raise invalid(
                f"Invalid number of columns in {path.decode('utf-8', 'backslashreplace')} line {number} "
                f"({line.decode('utf-8', 'backslashreplace')}) : expected at least {column + 1} got {len(pieces)}"
            )
        return pieces[column]
