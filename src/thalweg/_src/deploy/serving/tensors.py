"""Arrays as the tensors of requests and responses, in the form that clients of TensorFlow Serving read and write."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.formats.message_types import Message
from thalweg._src.base.formats.objects import object_array
from thalweg._src.graph.tensor_proto import constant_array, write_values

Array = np.ndarray[Any, Any]
MAX_BYTES = 1 << 28  # of one tensor: a short message may stand for a large tensor, whose last value it repeats


def read_tensor(name: str, tensor: Message) -> Array:
    """Returns the array that a TensorProto of a request or a response holds."""
    try:
        array = constant_array(tensor)
    except (TypeError, ValueError) as error:
        raise errors.invalid(f"{name!r} is not a valid tensor: {error}") from None
    if array.nbytes > max(MAX_BYTES, 2 * tensor.ByteSize()):
        raise errors.invalid(f"{name!r} has {array.nbytes} bytes, more than its message holds and than {MAX_BYTES}")
    return array


def write_tensor(array: Array, tensor: Message) -> None:
    """Writes an array into a TensorProto, with typed values, which clients may read without TensorFlow."""
    write_values(array, dtypes.as_dtype(array.dtype), tensor)


def as_array(value: Any) -> Array:
    """Returns what a program gives for a tensor as an array; text becomes bytes."""
    first = value
    while isinstance(first, list | tuple) and first:
        first = first[0]
    array = np.asarray(value, object if isinstance(first, str | bytes) else None)  # others would lose final zeros
    if array.dtype.kind in "US":
        array = array.astype(object)
    if array.dtype == object:
        flat = [item.encode() if isinstance(item, str) else item for item in array.reshape(-1).tolist()]
        if not all(isinstance(item, bytes) for item in flat):
            raise TypeError(f"a tensor has numbers or strings of equal shape, received {value!r:.100}")
        array = object_array(flat, array.shape)
    return array
