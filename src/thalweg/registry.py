"""Registries: from a name to the one thing registered under it, open to users' own files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Registry(Generic[T]):
    """A dictionary that refuses a second entry under one name and suggests near names for a missing one."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[str, T] = {}

    def register(self, name: str, entry: T) -> T:
        if name in self._entries:
            raise KeyError(f"{self._kind} {name!r} is registered already: {self._entries[name]!r}")
        self._entries[name] = entry
        return entry

    def get(self, name: str) -> T | None:
        return self._entries.get(name)

    def lookup(self, name: str) -> T:
        try:
            return self._entries[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._entries, n=3)
            hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
            raise LookupError(f"no {self._kind} is registered under {name!r}{hint}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
