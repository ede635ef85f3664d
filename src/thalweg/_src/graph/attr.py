"""Attributes: the static parameters of an operation, with their types, defaults and constraints."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.shapes import as_shape, is_whole


class _Required:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _Required()


def _integer(value: Any) -> int:
    if is_whole(value) or isinstance(value, numbers.Integral) or hasattr(value, "__index__"):
        if not -(2**63) <= int(value) < 2**63:
            raise ValueError(f"{value} does not fit into 64 bits")
        return int(value)
    raise TypeError(f"expected int, got {value!r}")


def _real(value: Any) -> float:
    if isinstance(value, numbers.Real | np.number) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return float(value)
    raise TypeError(f"expected float, got {value!r}")


def _boolean(value: object) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TypeError(f"expected bool, got {value!r}")


def _string(value: object) -> str:
    # Attributes are bytes in messages and text in Python; `surrogateescape` keeps bytes that are no valid UTF-8.
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return value
    raise TypeError(f"expected a string, got {value!r}")


def _tensor(value: object) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray):
        return value
    raise TypeError(f"expected an array, got {value!r}")


def _dtype(value: DTypeLike) -> DType:
    return dtypes.as_dtype(value).base_dtype


def _function(value: object) -> Any:
    return value


_NORMALIZE: dict[str, Callable[[Any], Any]] = {
    "type": _dtype,
    "int": _integer,
    "float": _real,
    "bool": _boolean,
    "string": _string,
    "shape": as_shape,
    "tensor": _tensor,
    "func": _function,
}


@dataclass(frozen=True, slots=True)
class AttrDef:
    """One attribute: a type ("type", "int", ..., or "list(int)"), a default and the values it accepts."""

    kind: str
    default: Any = REQUIRED
    allowed: frozenset[Any] | None = None
    minimum: int | None = None

    @property
    def is_list(self) -> bool:
        return self.kind.startswith("list(")

    @property
    def element(self) -> str:
        return self.kind[5:-1] if self.is_list else self.kind

    def normalize(self, value: object) -> Any:
        """Returns the value in canonical form, or raises TypeError or ValueError."""
        # One form for equal values (tuples for lists, Python numbers for those of NumPy, base types for references), so
        # that passes may compare and hash attributes, and nodes share them.
        convert = _NORMALIZE[self.element]
        if not self.is_list:
            result = convert(value)
            if self.minimum is not None and result < self.minimum:
                raise ValueError(f"must be at least {self.minimum}, got {result}")
            self._admit(result)
            return result
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            raise TypeError(f"expected a list of {self.element}, got {value!r}")
        items = tuple(convert(item) for item in value)
        if self.minimum is not None and len(items) < self.minimum:
            raise ValueError(f"requires at least {self.minimum} entries, got {len(items)}")
        for item in items:
            self._admit(item)
        return items

    def _admit(self, value: object) -> None:
        if self.allowed is not None and value not in self.allowed:
            if isinstance(value, DType):
                raise TypeError(f"has DataType {value.name} not in list of allowed values: {self.show_allowed()}")
            raise ValueError(f"passed {type(value).__name__} {value!r} not in: {self.show_allowed()}")

    def show_allowed(self) -> str:
        return ", ".join(sorted(show_value(item) for item in self.allowed or ()))


def show_value(value: object) -> str:
    return value.name if isinstance(value, DType) else repr(value)


def types(allowed: Iterable[DType] | None = None, default: DType | _Required = REQUIRED) -> AttrDef:
    return AttrDef("type", default, None if allowed is None else frozenset(allowed))


def type_list(minimum: int | None = None, default: Any = REQUIRED, allowed: Iterable[DType] | None = None) -> AttrDef:
    return AttrDef("list(type)", default, None if allowed is None else frozenset(allowed), minimum)


def integer(minimum: int | None = None, default: Any = REQUIRED) -> AttrDef:
    return AttrDef("int", default, None, minimum)


def integers(minimum: int | None = None, default: Any = REQUIRED) -> AttrDef:
    return AttrDef("list(int)", default, None, minimum)


def real(default: Any = REQUIRED) -> AttrDef:
    return AttrDef("float", default)


def boolean(default: Any = REQUIRED) -> AttrDef:
    return AttrDef("bool", default)


def string(*allowed: str, default: Any = REQUIRED) -> AttrDef:
    return AttrDef("string", default, frozenset(allowed) if allowed else None)


def shape(default: Any = REQUIRED) -> AttrDef:
    return AttrDef("shape", default)


def tensor() -> AttrDef:
    return AttrDef("tensor")


def from_default(value: object) -> AttrDef:
    """Returns the attribute that a plain default value implies: `False` is a bool, `(1, 1)` a list of ints."""
    if isinstance(value, AttrDef):
        return value
    if isinstance(value, frozenset):
        return types(value)
    if isinstance(value, DType):
        return types(default=value)
    # bool is a subclass of int, and has to be asked for first.
    if isinstance(value, bool):
        return boolean(value)
    if isinstance(value, int):
        return integer(default=value)
    if isinstance(value, float):
        return real(value)
    if isinstance(value, str):
        return string(default=value)
    if isinstance(value, tuple):
        return integers(default=value)
    raise TypeError(f"cannot infer an attribute type from the default {value!r}")
