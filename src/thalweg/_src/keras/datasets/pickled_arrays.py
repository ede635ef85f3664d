"""Arrays in pickled files, read without calling what the files name.

A pickle names functions to call, and even NumPy's own ones take states that no array has. So every name stands for an
object of this module, which keeps what it is given until it is known to be an array.
"""

from __future__ import annotations

import math
import pickle
from typing import IO, Any, Literal, NoReturn

import numpy as np

Array = np.ndarray[Any, Any]
_KINDS = "biufcSU"
_ORDERS: dict[Any, Literal["<", ">", "|", "="]] = {"<": "<", ">": ">", "|": "|", "=": "="}


class _Description:
    """What a pickle says about an array, a number or a type: the arguments of its creation, and its state."""

    def __init__(self, kind: str, arguments: tuple[Any, ...]) -> None:
        self.kind, self.arguments, self.state = kind, arguments, ()

    def __setstate__(self, state: Any) -> None:
        self.state = state if isinstance(state, tuple) else ()


class _Unpickler(pickle.Unpickler):
    """Reads plain values and arrays, and no other objects: files may come from anywhere."""

    def find_class(self, module: str, name: str) -> Any:
        package = module.split(".")[0]
        if package == "numpy" and name in ("_reconstruct", "dtype", "scalar"):
            return lambda *arguments: _Description(name, arguments)
        if (package, name) == ("numpy", "ndarray"):
            return name  # an argument of _reconstruct, and not called
        if (module, name) == ("_codecs", "encode"):
            return _encoded
        if name == "bytes" and module in ("__builtin__", "builtins"):
            return _no_bytes
        raise pickle.UnpicklingError(f"expected arrays and lists alone, received an object of {module}.{name}")


def _encoded(text: Any, encoding: Any) -> bytes:
    if not isinstance(text, str) or encoding != "latin1":
        _refuse(f"bytes in the encoding {encoding!r:.40}")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    return b""


def _refuse(what: str) -> NoReturn:
    raise pickle.UnpicklingError(f"expected arrays of numbers and texts, received {what}")


def read_pickled(file: IO[bytes]) -> Any:
    """Returns what is pickled in a file: plain values, arrays, and lists and dictionaries of them."""
    try:
        return _value(_Unpickler(file, encoding="bytes").load())
    except pickle.UnpicklingError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, EOFError, OverflowError, RecursionError) as error:
        raise pickle.UnpicklingError(f"the pickled data is damaged: {error}") from None


def _value(value: Any) -> Any:
    """Returns a value with arrays in the place of what is known about them."""
    if isinstance(value, _Description):
        return _array(value)
    if isinstance(value, dict):
        return {
            key: list(map(_value, entry)) if isinstance(entry, list) else _value(entry) for key, entry in value.items()
        }
    return value


def _array(description: _Description) -> Any:
    if description.kind == "scalar" and len(description.arguments) == 2:
        return np.frombuffer(description.arguments[1], _dtype(description.arguments[0]), 1)[0]
    if description.kind != "_reconstruct" or len(description.state) != 5:
        _refuse("a part of one")
    _, shape, dtype, is_fortran, data = description.state
    if not isinstance(shape, tuple) or not all(isinstance(length, int) and length >= 0 for length in shape):
        _refuse("one of another shape")
    count = math.prod(shape)
    order: Literal["C", "F"] = "F" if is_fortran else "C"
    if isinstance(data, list):
        if not isinstance(dtype, _Description) or dtype.arguments[0] not in ("O8", "O4", "O", b"O8", b"O4", b"O"):
            _refuse("one of another type")
        if len(data) != count:
            _refuse(f"{len(data)} values for {count}")
        return np.fromiter(map(_value, data), object, count).reshape(shape, order=order)
    if count == 0:
        return np.empty(shape, _dtype(dtype), order)
    return np.frombuffer(bytearray(data), _dtype(dtype), count).reshape(shape, order=order)


def _dtype(description: Any) -> Any:
    """Returns a type of numbers or texts."""
    if not isinstance(description, _Description) or description.kind != "dtype":
        _refuse("one without type")
    text = description.arguments[0]
    dtype = np.dtype(text.decode("ascii") if isinstance(text, bytes) else str(text))
    if dtype.kind not in _KINDS or dtype.subdtype is not None:
        _refuse(f"one of type {dtype}")
    order = description.state[1] if len(description.state) > 1 else "="
    order = order.decode("ascii") if isinstance(order, bytes) else order
    return dtype.newbyteorder(_ORDERS[order]) if order in _ORDERS else _refuse(f"one of byte order {order!r:.40}")
