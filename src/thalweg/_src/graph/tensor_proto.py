"""Conversion between NumPy arrays and TensorProto messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src import dtypes
from thalweg._src.dtypes import DType
from thalweg._src.export import export
from thalweg._src.shapes import Shape

Array = np.ndarray[Any, Any]

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


def shape_proto(shape: Shape) -> Any:
    """Returns a shape as a TensorShapeProto."""
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

    if shape is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=-1 if d is None else d) for d in shape])


def array_proto(array: Array, dtype: DType) -> Any:
    """Returns an array as a TensorProto: one typed value if all elements are equal, else raw bytes."""
    from tensorboard.compat.proto.tensor_pb2 import TensorProto

    dtype = dtype.base_dtype
    if dtype not in _FIELDS:
        raise TypeError(f"a TensorProto cannot hold values of {dtype.name}")
    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=shape_proto(array.shape))
    if dtype is dtypes.string:
        proto.string_val.extend(array.ravel().tolist())
        return proto
    stored = np.ascontiguousarray(array).reshape(-1)
    if dtype in _STORED:
        stored = stored.view(_STORED[dtype])
    parts = 2 if dtype.is_complex else 1
    content = stored.astype(stored.dtype.newbyteorder("<"), copy=False).tobytes()
    if (
        content == content[: parts * stored.itemsize] * array.size
    ):  # compares bits: NaN equals itself, -0.0 differs from 0.0
        getattr(proto, _FIELDS[dtype]).extend(stored[:parts].tolist())
    else:
        proto.tensor_content = content
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


def _variable_length(number: int) -> bytes:
    """Encodes an integer as a varint: seven bits per byte, the last byte below 128."""
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*result, number])


@export("make_ndarray", "contrib.util.make_ndarray")
def MakeNdarray(tensor: Any) -> Array:
    """Returns the array that a TensorProto holds; if there are fewer values than elements, the last one is repeated."""
    dtype = dtypes.as_dtype(tensor.dtype).base_dtype
    if dtype not in _FIELDS:
        raise TypeError(f"Unsupported tensor type: {dtype.name}")
    shape = tuple(dim.size for dim in tensor.tensor_shape.dim)
    if tensor.tensor_shape.unknown_rank or any(size < 0 for size in shape):
        raise ValueError(f"a TensorProto requires a known shape, got {list(shape)}")
    count = int(np.prod(shape, dtype=np.int64))
    if dtype is dtypes.string:
        content = tensor.tensor_content
        return _objects(_split(content, count) if content else list(tensor.string_val), count).reshape(shape)
    kind = np.dtype(_STORED.get(dtype, dtype.as_numpy_dtype))
    parts = 2 if dtype.is_complex else 1
    if tensor.tensor_content:
        flat = np.frombuffer(tensor.tensor_content, kind.newbyteorder("<")).astype(kind)
        if flat.size != count * parts:
            raise ValueError(f"tensor_content holds {flat.size} values, its shape {list(shape)} needs {count * parts}")
    else:
        flat = _repeated(np.array(getattr(tensor, _FIELDS[dtype]), kind), count * parts, parts)
    result: Array = flat.view(dtype.as_numpy_dtype).reshape(shape)
    return result


def _split(content: bytes, count: int) -> list[bytes]:
    """Splits concatenated strings that are preceded by their lengths as varints."""
    lengths: list[int] = []
    position = 0
    while len(lengths) < count and position < len(content):
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


def _objects(values: list[bytes], count: int) -> Array:
    result = np.empty(count, dtype=object)
    if len(values) > count:
        raise ValueError(f"string_val holds {len(values)} values, its shape has room for {count}")
    result[:] = values + [values[-1] if values else b""] * (count - len(values))
    return result


def _repeated(values: Array, count: int, parts: int) -> Array:
    if values.size == count:
        return values
    if values.size == 0:
        return np.zeros(count, values.dtype)
    if values.size > count:
        raise ValueError(f"a TensorProto holds {values.size} values, its shape has room for {count}")
    return np.concatenate([values, np.tile(values[-parts:], (count - values.size) // parts)])


make_ndarray = MakeNdarray
