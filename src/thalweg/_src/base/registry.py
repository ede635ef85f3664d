"""Registries: mappings from names to ops, kernels and gradients that users can extend."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Generic, TypeVar

T = TypeVar("T")


class Loader:
    """Imports all modules of a package on first use, so that programs that do not need them do not import them."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._lock = threading.RLock()
        self._begun = False
        self._done = False

    def __call__(self, caller: str = "") -> None:
        """Imports the package, unless `caller`, the name of the calling module, is part of it."""
        if self._done or caller.startswith(self._package):
            return
        with self._lock:
            if self._begun:
                return  # reached from a module of the package that is being imported
            self._begun = True
            try:
                for module in iter_modules(import_module(self._package).__path__):
                    import_module(f"{self._package}.{module.name}")
                self._done = True
            finally:
                self._begun = False


class Registry(Generic[T]):
    """A dictionary that rejects duplicate names and suggests similar names for a missing one."""

    def __init__(self, kind: str, load: Callable[..., None] = lambda module="": None) -> None:
        self._kind = kind
        self._load = load  # called before any access: it registers the built-in entries
        self._entries: dict[str, T] = {}

    def register(self, name: str, entry: T, module: str = "") -> T:
        """Adds an entry; module: the name of the module that registers it."""
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

    @property
    def _registry(self) -> dict[str, T]:
        """The entries, under the name by which TensorFlow 1 programs look for a registered gradient."""
        self._load()
        return self._entries

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._entries)

    def __len__(self) -> int:
        self._load()
        return len(self._entries)
