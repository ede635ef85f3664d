"""The grammar of names in a graph: TensorFlow's."""

from __future__ import annotations

from thalweg._src.base.errors import wrong_kind

NAME = r"[A-Za-z0-9.][A-Za-z0-9_./>\-]*"
INNER_NAME = r"[A-Za-z0-9._][A-Za-z0-9_./>\-]*"  # of what a program does not name itself
SCOPE = r"[A-Za-z0-9_./>\-]*"  # inside of another scope


def as_name(name: object) -> str:
    """Returns the name of an operation or scope, which may be given as bytes, as text."""
    if isinstance(name, str):
        return name
    if isinstance(name, bytes):
        return name.decode()
    raise wrong_kind("name", "a string or None", name)
