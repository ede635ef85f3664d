"""Registries: from a name to the one thing registered under it, open to users' own files."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Generic, TypeVar

T = TypeVar("T")


class Loader:
    """Imports all modules of a package when it is first called: programs pay for them only if they need them."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._lock = threading.RLock()
        self._begun = False
        self._done = False

    def __call__(self, on_behalf_of: str = "") -> None:
        """Loads the package, unless it is one of its own modules that asks."""
        if self._done or on_behalf_of.startswith(self._package):
            return
        with self._lock:
            if self._begun:
                return  # a module of the package asks while it is being imported
            self._begun = True
            try:
                for module in iter_modules(import_module(self._package).__path__):
                    import_module(f"{self._package}.{module.name}")
                self._done = True
            finally:
                self._begun = False


class Registry(Generic[T]):
    """A dictionary that refuses a second entry under one name and suggests near names for a missing one."""

    def __init__(self, kind: str, load: Callable[..., None] = lambda module="": None) -> None:
        self._kind = kind
        self._load = load  # is called before the registry is used: it registers what there is
        self._entries: dict[str, T] = {}

    def register(self, name: str, entry: T, module: str = "") -> T:
        """Adds an entry; module: where it comes from."""
        self._load(module)
        if name in self._entries:
            raise KeyError(f"{self._kind} {name!r} is registered already: {self._entries[name]!r}")
        self._entries[name] = entry
        return entry

    def get(self, name: str) -> T | None:
        self._load()
        return self._entries.get(name)

    def lookup(self, name: str) -> T:
        self._load()
        try:
            return self._entries[name]
        except KeyError:
            near = difflib.get_close_matches(name, self._entries, n=3)
            hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
            raise LookupError(f"no {self._kind} is registered under {name!r}{hint}") from None

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._entries)

    def __len__(self) -> int:
        self._load()
        return len(self._entries)
