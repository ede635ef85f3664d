"""Attribute values as integers and buffers, for step graphs on the wire.

A value is a tag and what the tag says follows. Memory of arrays stays outside, in buffers that a message holds
aligned, so that a reader makes views of them.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, as_dtype
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import Shape, TensorShape
from thalweg._src.graph.graph_def_checks import checked_shape
from thalweg._src.graph.ir.step_graph import Region, StepGraph
from thalweg._src.graph.ir.varints import unzigzag, zigzag
from thalweg._src.graph.tensor_proto import RepeatedArray

Array = np.ndarray[Any, Any]

(
    _NONE,
    _FALSE,
    _TRUE,
    _INT,
    _FLOAT,
    _STRING,
    _BYTES,
    _DTYPE,
    _SHAPE,
    _LIST,
    _TUPLE,
    _DICT,
    _ARRAY,
    _STRINGS,
    _SCALAR,
    _ATTR_VALUE,
    _FUNCTION,
    _REGION,
) = range(18)
_MAX_DEPTH = 16  # of lists in lists
_INTEGERS = range(-(1 << 63), 1 << 63)
_SMALL = 1024  # bytes that are copied sooner than viewed
_PLAIN = (bool, int, str, DType, type(None))


class Integers:
    """The integers of a message, read from first to last."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers
        self._position = 0

    def take(self, count: int) -> list[int]:
        """Returns the next integers; raises ValueError if there are fewer."""
        end = self._position + count
        if end > len(self._numbers):
            raise ValueError(f"{count} integers are announced, {len(self._numbers) - self._position} are left")
        numbers = self._numbers[self._position : end]
        self._position = end
        return numbers

    def one(self) -> int:
        """Returns the next integer; raises IndexError if there is none."""
        self._position += 1
        return self._numbers[self._position - 1]

    def count(self, least: int = 1) -> int:
        """Returns how many items follow, of at least so many integers each."""
        count = self.one()
        if count * least > len(self._numbers) - self._position:
            raise ValueError(f"{count} items are announced, {len(self._numbers) - self._position} integers are left")
        return count

    def end(self) -> None:
        """Raises ValueError if integers are left."""
        if self._position < len(self._numbers):
            raise ValueError(f"{len(self._numbers) - self._position} integers are left over")

    def many(self) -> list[int]:
        """Returns the next integers, which their number precedes."""
        return self.take(self.one())


def encode_shape(shape: Shape) -> list[int]:
    """Returns a static shape as integers: 0 for an unknown rank or size, else one more than it is."""
    return [0] if shape is None else [len(shape) + 1, *(0 if size is None else int(size) + 1 for size in shape)]


def decode_shape(integers: Integers) -> Shape:
    """Reads a static shape; raises ValueError for one that no tensor can have."""
    rank = integers.one()
    return None if rank == 0 else checked_shape(tuple([size - 1 if size else None for size in integers.take(rank - 1)]))


class ValueWriter:
    """A table of values and the buffers that they refer to; equal values, and arrays, are written once.

    string: returns the number of a string. graph: returns the number of a graph of a loop
    """

    def __init__(self, string: Callable[[str], int], graph: Callable[[StepGraph], int]) -> None:
        self.codes: list[tuple[int, ...]] = []
        self.buffers: list[Any] = []
        self._string = string
        self._graph = graph
        self._numbers: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """Returns the number of a value in the table; raises TypeError for one that cannot be sent."""
        # Arrays and lists are looked up by identity, which takes no time for large constants, and then by their code,
        # so that equal values are written once. The type is part of the key, since 1, 1.0 and True are equal.
        kind = type(value)
        key: Any = (kind, value) if kind in _PLAIN else id(value)  # nodes keep values alive
        number = self._numbers.get(key)
        if number is None:
            code = tuple(self._code(value, _MAX_DEPTH))
            number = self._numbers.setdefault(code, len(self.codes))
            if number == len(self.codes):
                self.codes.append(code)
            self._numbers[key] = number
        return number

    def _code(self, value: Any, depth: int) -> list[int]:
        match value:
            case None:
                return [_NONE]
            case bool():
                return [_TRUE if value else _FALSE]
            case int() if type(value) is int and value in _INTEGERS:
                return [_INT, zigzag(value)]
            case float() if type(value) is float:
                return [_FLOAT, *struct.unpack("<Q", struct.pack("<d", value))]
            case str() if type(value) is str:
                return [_STRING, self._string(value)]
            case bytes():
                return [_BYTES, self._buffer(value)]
            case DType():
                return [_DTYPE, value.as_datatype_enum]
            case TensorShape():
                return [_SHAPE, *encode_shape(value._dims)]
            case list() | tuple() if type(value) in (list, tuple) and depth:
                code = [_LIST if type(value) is list else _TUPLE, len(value)]
                for item in value:
                    code += self._code(item, depth - 1)
                return code
            case dict() if depth:
                code = [_DICT, len(value)]
                for key, item in value.items():
                    code += self._code(key, depth - 1)
                    code += self._code(item, depth - 1)
                return code
            case np.ndarray() if type(value) in (np.ndarray, RepeatedArray):
                return self._strings(value) if value.dtype == object else self._array(_ARRAY, value)
            case np.generic():
                return self._array(_SCALAR, np.asarray(value))
            case Region():
                return [_REGION, self._graph(value.condition), self._graph(value.body)]
        message = getattr(getattr(value, "DESCRIPTOR", None), "name", "")
        if message in ("AttrValue", "NameAttrList"):
            tag = _ATTR_VALUE if message == "AttrValue" else _FUNCTION
            return [tag, self._buffer(value.SerializeToString())]
        raise TypeError(f"a {type(value).__name__}")

    def _buffer(self, content: Any) -> int:
        self.buffers.append(content)
        return len(self.buffers) - 1

    def _array(self, tag: int, array: Array) -> list[int]:
        dtype = as_dtype(array.dtype)
        if dtype is dtypes.string:
            raise TypeError(f"an array of type {array.dtype}")
        repeated, stored = _once(array)
        stored = stored.astype(stored.dtype.newbyteorder("<"), order="C", copy=False)
        content = stored.tobytes() if stored.nbytes < _SMALL else stored.reshape(-1).view(np.uint8)
        return [tag, dtype.as_datatype_enum, repeated, array.ndim, *array.shape, self._buffer(content)]

    def _strings(self, array: Array) -> list[int]:
        repeated, stored = _once(array)
        items = [_as_bytes(item) for item in stored.ravel().tolist()]
        lengths = [len(content) << 1 | is_text for content, is_text in items]
        buffer = self._buffer(b"".join([content for content, _ in items]))
        return [_STRINGS, repeated, array.ndim, *array.shape, buffer, *lengths]


def _as_bytes(item: Any) -> tuple[bytes, bool]:
    if type(item) is bytes:
        return item, False
    if type(item) is str:
        return item.encode("utf-8", "surrogatepass"), True
    raise TypeError(f"an array of {type(item).__name__}")


def _once(array: Array) -> tuple[int, Array]:
    """Returns the axes along which an array repeats one value in memory, as bits, and the array without repetition."""
    if 0 not in array.strides:
        return 0, array
    repeated = sum(
        1 << axis for axis, (n, stride) in enumerate(zip(array.shape, array.strides)) if n > 1 and not stride
    )
    return repeated, array[tuple(slice(0, 1 if repeated >> axis & 1 else None) for axis in range(array.ndim))]


class ValueReader:
    """Reads values that a `ValueWriter` wrote; raises ValueError or TypeError for anything else.

    buffers: in the order of their first use, which is also the only one: so no few bytes become many values
    graphs: the graphs of loops, which are filled later
    """

    def __init__(
        self, integers: Integers, strings: list[str], buffers: list[memoryview], graphs: list[StepGraph]
    ) -> None:
        self._integers = integers
        self._strings = strings
        self._buffers = buffers
        self._graphs = graphs
        self._used = 0

    def read(self, depth: int = _MAX_DEPTH) -> Any:
        """Reads one value."""
        tag = self._integers.one()
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag in (_LIST, _TUPLE, _DICT):
            return self._items(tag, depth - 1)
        if tag in (_ARRAY, _SCALAR):
            return self._array(tag)
        if tag == _INT:
            return unzigzag(self._integers.one())
        if tag == _FLOAT:
            return struct.unpack("<d", struct.pack("<Q", self._integers.one()))[0]
        if tag == _STRING:
            return self._strings[self._integers.one()]
        if tag == _BYTES:
            return bytes(self._buffer())
        if tag == _DTYPE:
            return DType(self._integers.one())
        if tag == _SHAPE:
            return TensorShape(decode_shape(self._integers))
        if tag == _STRINGS:
            return self._string_array()
        if tag in (_ATTR_VALUE, _FUNCTION):
            return self._message(tag)
        if tag == _REGION and depth == _MAX_DEPTH:
            condition, body = self._integers.take(2)
            return Region(self._graphs[condition], self._graphs[body])
        raise ValueError(f"no value has the tag {tag}")

    def _buffer(self) -> memoryview:
        if self._integers.one() != self._used:
            raise ValueError("a buffer is used twice or not at all")
        self._used += 1
        return self._buffers[self._used - 1]

    def _items(self, tag: int, depth: int) -> Any:
        if depth < 0:
            raise ValueError(f"lists are nested more than {_MAX_DEPTH} levels deep")
        count = self._integers.count()
        if tag == _DICT:
            return {self.read(depth): self.read(depth) for _ in range(count)}
        items = [self.read(depth) for _ in range(count)]
        return items if tag == _LIST else tuple(items)

    def _layout(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Reads the shape of an array and the shape of what is stored of it."""
        repeated, rank = self._integers.take(2)
        shape = tuple(self._integers.take(rank))
        return shape, tuple([1 if repeated >> axis & 1 else size for axis, size in enumerate(shape)])

    def _array(self, tag: int) -> Any:
        dtype = _stored_dtype(self._integers.one())
        shape, stored = self._layout()
        buffer = self._buffer()
        if prod(stored) * dtype.itemsize != len(buffer):
            raise ValueError(f"an array of shape {list(stored)} and type {dtype.name} is in {len(buffer)} bytes")
        array: Array = np.ndarray(stored, dtype, buffer)
        array.flags.writeable = False
        if tag == _SCALAR:
            return array[()]
        return array if shape == stored else np.broadcast_to(array, shape)

    def _string_array(self) -> Array:
        shape, stored = self._layout()
        content = self._buffer().tobytes()
        items: list[bytes | str] = []
        position = 0
        for length in self._integers.take(prod(stored)):
            item = content[position : position + (length >> 1)]
            position += length >> 1
            items.append(item.decode("utf-8", "surrogatepass") if length & 1 else item)
        if position != len(content):
            raise ValueError(f"strings of {position} bytes are in {len(content)} bytes")
        array = object_array(items, stored)
        return array if shape == stored else np.broadcast_to(array, shape)

    def _message(self, tag: int) -> Any:
        from google.protobuf.message import DecodeError
        from tensorboard.compat.proto.attr_value_pb2 import AttrValue, NameAttrList

        message = AttrValue() if tag == _ATTR_VALUE else NameAttrList()
        try:
            message.ParseFromString(self._buffer().tobytes())
        except DecodeError as error:
            raise ValueError(f"a protocol message cannot be parsed: {error}") from None
        return message


_CONSTANTS = {_NONE: None, _FALSE: False, _TRUE: True}


@functools.cache
def _stored_dtype(number: int) -> np.dtype[Any]:
    """Returns NumPy's type of an array by the number of its type; raises TypeError if there is none."""
    if number == dtypes.string.as_datatype_enum:
        raise TypeError("an array of strings has a tag of its own")
    dtype: np.dtype[Any] = np.dtype(DType(number).as_numpy_dtype)
    return dtype.newbyteorder("<")
