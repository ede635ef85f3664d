"""Places in descriptions of models and in their files: an error that leaves one says where it arose.

A description from outside can have anything in place of what Keras writes. What nothing has checked fails somewhere in
a layer or in torch, as a KeyError or a RuntimeError: it becomes a ValueError here, with the place.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

from thalweg._src.base.errors import OpError

_TYPED = (ValueError, TypeError, OpError)
_PASSED = (OSError, ImportError, NotImplementedError, Warning)  # say what they are about themselves
_SHORT = 80
_LONGEST = 400  # characters of a place in a message
_LEVELS = 3  # of lists and dictionaries in which a value is searched
TOO_DEEP = "the description is nested too deeply"
_here: ContextVar[tuple[str, Any] | None] = ContextVar("here", default=None)  # the place that is being read


@contextmanager
def within(value: object, name: str = "") -> Iterator[None]:
    """A context in which a description is read, which may be a part of the one that is being read.

    name: of the description, if it is not a part of another one
    """
    outer = _here.get()
    with _entered(name if outer is None else outer[0] + (_path_to(value, outer[1], _LEVELS) or ""), value):
        yield


@contextmanager
def at(*steps: str | int) -> Iterator[None]:
    """A context in which an entry of a description is read, at these keys and indices from where the reader is."""
    path, value = _here.get() or ("", None)  # type: tuple[str, Any]
    for step in steps:
        path += _step(step)
        try:
            value = value[step]
        except (TypeError, LookupError):
            value = None
    with _entered(path, value):
        yield


@contextmanager
def _entered(path: str, value: object) -> Iterator[None]:
    is_outermost = _here.get() is None
    before = _here.set((path, value))
    try:
        yield
    except RecursionError as error:
        if not is_outermost:  # here the stack is full
            raise
        raise ValueError(TOO_DEEP) from error
    except Exception as error:
        raise_with(error, "place", path.removeprefix(".") or "the whole description")
    finally:
        _here.reset(before)


def _step(step: str | int) -> str:
    return f"[{step}]" if isinstance(step, int) else f".{short(step)}"


def _path_to(value: object, holder: object, levels: int) -> str | None:
    """Returns the path from a dictionary or list to a value that is somewhere in it; None if it is not."""
    if value is holder:
        return ""
    inner = (
        holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list | tuple) else ()
    )
    for step, child in inner if levels else ():
        path = _path_to(value, child, levels - 1)
        if path is not None:
            return _step(step) + path
    return None


@contextmanager
def in_file(path: object) -> Iterator[None]:
    """A context in which a file is read: an error that leaves it names the file."""
    try:
        yield
    except Exception as error:
        raise_with(error, "file", os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else repr(path))


@contextmanager
def in_class_of_user() -> Iterator[None]:
    """A context in which a class of the program's own is made from a description: its errors stay what they are."""
    try:
        yield
    except Exception as error:
        if not hasattr(error, "place") and _here.get() is not None:
            path = (_here.get() or ("",))[0].removeprefix(".")
            error.place = path  # type: ignore[attr-defined]
            error.add_note(f"  place: {path}")
        raise


def raise_with(error: Exception, key: str, value: str) -> NoReturn:
    """Raises an error with a line that names its place or file, unless it has one, as a ValueError if it is untyped."""
    is_typed = isinstance(error, _TYPED)
    if hasattr(error, key) or (isinstance(error, _PASSED) and not is_typed):
        raise error
    shown = value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."
    line = f"\n  {key}: {shown}"
    cause: Exception | None = None
    if isinstance(error, OpError):
        error.message += line
    elif is_typed and type(error).__str__ is Exception.__str__:
        error.args = (f"{error}{line}",)
    else:
        what = str(error) if is_typed else f"the model cannot be made or read: {type(error).__name__}: {error}"
        cause, error = error, ValueError(f"{what}{line}")
    setattr(error, key, value)
    if cause is None:
        raise error
    raise error from cause


def short(value: object) -> str:
    """Returns a value of a description for an error message, cut short."""
    return (
        value if isinstance(value, str) and len(value) <= _SHORT and value.isprintable() else reprlib.repr(value)[:200]
    )


def expected(kinds: Any, value: object) -> Any:
    """Returns a value of a description, which must be of one of these types."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is int):
        names = " or ".join(_NAMES[kind] for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise TypeError(f"expected {names}, received {reprlib.repr(value)[:200]}")
    return value


_NAMES: dict[type, str] = {dict: "a dictionary", list: "a list", tuple: "a tuple", str: "a text", int: "an integer"}


def entry(config: Any, key: str, kinds: Any = object) -> Any:
    """Returns the entry of a description that has a key; it must be there, and of one of these types."""
    if key not in expected(dict, config):
        raise ValueError(f"the key {key!r} is missing")
    with at(key):
        return expected(kinds, config[key])
