"""Conversion between NumPy arrays and TensorProto messages."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.base.formats.message_types import Message
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import Shape, TensorShape

Array = np.ndarray[Any, Any]

MAX_RANK = 254  # as in TensorFlow
MAX_BYTES = 1 << 31  # of one constant: what a protocol message can hold
MAX_REPEATED = 1 << 28  # bytes of a constant whose last value is repeated, which needs memory that its message does not

_FIELDS: dict[DType, str] = {
    dtypes.float16: "half_val",
    dtypes.bfloat16: "half_val",
    dtypes.float32: "float_val",
    dtypes.float64: "double_val",
    dtypes.string: "string_val",
    dtypes.complex64: "scomplex_val",
    dtypes.complex128: "dcomplex_val",
    dtypes.int64: "int64_val",
    dtypes.bool: "bool_val",
    dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val",
    **dict.fromkeys((dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint16, dtypes.uint8), "int_val"),
    **dict.fromkeys(dtypes.QUANTIZED, "int_val"),
}
# The representation of elements in the message: bits for the short floats, real and imaginary parts for complex types.
_STORED: dict[DType, Any] = {
    dtypes.float16: np.uint16,
    dtypes.bfloat16: np.uint16,
    dtypes.complex64: np.float32,
    dtypes.complex128: np.float64,
    dtypes.qint8: np.int8,
    dtypes.quint8: np.uint8,
    dtypes.qint16: np.int16,
    dtypes.quint16: np.uint16,
    dtypes.qint32: np.int32,
}


# Types of which TensorFlow writes several values as raw bytes.
_CONTENT = frozenset(
    (
        *(dtypes.float32, dtypes.float64, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64),
        *(dtypes.uint8, dtypes.uint32, dtypes.uint64, *dtypes.QUANTIZED),
    )
)


class RepeatedArray(np.ndarray[Any, Any]):
    """An array made from fewer values than it has elements; its message holds those alone."""

    explicit: Array | None = None


def repeated_array(values: Array, shape: tuple[int, ...]) -> Array:
    """Returns an array of values, of which the last one, or zero, is repeated for further elements.

    One value for all elements stays one value in memory, read-only.
    """
    # A constant of a million zeros is one value in the message, and stays one in memory: strides of zero make every
    # element the same. Where several values precede the repeated one, the array remembers what it came from, so that
    # its message is as small again as the one it was read from.
    count = prod(shape)
    if values.size == count:
        return values.reshape(shape)
    if values.size == 1:
        return np.broadcast_to(values.reshape(()), shape)
    if values.size:
        last = np.full(count - values.size, values.flat[-1], values.dtype)
        array = np.concatenate([values.reshape(-1), last]).reshape(shape)
    else:
        array = np.broadcast_to(np.array(b"", object) if values.dtype == object else np.zeros((), values.dtype), shape)
    result = array.view(RepeatedArray)
    result.explicit = values
    return result


def shape_proto(shape: Shape) -> Any:
    """Returns a shape as a TensorShapeProto."""
    return TensorShape(shape).as_proto()


def array_proto(array: Array, dtype: DType) -> Any:
    """Returns an array as a TensorProto, with the bytes of TensorFlow's `make_tensor_proto`."""
    from tensorboard.compat.proto.tensor_pb2 import TensorProto

    dtype = dtype.base_dtype
    if dtype not in _FIELDS:
        raise TypeError(f"a TensorProto cannot hold values of {dtype.name}")
    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=shape_proto(array.shape))
    explicit = getattr(array, "explicit", None)
    if (
        explicit is None and array.size and not any(array.strides)
    ):  # one value for all elements, as `repeated_array` has it
        explicit = array.reshape(-1)[:1]
    # TensorFlow writes one value, or a repeated one, into the typed field and several as raw bytes; equal bytes keep
    # graphs that both systems write comparable.
    values = np.ascontiguousarray(array if explicit is None else explicit).reshape(-1)
    stored = values.view(_STORED[dtype]) if dtype in _STORED else values
    if explicit is None and values.size > 1 and dtype in _CONTENT:
        proto.tensor_content = stored.astype(stored.dtype.newbyteorder("<"), copy=False).tobytes()
    else:
        getattr(proto, _FIELDS[dtype]).extend(stored.tolist())
    return proto


def content_proto(array: Array, dtype: DType) -> Any:
    """Returns an array as a TensorProto of raw bytes; for strings, all lengths precede the bytes."""
    from tensorboard.compat.proto.tensor_pb2 import TensorProto

    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=shape_proto(array.shape))
    if dtype is dtypes.string:
        items = array.ravel().tolist()
        proto.tensor_content = b"".join([*(_variable_length(len(item)) for item in items), *items])
    else:
        stored = np.ascontiguousarray(array)
        proto.tensor_content = stored.astype(stored.dtype.newbyteorder("<"), copy=False).tobytes()
    return proto


def write_values(array: Array, dtype: DType, proto: Message) -> None:
    """Writes an array into an empty TensorProto, of any descriptor pool, with all its values in the typed field."""
    proto.dtype = dtype.as_datatype_enum
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add().size = size
    if dtype not in _FIELDS:
        raise TypeError(f"a TensorProto cannot hold values of {dtype.name}")
    name = _FIELDS[dtype]
    stored = array.reshape(-1)
    if dtype in _STORED:
        stored = np.ascontiguousarray(stored).view(_STORED[dtype])
    if stored.dtype.kind == "f" and stored.size:  # the bytes of the message are those of the array
        number = proto.DESCRIPTOR.fields_by_name[name].number
        content = np.ascontiguousarray(stored, stored.dtype.newbyteorder("<")).tobytes()
        proto.MergeFromString(bytes([number << 3 | 2]) + _variable_length(len(content)) + content)
    else:
        getattr(proto, name).extend(stored.tolist())


def _variable_length(number: int) -> bytes:
    """Encodes an integer as a varint: seven bits per byte, the last byte below 128."""
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*result, number])


@export("make_ndarray", "contrib.util.make_ndarray")
def MakeNdarray(tensor: Message) -> Array:
    """Returns the array that a TensorProto holds; if there are fewer values than elements, the last one is repeated.

    Args:
        tensor: The TensorProto.
    """
    result = np.asarray(constant_array(tensor))
    return result if result.flags.writeable else result.copy()


def constant_array(tensor: Message) -> Array:
    """Returns the array of a TensorProto, read-only where values are repeated.

    A message of a few bytes cannot fill memory: what it must be expanded to is limited.
    """
    require_members("tensor", tensor, "a TensorProto message", "dtype", "tensor_shape")
    dtype = dtypes.as_dtype(tensor.dtype).base_dtype
    if dtype not in _FIELDS:
        raise TypeError(f"Unsupported tensor type: {dtype.name}")
    shape, count = _shape_of(tensor, dtype.as_numpy_dtype)
    content = tensor.tensor_content
    numbers = 2 if dtype.is_complex else 1
    if dtype is dtypes.string:
        flat = object_array(_split(content, count) if content else list(tensor.string_val))
    else:
        kind = np.dtype(_STORED.get(dtype, dtype.as_numpy_dtype))
        if content:
            # Checked before memory is allocated: the message says how many bytes there are, the shape how many there
            # should be.
            if len(content) != count * numbers * kind.itemsize:
                needed = count * numbers * kind.itemsize
                raise ValueError(f"tensor_content has {len(content)} bytes, its shape {list(shape)} needs {needed}")
            flat = np.frombuffer(content, kind.newbyteorder("<")).astype(kind)
        else:
            flat = _values(getattr(tensor, _FIELDS[dtype]), kind)
            if flat.size % numbers:
                raise ValueError(f"a TensorProto of {dtype.name} holds {flat.size} parts of complex numbers")
        flat = flat.view(dtype.as_numpy_dtype)
    if flat.size > count:
        raise ValueError(f"a TensorProto holds {flat.size} values, its shape has room for {count}")
    # One repeated value takes no memory; several that are filled up take all of it, so that a few bytes could ask for
    # any amount.
    if 1 < flat.size < count and count * flat.itemsize > MAX_REPEATED:
        raise ValueError(f"a TensorProto holds {flat.size} values and repeats the last one {count - flat.size} times")
    return repeated_array(flat, shape)


def _shape_of(tensor: Message, numpy: Any) -> tuple[tuple[int, ...], int]:
    """Returns shape and number of elements, which no message of this size may exceed."""
    if len(tensor.tensor_shape.dim) > MAX_RANK:
        raise ValueError(f"a TensorProto has {len(tensor.tensor_shape.dim)} dimensions, more than {MAX_RANK}")
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    if tensor.tensor_shape.unknown_rank or any(size < 0 for size in shape):
        raise ValueError(f"a TensorProto requires a known shape, got {list(shape)}")
    count = prod(shape)
    if prod(max(size, 1) for size in shape) * np.dtype(numpy).itemsize > MAX_BYTES:
        raise ValueError(f"a TensorProto of shape {list(shape)} has more than {MAX_BYTES} bytes")
    return shape, count


def _values(numbers: Any, kind: Any) -> Array:
    """Returns the values of a typed field, which may be wider than their type."""
    try:
        return np.array(numbers, kind)
    except OverflowError:
        raise ValueError(f"a TensorProto holds a value that does not fit into {kind.name}") from None


def _split(content: bytes, count: int) -> list[bytes]:
    """Splits concatenated strings that are preceded by their lengths as varints."""
    lengths: list[int] = []
    position = 0
    while len(lengths) < count and position < len(content):
        # A varint, least significant bits first.
        length = shift = 0
        while position < len(content):
            byte = content[position]
            length |= (byte & 0x7F) << shift
            position, shift = position + 1, shift + 7
            if byte < 0x80:
                break
        lengths.append(length)
    if len(lengths) < count or position + sum(lengths) != len(content):
        raise ValueError(f"tensor_content does not hold {count} strings")
    values = []
    for length in lengths:
        values.append(content[position : position + length])
        position += length
    return values


make_ndarray = MakeNdarray
