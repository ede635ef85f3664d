"""Conversion between str and bytes."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

from thalweg._src.base.export import export

PathLike: TypeAlias = str | os.PathLike[str]  # what public functions accept as a path
AnyPath: TypeAlias = str | bytes | os.PathLike[str]  # also as the bytes of a string tensor


@export("compat.as_bytes")
def as_bytes(bytes_or_text: str | bytes, encoding: str = "utf-8") -> bytes:
    """Returns bytes unchanged, and text encoded."""
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"expected bytes or str, received {bytes_or_text!r}")


@export("compat.as_str", "compat.as_text")
def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Returns text unchanged, and bytes decoded."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"expected bytes or str, received {bytes_or_text!r}")


as_str = as_text


@export("compat.as_str_any")
def as_str_any(value: object, encoding: str = "utf-8") -> str:
    """Returns str as it is, bytes decoded, and any other object as its str().

    Args:
        value: The value to convert.
    """
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


@export("compat.path_to_str")
def path_to_str(path: object) -> Any:
    """Returns the string of a path object; anything else unchanged.

    Args:
        path: A path object, or anything else.
    """
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path
