"""Arrays as JSON: nested lists of numbers and strings, with `{"b64": ...}` for bytes that are not text."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.deploy.serving.json_text import shown
from thalweg._src.deploy.serving.tensors import Array, strings

_B64 = "b64"
_MAX_RANK = 32  # of strings: what any NumPy takes


def is_bytes(value: Any) -> bool:
    """Returns whether a value stands for bytes."""
    return isinstance(value, dict) and value.keys() == {_B64}


def read_bytes(value: Any) -> bytes:
    """Returns the bytes of a string or of a base64 object."""
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise errors.invalid(f"JSON Value: {shown(value)} is not valid Unicode") from None
    if is_bytes(value) and isinstance(value[_B64], str):
        try:
            return base64.b64decode(value[_B64], validate=True)
        except (binascii.Error, ValueError):
            raise errors.invalid(f"Unable to base64 decode {shown(value)}") from None
    raise errors.invalid(f"JSON Value: {shown(value)} Type: {type(value).__name__} is not of expected type: string")


def read_array(value: Any, dtype: DType, what: str) -> Array:
    """Returns a JSON value as an array of a type; what: the name of the input, for errors."""
    if dtype is dtypes.string:
        flat: list[bytes] = []
        shape = _walk(value, flat, what)
        return strings(flat, shape)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, object)
    number = np.dtype(dtype.as_numpy_dtype)
    kinds = {"f": "iuf", "V": "iuf", "b": "b"}.get(number.kind, "iu")
    if array.dtype.kind not in kinds and not (array.size == 0 and array.dtype != object):
        raise errors.invalid(
            f"{what}: expected numbers of type {dtype.name} in lists of equal lengths, received {shown(value)}"
        )
    if array.dtype.kind in "iu" and number.kind in "iu" and array.size:
        lowest, highest = int(array.min()), int(array.max())
        if lowest < np.iinfo(number).min or highest > np.iinfo(number).max:
            raise errors.invalid(f"{what}: {lowest} to {highest} do not fit into {dtype.name}")
    return converted(array, number, what) if number.kind in "fV" else array.astype(number)


def converted(array: Array, number: np.dtype[Any], what: str) -> Array:
    """Returns an array as one of floating-point numbers, if its finite numbers are finite there too."""
    with np.errstate(over="ignore"):
        result = array.astype(number)
    if not np.array_equal(np.isinf(result), np.isinf(array)):
        raise errors.invalid(f"{what}: a number does not fit into {dtypes.as_dtype(number).name}")
    return result


def _walk(value: Any, flat: list[bytes], what: str, rank: int = _MAX_RANK) -> tuple[int, ...]:
    """Collects the strings of nested lists in order, and returns their shape; rank: the most levels of lists."""
    if not isinstance(value, list):
        flat.append(read_bytes(value))
        return ()
    if not rank:
        raise errors.invalid(f"{what}: lists are nested more than {_MAX_RANK} deep")
    shapes = {_walk(item, flat, what, rank - 1) for item in value}
    if len(shapes) > 1:
        raise errors.invalid(f"{what}: expected lists of equal lengths, received {shown(value)}")
    return (len(value), *(shapes.pop() if shapes else ()))


def write_array(array: Array, name: str) -> Any:
    """Returns an array as what `dumps` takes; strings of an output whose name ends with _bytes are base64 objects."""
    if array.dtype == object:
        values: list[Any] = [_text(item, name.endswith("_bytes")) for item in array.reshape(-1).tolist()]
        return strings(values, array.shape).tolist()
    if array.dtype.kind == "c":
        raise errors.invalid(f"output {name!r}: JSON has no complex numbers")
    if array.dtype.kind == "V":  # bfloat16
        array = array.astype(np.float32)
    return np.ascontiguousarray(array)


def _text(item: bytes, as_bytes: bool) -> Any:
    if not as_bytes:
        try:
            return item.decode()
        except UnicodeDecodeError:
            pass
    return {_B64: base64.b64encode(item).decode()}
