"""Serialization of a pipeline's position: a tree of plain values and tensors, parsed without trusting the input."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.formats.objects import object_array
from thalweg._src.runtime.kernels.types import from_numpy, to_read

_MAGIC = b"thalweg position 1\n"
_LENGTH = struct.Struct("<q")
_REAL = struct.Struct("<d")
_DEEPEST = 200
Convert = Callable[[Any], Any]


def encode(tree: object, tree_of: Convert | None = None) -> bytes:
    """Serializes a tree of None, numbers, bytes, strings, lists, tuples, dictionaries, arrays and tensors.

    tree_of: returns a tree that represents any other value.
    """
    pieces: list[bytes] = [_MAGIC]
    _write(tree, pieces.append, tree_of)
    return b"".join(pieces)


def _write(value: object, put: Callable[[bytes], None], tree_of: Convert | None) -> None:
    if value is None or isinstance(value, bool):
        put({None: b"n", True: b"t", False: b"f"}[value])
    elif isinstance(value, int):
        _put_bytes(b"i", str(value).encode(), put)
    elif isinstance(value, float):
        put(b"r" + _REAL.pack(value))
    elif isinstance(value, bytes):
        _put_bytes(b"b", value, put)
    elif isinstance(value, str):
        _put_bytes(b"s", value.encode("utf-8", "surrogateescape"), put)
    elif isinstance(value, list | tuple):
        put((b"l" if isinstance(value, list) else b"u") + _LENGTH.pack(len(value)))
        for item in value:
            _write(item, put, tree_of)
    elif isinstance(value, dict):
        put(b"d" + _LENGTH.pack(len(value)))
        for key, item in value.items():
            _write(key, put, tree_of)
            _write(item, put, tree_of)
    elif hasattr(value, "ndim") or tree_of is None:
        _write_array(value, put)
    else:
        put(b"e")
        _write(tree_of(value), put, tree_of)


def _put_bytes(tag: bytes, data: bytes, put: Callable[[bytes], None]) -> None:
    put(tag + _LENGTH.pack(len(data)))
    put(data)


def _write_array(value: Any, put: Callable[[bytes], None]) -> None:
    if isinstance(value, np.ndarray) and value.dtype == object:
        put(b"o")
        _write(list(value.shape), put, None)
        _write(value.ravel().tolist(), put, None)
        return
    array = to_read(value)
    put(b"a" if isinstance(value, np.ndarray) else b"x")
    _write(dtypes.as_dtype(array.dtype).name, put, None)
    _write(list(array.shape), put, None)
    _put_bytes(b"b", np.ascontiguousarray(array).tobytes(), put)


class _PositionReader:
    """Parses the output of `encode`; any other input is an error."""

    def __init__(self, data: bytes, from_tree: Convert | None) -> None:
        self._data = data
        self._from_tree = from_tree
        self._at = 0

    def take(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._data):
            raise _corrupt("it is truncated")
        self._at += size
        return self._data[self._at - size : self._at]

    def length(self) -> int:
        length: int = _LENGTH.unpack(self.take(8))[0]
        if length < 0 or length > len(self._data) - self._at:
            raise _corrupt("a length is wrong")
        return length

    def read(self, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise _corrupt("it is nested too deeply")
        tag = self.take(1)
        if tag in b"ntf":
            return {b"n": None, b"t": True, b"f": False}[tag]
        if tag == b"i":
            return int(self.take(self.length()))
        if tag == b"r":
            return _REAL.unpack(self.take(8))[0]
        if tag == b"b":
            return self.take(self.length())
        if tag == b"s":
            return self.take(self.length()).decode("utf-8", "surrogateescape")
        if tag in b"lu":
            items = [self.read(depth + 1) for _ in range(self.length())]
            return items if tag == b"l" else tuple(items)
        if tag == b"d":
            return {self.read(depth + 1): self.read(depth + 1) for _ in range(self.length())}
        if tag == b"e" and self._from_tree is not None:
            return self._from_tree(self.read(depth + 1))
        return self._array(tag, depth)

    def _array(self, tag: bytes, depth: int) -> Any:
        if tag == b"o":
            shape, items = self.read(depth + 1), self.read(depth + 1)
            return object_array(items, shape)
        if tag not in b"ax":
            raise _corrupt(f"unknown tag {tag!r}")
        dtype, shape, data = (self.read(depth + 1) for _ in range(3))
        dtype = dtypes.as_dtype(dtype)
        array = np.frombuffer(data, dtype.as_numpy_dtype).reshape(shape).copy()
        return array if tag == b"a" else from_numpy(array, dtype)


def decode(data: bytes, from_tree: Convert | None = None) -> Any:
    """Parses a serialized tree; from_tree: the inverse of `tree_of`."""
    reader = _PositionReader(data, from_tree)
    if reader.take(min(len(_MAGIC), len(data))) != _MAGIC:
        raise _corrupt("its first bytes are wrong")
    try:
        tree = reader.read()
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise _corrupt(str(error)) from None
    if reader._at != len(data):
        raise _corrupt("it has trailing data")
    return tree


def _corrupt(why: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"the saved position of an iterator is corrupt: {why}")
