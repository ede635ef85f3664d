"""Protocol-message semantics (HasField, CopyFrom, repeated fields) for slotted Python classes, without protobuf."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsIndex, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Choice(IntEnum):
    """A named integer, as in the enums of protocol messages."""

    @classmethod
    def Name(cls, number: int) -> str:
        """Returns the name of an enum value."""
        return cls(number).name

    @classmethod
    def Value(cls, name: str) -> int:
        """Returns the enum value of a name."""
        return cls[name].value


class Repeated(list[T]):
    """The list in a repeated field; it accepts only values of the field's type."""

    def __init__(self, convert: Callable[[Any], T], make: Callable[..., T], values: Iterable[Any]) -> None:
        super().__init__(map(convert, values))
        self._convert = convert
        self._make = make

    def add(self, **fields: Any) -> T:
        """Appends a message with these fields and returns it."""
        self.append(self._make(**fields))
        return self[-1]

    def append(self, value: object) -> None:
        """Appends a value, a copy if it is a message."""
        super().append(self._convert(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Appends each of the values."""
        super().extend(map(self._convert, values))

    def insert(self, index: SupportsIndex, value: object) -> None:
        """Inserts a value before the index."""
        super().insert(index, self._convert(value))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, map(self._convert, value) if isinstance(index, slice) else self._convert(value))

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled as a plain list: the restored message wraps it again, with the type of its field.
        return list, (list(self),)


class Message:
    """A message that checks the names and types of its fields; a field that was never set reads as zero or empty.

    A slot stays unset until it is written or read, so that the statistics of a step take only the memory they need.
    """

    __slots__ = ()

    _converters: ClassVar[dict[str, Callable[[Any], Any]]]
    _parsers: ClassVar[dict[str, Callable[[Any], Any]]]

    def __init_subclass__(cls) -> None:
        kinds = {
            name: (f"{cls.__name__}.{name}", kind)
            for name, kind in get_type_hints(cls).items()
            if ClassVar not in (kind, get_origin(kind))
        }
        cls._converters = {name: partial(_convert, *field) for name, field in kinds.items()}
        cls._parsers = {name: partial(_parse, *field) for name, field in kinds.items()}

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            if name not in self._converters:
                raise TypeError(_no_field(type(self), name))
            if value is not None:
                setattr(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        convert = self._converters.get(name)
        if convert is None:
            raise AttributeError(_no_field(type(self), name))
        object.__setattr__(self, name, convert(value))

    if not TYPE_CHECKING:  # type checkers know the declared fields; this would make them accept any name

        def __getattr__(self, name: str) -> Any:
            convert = self._converters.get(name)
            if convert is None:
                raise AttributeError(_no_field(type(self), name))
            value = convert(_UNSET)
            object.__setattr__(self, name, value)
            return value

    def HasField(self, name: str) -> bool:
        """Returns whether a field holds something other than its default."""
        if name not in self._converters:
            raise ValueError(_no_field(type(self), name))
        return name in self._set_fields()

    def CopyFrom(self, other: Self) -> None:
        """Replaces the contents by a copy of another message of this class."""
        if other is not self:
            _require_same(self, other)
            self.Clear()
            self.MergeFrom(other)

    def MergeFrom(self, other: Self) -> None:
        """Merges the set fields of another message: replaces values, merges messages and maps, extends lists."""
        _require_same(self, other)
        for name, value in other._set_fields().items():
            if isinstance(value, Message):
                getattr(self, name).MergeFrom(value)
            elif isinstance(value, dict):
                getattr(self, name).update(value)
            elif isinstance(value, Repeated):
                getattr(self, name).extend(list(value))
            else:
                object.__setattr__(self, name, value)

    def Clear(self) -> None:
        """Resets every field to its default."""
        for name, _ in list(self._written()):
            object.__delattr__(self, name)

    def as_dict(self) -> dict[str, Any]:
        """Returns the set fields as plain values, in the form that protobuf's `json_format.ParseDict` reads."""
        return {name: _plain(value) for name, value in self._set_fields().items()}

    @classmethod
    def from_dict(cls, fields: object) -> Self:
        """Returns the message with the fields of `as_dict`, which may come as JSON from another process.

        Anything that `as_dict` does not return raises ValueError, so that the origin of the fields need not be
        trusted. Fields of type Any (shapes and partition graphs, which are protobuf messages) do not travel: they
        raise ValueError too.
        """
        result = cls()
        for name, value in _parse_dict(cls.__name__, fields).items():
            parse = cls._parsers.get(name)
            if parse is None:
                raise ValueError(f"{cls.__name__} has no field {name!r:.50}.")
            object.__setattr__(result, name, parse(value))
        return result

    def _written(self) -> Iterator[tuple[str, Any]]:
        for name in self._converters:
            try:
                yield name, object.__getattribute__(self, name)
            except AttributeError:
                continue

    def _set_fields(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self._written()
            if (value._set_fields() if isinstance(value, Message) else value)
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return type(other) is type(self) and other._set_fields() == self._set_fields()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._set_fields().items())
        return f"{type(self).__name__}({fields})"


_UNSET: Any = object()
_DECIMAL = re.compile("0|-?[1-9][0-9]{0,18}")
_ZEROS: dict[Any, Any] = {bool: False, int: 0, float: 0.0, str: "", Any: None}


def _convert(field: str, kind: Any, value: Any) -> Any:
    if kind in _ZEROS:
        return _ZEROS[kind] if value is _UNSET else _scalar(field, kind, value)
    items = get_args(kind)
    if get_origin(kind) is Repeated:
        if isinstance(value, str | bytes | Message | dict):
            raise _wrong_type(field, "a list", value)
        return Repeated(partial(_convert, field, items[0]), items[0], () if value is _UNSET else value)
    if get_origin(kind) is dict:
        if not isinstance(value, dict) and value is not _UNSET:
            raise _wrong_type(field, "a dict", value)
        pairs = () if value is _UNSET else value.items()
        return {_convert(field, items[0], key): _convert(field, items[1], item) for key, item in pairs}
    if issubclass(kind, Choice):
        return _choice(field, kind, 0 if value is _UNSET else value)
    if value is _UNSET:
        return kind()
    if isinstance(value, dict):
        return kind(**value)
    if type(value) is not kind:
        raise _wrong_type(field, kind.__name__, value)
    message = kind()
    message.MergeFrom(value)
    return message


def _scalar(field: str, kind: Any, value: object) -> Any:
    if kind is Any or type(value) is kind:
        return value
    if kind is bool and not isinstance(value, float) and value in (0, 1):
        return bool(value)
    if kind is int and not isinstance(value, bool) and hasattr(value, "__index__"):
        return operator.index(value)
    if kind is float and not isinstance(value, bool) and isinstance(value, Real):
        return float(value)
    raise _wrong_type(field, kind.__name__, value)


def _choice(field: str, kind: type[Choice], value: object) -> Choice:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _wrong_type(field, kind.__name__, value)
    try:
        return kind[value] if isinstance(value, str) else kind(value)
    except (KeyError, ValueError):
        choices = ", ".join(f"{choice.name} ({choice.value})" for choice in kind)
        raise ValueError(f"{field} must be one of {choices}, not {value!r}.") from None


def _parse(field: str, kind: Any, value: Any) -> Any:
    """Returns the value that `_plain` returned `value` for, with a new Repeated, dict or message for a nested one."""
    if kind in _ZEROS:
        return _parse_scalar(field, kind, value)
    items = get_args(kind)
    if get_origin(kind) is Repeated:
        if type(value) is not list:
            raise _not_plain(field, "a list", value)
        repeated = _convert(field, kind, _UNSET)
        list.extend(repeated, [_parse(field, items[0], item) for item in value])
        return repeated
    if get_origin(kind) is dict:
        pairs = _parse_dict(field, value).items()
        read = {_parse_key(field, items[0], key): _parse(field, items[1], item) for key, item in pairs}
        if len(read) < len(value):
            raise ValueError(f"{field} has the same key twice.")
        return read
    if issubclass(kind, Choice):
        if type(value) is not int:
            raise _not_plain(field, kind.__name__, value)
        return _choice(field, kind, value)
    return kind.from_dict(_parse_dict(field, value))


def _parse_dict(field: str, value: object) -> dict[Any, Any]:
    if type(value) is not dict:
        raise _not_plain(field, "a dict", value)
    return value


def _parse_key(field: str, kind: Any, key: Any) -> Any:
    # JSON has no other keys than strings.
    if kind is int and type(key) is str and _DECIMAL.fullmatch(key):
        key = int(key)
    return _parse_scalar(field, kind, key)


def _parse_scalar(field: str, kind: Any, value: Any) -> Any:
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise _not_plain(field, "no value that travels" if kind is Any else kind.__name__, value)
    if type(value) is int and not -(2**63) <= value < 2**64:
        raise ValueError(f"{field} takes 64 bits, not {hex(value):.50}.")
    if kind is str and not value.isascii():
        value.encode()  # a lone surrogate, which JSON can hold, raises UnicodeEncodeError: a ValueError
    return float(value) if kind is float else value


def _plain(value: object) -> Any:
    if isinstance(value, Message):
        return value.as_dict()
    if isinstance(value, Repeated):
        return list(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return int(value) if isinstance(value, Choice) else value


def _require_same(message: Message, other: Message) -> None:
    if type(other) is not type(message):
        raise TypeError(f"{type(message).__name__} cannot take fields from {type(other).__name__}.")


def _no_field(cls: type[Message], name: str) -> str:
    near = difflib.get_close_matches(name, cls._converters, 1, 0)
    return f"{cls.__name__} has no field {name!r}" + (f"; did you mean {near[0]!r}?" if near else ".")


def _not_plain(field: str, expected: str, value: object) -> ValueError:
    return ValueError(f"{field} takes {expected}, not a value of type {type(value).__name__}.")


def _wrong_type(field: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{field} takes {expected}, not {value!r} of type {type(value).__name__}.")


message = dataclass(init=False, eq=False, repr=False, slots=True)
