"""Frames: the messages of the data plane, and the values of a step as bytes.

A frame is a header of fixed size, a description, and the bytes of the values that the description lists. Large values
for a task on the same host are not in the frame: they are in the sender's slab, and the description has their offsets.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from math import prod
from typing import Any, Protocol

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.cluster.distributed.limits import MAX_DEPTH, MAX_ERROR, MAX_MESSAGE, MAX_RANK, MAX_VALUES, VALUE
from thalweg._src.cluster.distributed.receive_buffers import BUFFERS, LARGE
from thalweg._src.runtime.kernels.optional import OptionalValue
from thalweg._src.runtime.kernels.types import from_numpy
from thalweg._src.runtime.resources.swap import SwappedTensor

VERSION = 2
# kind, version, position in the stream, number of values, bytes of the description, step, bytes of values
HEADER = struct.Struct("<BBHIIQQ")
POSITIONS = 1 << 16  # after which positions start again
SLAB_BYTES = 1 << 16  # values of at least this size go through the slab

_VALUE = struct.Struct("<BBHQ")  # encoding, type, number of dimensions, bytes
_OFFSET = struct.Struct("<Q")
_TYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.bool, torch.complex64, torch.complex128),
    *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64),
)
_ALIGNMENT = 16  # of the largest type
_NUMBERS = {dtype: number for number, dtype in enumerate(_TYPES)}


class FrameKind(IntEnum):
    """What a frame says."""

    HELLO = 1
    RUN_PARTITIONS = 2  # master to worker: run the registered partitions of a step
    RUN_STEP = 3  # client to master: run a prepared step
    DONE = 4
    FAILED = 5
    TENSOR = 6
    ABORT = 7
    PING = 8
    RELEASE = 9  # blocks of the receiver's slab that the sender no longer reads
    END = 10  # master to client: a partial run is over
    OFFER = 11  # a tensor that the sender keeps for now
    WANT = 12  # asks for an offered tensor
    WANTED = 13  # the tensor that was asked for
    CONSUMED = 14  # bytes of tensors that the sender of this frame has consumed
    PONG = 15  # on a channel: the answer to a PING, after the answers to all requests before it


class Encoding(IntEnum):
    """How a value is in a frame."""

    BYTES = 0
    STRINGS = 1
    SLAB = 2
    NONE = 3
    LIST = 4
    OPTIONAL = 5


class BytesSource(Protocol):
    """Where the bytes of values come from: a connection."""

    def read_into(self, buffer: memoryview) -> None:
        """Fills a buffer."""

    def skip(self, size: int) -> None:
        """Drops bytes."""


class TooLarge(ValueError):
    """A value that is larger than this task takes; all bytes of its frame were read."""


Put = Callable[[torch.Tensor], int | None]  # copies bytes to the slab, and returns their offset if there is room
View = Callable[[int, int], np.ndarray[Any, Any]]  # returns bytes of the sender's slab by offset and size


def pack(values: Sequence[Any], put: Put | None = None) -> tuple[bytes, list[Any]]:
    """Returns the description of some values, and the buffers that follow it."""
    described: list[bytes] = []
    buffers: list[Any] = []
    for value in values:
        _pack_value(value, put, described, buffers)
    return b"".join(described), buffers


def _pack_value(value: Any, put: Put | None, described: list[bytes], buffers: list[Any], depth: int = 0) -> None:
    if isinstance(value, torch.Tensor):
        _pack_tensor(value, put, described, buffers)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        _pack_strings(value, described, buffers)
    elif value is None:
        described.append(_VALUE.pack(Encoding.NONE, 0, 0, 0))
    elif isinstance(value, tuple) and depth < MAX_DEPTH:
        elements = list(_elements(value))
        described.append(_VALUE.pack(Encoding.LIST, 0, 0, len(elements)))
        for element in elements:
            _pack_value(element, put, described, buffers, depth + 1)
    elif isinstance(value, OptionalValue):
        described.append(_VALUE.pack(Encoding.OPTIONAL, value.components is not None, 0, len(value.types)))
        described += [_OFFSET.pack(dtype.as_datatype_enum) for dtype in value.types]
        for component in value.components or ():
            _pack_value(component, put, described, buffers, depth + 1)
    else:
        raise errors.UnimplementedError(
            None, None, f"a value of type {type(value).__name__} cannot be sent to another task"
        )


def _elements(value: Any) -> Iterator[Any]:
    """Returns the elements of a tensor list, which is a pair of the list before and the last element."""
    elements = []
    while value:
        value, element = value
        elements.append(element.value() if isinstance(element, SwappedTensor) else element)
    return reversed(elements)


def _pack_tensor(value: torch.Tensor, put: Put | None, described: list[bytes], buffers: list[Any]) -> None:
    if not value.is_cpu:
        value = value.cpu()
    size, rank = value.nbytes, value.dim()
    number = _NUMBERS[value.dtype]
    offset = None
    if put is not None and size >= SLAB_BYTES:
        offset = put(_bytes(value))
    encoding = Encoding.BYTES if offset is None else Encoding.SLAB
    described.append(_VALUE.pack(encoding, number, rank, size))
    if rank:
        described.append(struct.pack(f"<{rank}Q", *value.shape))
    if offset is not None:
        described.append(_OFFSET.pack(offset))
    elif size:
        buffers.append(_bytes(value).numpy())


def _bytes(value: torch.Tensor) -> torch.Tensor:
    value = value.resolve_conj().resolve_neg().contiguous()
    return value.as_strided((value.numel(),), (1,)).view(torch.uint8)  # the stride of a single element may be 0


def _pack_strings(value: np.ndarray[Any, Any], described: list[bytes], buffers: list[Any]) -> None:
    items = [item.encode() if isinstance(item, str) else item for item in value.ravel().tolist()]
    if not all(isinstance(item, bytes) for item in items):
        raise errors.UnimplementedError(None, None, "an array of Python objects cannot be sent to another task")
    lengths = struct.pack(f"<{len(items)}Q", *map(len, items))
    content = b"".join([lengths, *items])
    described.append(_VALUE.pack(Encoding.STRINGS, 0, value.ndim, len(content)))
    described.append(struct.pack(f"<{value.ndim}Q", *value.shape))
    if content:
        buffers.append(content)


def unpack(
    source: BytesSource, description: memoryview, count: int, size: int, limit: int, view: View | None = None
) -> tuple[list[Any], int]:
    """Reads values from a connection; returns them and the number of bytes of the description that they took.

    Raises ValueError for whatever is wrong with them; TooLarge if the connection can still be used.

    size: bytes of all values that follow the description
    limit: bytes that one value may have
    """
    if count > MAX_VALUES:
        raise ValueError(f"{count} values, more than {MAX_VALUES}")
    reader = _Reader(source, description, size, limit, view)
    try:
        values = [reader.read() for _ in range(count)]
    except TooLarge:
        source.skip(reader.left)
        raise
    except struct.error:
        raise ValueError(f"a description of {len(description)} bytes is too short for {count} values") from None
    except (RuntimeError, TypeError, OverflowError, MemoryError) as error:  # shapes that cannot be, or too much memory
        raise ValueError(f"a value cannot be made: {error}") from None
    if reader.left:
        raise ValueError(f"the frame of the values has {reader.left} bytes more")
    return values, reader.position


class _Reader:
    """Reads the values of a frame, each checked against the bytes that are there."""

    def __init__(self, source: BytesSource, description: memoryview, left: int, limit: int, view: View | None) -> None:
        self._source, self._description, self._limit, self._view = source, description, limit, view
        self.position, self.left = 0, left

    def _take(self, format: struct.Struct) -> tuple[Any, ...]:
        values = format.unpack_from(self._description, self.position)
        self.position += format.size
        return values

    def read(self, depth: int = 0) -> Any:
        encoding, number, rank, size = self._take(_VALUE)
        if rank > MAX_RANK or depth > MAX_DEPTH:
            raise ValueError(f"a value of rank {rank} at depth {depth}")
        if size > self._limit:
            raise TooLarge(f"a value of {size} bytes, more than the limit of {self._limit >> 20} MB ({VALUE})")
        shape = self._take(struct.Struct(f"<{rank}Q")) if rank else ()
        if encoding in (Encoding.BYTES, Encoding.STRINGS):
            self.left -= size
            if self.left < 0:
                raise ValueError("the values have more bytes than their frame")
        if encoding == Encoding.BYTES:
            return _read_tensor(self._source, _type(number, shape, size), shape, size)
        if encoding == Encoding.STRINGS:
            return _read_strings(self._source, shape, size)
        if encoding == Encoding.SLAB and self._view is not None:
            (offset,) = self._take(_OFFSET)
            dtype = _type(number, shape, size)
            if offset % _ALIGNMENT:
                raise ValueError(f"a value at offset {offset} of a slab is not aligned")
            return _typed(from_numpy(self._view(offset, size), dtypes.uint8), dtype, shape)
        if encoding == Encoding.NONE:
            return None
        if size * _VALUE.size > len(self._description) - self.position:
            raise ValueError(f"a value of {size} parts in a description of {len(self._description)} bytes")
        if encoding == Encoding.LIST:
            elements: tuple[Any, ...] = ()
            for _ in range(size):
                elements = (elements, self.read(depth + 1))
            return elements
        if encoding == Encoding.OPTIONAL:
            types = tuple(dtypes.as_dtype(self._take(_OFFSET)[0]) for _ in range(size))
            return OptionalValue(types, tuple(self.read(depth + 1) for _ in types) if number else None)
        raise ValueError(f"unknown encoding {encoding} of a value")


def _type(number: int, shape: Sequence[int], size: int) -> torch.dtype:
    if number >= len(_TYPES):
        raise ValueError(f"unknown type {number} of a value")
    dtype = _TYPES[number]
    if prod(shape) * dtype.itemsize != size:
        raise ValueError(f"a value of shape {tuple(shape)} and type {dtype} cannot have {size} bytes")
    return dtype


def _read_tensor(source: BytesSource, dtype: torch.dtype, shape: Sequence[int], size: int) -> torch.Tensor:
    content = torch.empty(size, dtype=torch.uint8) if size < LARGE else torch.from_numpy(BUFFERS.take(size))
    if size:
        source.read_into(memoryview(content.numpy()))  # type: ignore[arg-type]
    return _typed(content, dtype, shape)


def _typed(content: torch.Tensor, dtype: torch.dtype, shape: Sequence[int]) -> torch.Tensor:
    """Returns bytes as a tensor; kernels rely on the bytes of a bool to be 0 or 1."""
    return (content.ne(0) if dtype is torch.bool else content.view(dtype)).reshape(shape)


def _read_strings(source: BytesSource, shape: Sequence[int], size: int) -> np.ndarray[Any, Any]:
    count = prod(shape)
    if size < 8 * count:
        raise ValueError(f"{size} bytes cannot hold {count} strings")
    # Takes memory only for bytes that arrive.
    content = memoryview(np.empty(size, np.uint8))  # type: ignore[arg-type]
    if size:
        source.read_into(content)
    lengths = struct.unpack_from(f"<{count}Q", content)
    if sum(lengths) != size - 8 * count:
        raise ValueError("the lengths of strings do not add up to their bytes")
    items, position = np.empty(count, dtype=object), 8 * count
    for index, length in enumerate(lengths):
        items[index] = bytes(content[position : position + length])
        position += length
    return items.reshape(shape)


def pack_error(error: BaseException) -> bytes:
    """Returns an error as the description of a frame."""
    code = error.error_code if isinstance(error, errors.OpError) else errors.UNKNOWN
    message = error.message if isinstance(error, errors.OpError) else f"{type(error).__name__}: {error}"
    node = getattr(error, "op", None)
    name = getattr(node, "name", None) or getattr(error, "node_name", "")
    return json.dumps({"code": code, "message": message[:MAX_MESSAGE], "node": name}).encode()


def unpack_error(description: bytes | memoryview) -> errors.OpError:
    """Returns the error that a frame describes; `node_name` is the node that failed, if one did."""
    if len(description) > MAX_ERROR:
        raise ValueError(f"an error of {len(description)} bytes, more than {MAX_ERROR}")
    try:
        fields = json.loads(bytes(description))
        code, message, node = fields["code"], str(fields["message"])[:MAX_MESSAGE], str(fields["node"])[:MAX_MESSAGE]
        error = errors.exception_type_from_error_code(code)(None, None, message)
    except (ValueError, TypeError, LookupError, RecursionError) as broken:
        raise ValueError(f"an error that cannot be read: {broken!r}"[:MAX_MESSAGE]) from None
    error.node_name, error.is_remote = node, True  # type: ignore[attr-defined]
    return error
