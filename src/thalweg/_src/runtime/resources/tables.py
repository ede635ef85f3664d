"""Lookup tables: maps from keys to values that operations share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import Shape, compatible, show

Value = Any  # a torch.Tensor; for strings a NumPy array of objects
Entry = Any  # a Python number or bytes; a tensor or array where a value has dimensions


class LookupTable:
    """A map from keys to values of one type and shape each, guarded by a lock."""

    def __init__(
        self,
        name: str,
        key_dtype: DType,
        value_dtype: DType,
        value_shape: tuple[int, ...] = (),
        key_shape: tuple[int, ...] = (),
    ) -> None:
        self.name = name
        self.key_dtype = key_dtype
        self.value_dtype = value_dtype
        self.key_shape = key_shape
        self.value_shape = value_shape
        self._entries: dict[Any, Entry] = {}
        self._lock = threading.Lock()
        self.is_initialized = True

    # Conversion between tensors and dictionary entries.

    def _keys(self, keys: Value) -> list[Any]:
        """Returns keys as dictionary keys: numbers, bytes, or tuples of them."""
        rank = len(self.key_shape)
        if rank == 0:
            return keys.reshape(-1).tolist()  # type: ignore[no-any-return]
        if tuple(keys.shape[keys.ndim - rank :]) != self.key_shape:
            raise invalid(f"Expected shape {show(self.key_shape)} for keys of table {self.name!r}, got {_shape(keys)}")
        count = int(np.prod(keys.shape[: keys.ndim - rank], dtype=np.int64))
        size = int(np.prod(self.key_shape, dtype=np.int64))
        return [tuple(row) for row in keys.reshape(count, size).tolist()]

    def _outer_shape(self, keys: Value) -> tuple[int, ...]:
        return tuple(keys.shape[: keys.ndim - len(self.key_shape)])

    def _values(self, values: Value, count: int, outer: tuple[int, ...]) -> list[Entry]:
        if tuple(values.shape) != outer + self.value_shape:
            expected = show(outer + self.value_shape)
            raise invalid(f"Expected shape {expected} for values of table {self.name!r}, got {_shape(values)}")
        if not self.value_shape:
            return values.reshape(-1).tolist()  # type: ignore[no-any-return]
        return list(_copy(values).reshape(count, *self.value_shape))

    def _as_value(self, entries: Sequence[Entry], outer: tuple[int, ...], like: Value) -> Value:
        """Returns entries as a tensor with the dtype and device of another one."""
        shape = outer + self.value_shape
        if isinstance(like, torch.Tensor):
            if self.value_shape:
                return torch.stack(list(entries)).reshape(shape) if entries else like.new_zeros(shape)
            return torch.tensor(entries, dtype=like.dtype).reshape(shape)
        result = np.empty((len(entries), *self.value_shape), dtype=object)
        for index, entry in enumerate(entries):
            result[index] = entry
        return result.reshape(shape)

    # Operations.

    def require_types(self, key_dtype: DType | None, value_dtype: DType | None) -> None:
        """Raises unless an operation uses the table's own key and value types."""
        for what, asked, dtype in (("key", key_dtype, self.key_dtype), ("value", value_dtype, self.value_dtype)):
            if asked is not None and asked is not dtype:
                raise invalid(f"table {self.name!r} has {what}s of {dtype.name}, it is used with {asked.name}")

    def find(self, keys: Value, default: Value) -> Value:
        """Returns the values of keys, with the default for missing keys."""
        if tuple(default.shape) != self.value_shape:
            raise invalid(
                f"Expected shape {show(self.value_shape)} for the default of table {self.name!r}, got {_shape(default)}"
            )
        missing = default if self.value_shape else default.item()
        names = self._keys(keys)
        with self._lock:
            self._check_ready()
            get = self._entries.get
            entries = [get(key, missing) for key in names]
        return self._as_value(entries, self._outer_shape(keys), default)

    def insert(self, keys: Value, values: Value) -> None:
        """Inserts keys; the last of equal keys takes effect."""
        names = self._keys(keys)
        entries = self._values(values, len(names), self._outer_shape(keys))
        with self._lock:
            self._entries.update(zip(names, entries))

    def replace(self, keys: Value, values: Value) -> None:
        """Replaces the whole contents by these keys and values."""
        names = self._keys(keys)
        entries = self._values(values, len(names), self._outer_shape(keys))
        with self._lock:
            self._entries = dict(zip(names, entries))

    def remove(self, keys: Value) -> None:
        names = self._keys(keys)
        with self._lock:
            for name in names:
                self._entries.pop(name, None)

    def size(self) -> int:
        with self._lock:
            return len(self._entries)

    def export(self, empty_keys: Value, empty_values: Value) -> tuple[Value, Value]:
        """Returns all keys and values as tensors."""
        with self._lock:
            self._check_ready()
            keys, entries = list(self._entries), list(self._entries.values())
        count = (len(keys),)
        if isinstance(empty_keys, torch.Tensor):
            names: Value = torch.tensor(keys, dtype=empty_keys.dtype).reshape(count + self.key_shape)
        else:
            flat = [item for key in keys for item in key] if self.key_shape else keys
            names = object_array(flat, count + self.key_shape)
        return names, self._as_value(entries, count, empty_values)

    def _check_ready(self) -> None:
        """Raises if the table is not initialized."""

    def destroy(self) -> None:
        with self._lock:
            self._entries = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.key_dtype.name} -> {self.value_dtype.name}>"


class StaticTable(LookupTable):
    """A table that is filled once, by its initializer, and read-only afterwards."""

    def __init__(self, name: str, key_dtype: DType, value_dtype: DType) -> None:
        super().__init__(name, key_dtype, value_dtype)
        self.is_initialized = False

    def fill(self, keys: Sequence[Any], values: Sequence[Entry]) -> None:
        """Fills the table; afterwards only an initializer with as many entries is accepted."""
        entries: dict[Any, Entry] = {}
        for key, value in zip(keys, values, strict=True):
            earlier = entries.setdefault(key, value)
            if earlier is not value and earlier != value:
                raise errors.FailedPreconditionError(
                    None,
                    None,
                    f"the key {_show(key)} of table {self.name!r} has two values: {_show(earlier)} and {_show(value)}",
                )
        with self._lock:
            if not self.is_initialized:
                self._entries = entries
                self.is_initialized = True
            elif len(self._entries) != len(keys):
                raise errors.FailedPreconditionError(
                    None, None, f"table {self.name!r} already holds other entries: it can be initialized only once"
                )

    def keys_of(self, keys: Value) -> list[Any]:
        return self._keys(keys)

    def values_of(self, values: Value) -> list[Entry]:
        return self._values(values, len(values), tuple(values.shape))

    def insert(self, keys: Value, values: Value) -> None:
        raise self._read_only("Insert")

    def replace(self, keys: Value, values: Value) -> None:
        """Fills the table, as initializers of TensorFlow 2 do."""
        self.fill(self.keys_of(keys), self.values_of(values))

    def remove(self, keys: Value) -> None:
        raise self._read_only("Remove")

    def _read_only(self, what: str) -> errors.OpError:
        return errors.UnimplementedError(None, None, f"{what} is not supported by table {self.name!r}: it is static")

    def _check_ready(self) -> None:
        if not self.is_initialized:
            raise errors.FailedPreconditionError(
                None,
                None,
                errors.describe(
                    "Table not initialized.",
                    hint=f"run tf.tables_initializer() in this session first, for {self.name!r}",
                ),
            )

    def destroy(self) -> None:
        with self._lock:
            self._entries, self.is_initialized = {}, False


class DenseTable(LookupTable):
    """A mutable table with two reserved keys, for empty and deleted slots, which no entry can have."""

    def __init__(self, reserved: tuple[Value, Value], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._reserved = [self._keys(key)[0] for key in reserved]
        if self._reserved[0] == self._reserved[1]:
            raise invalid(f"empty_key and deleted_key are both {_show(self._reserved[0])}: expected different keys")

    def _keys(self, keys: Value) -> list[Any]:
        result = super()._keys(keys)
        reserved = getattr(self, "_reserved", ())
        for key, what in zip(reserved, ("empty_key", "deleted_key")):
            if key in result:
                raise invalid(f"{_show(key)} is the {what} and cannot be stored or looked up")
        return result


def _shape(value: Value) -> str:
    return show(tuple(value.shape))


def _show(item: object) -> str:
    return item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else str(item)


def _copy(value: Value) -> Value:
    """Returns a copy, so that entries do not change with a variable or a feed."""
    return value.clone() if isinstance(value, torch.Tensor) else value.copy()


def same_table(table: LookupTable, table_type: type, key: DType, value: DType, value_shape: Shape) -> bool:
    """Returns whether an existing table has the properties that another handle of its name asks for."""
    return (
        type(table) is table_type
        and table.key_dtype is key
        and table.value_dtype is value
        and compatible(table.value_shape, value_shape)
    )


KEYS = frozenset((dtypes.int32, dtypes.int64, dtypes.string))
