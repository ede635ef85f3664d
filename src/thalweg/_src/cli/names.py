"""The public names of Thalweg: whether one is there, and which is nearest to one that is not."""

from __future__ import annotations

import contextlib
import difflib
import pkgutil
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

Name = tuple[str, ...]
_NOTHING = object()


def _is_namespace(value: Any) -> bool:
    return isinstance(value, ModuleType | SimpleNamespace)


class PublicNames:
    """Looks names up in the package itself, each by its path under `tf`."""

    def __init__(self) -> None:
        self._package = import_module("thalweg")

    def find(self, name: Name) -> Any:
        """Returns what stands under a name, or `None` if nothing does and it cannot be told to be missing."""
        value: Any = self._package
        if name and not self._is_public(name[0]):
            return _NOTHING
        for part in name:
            if not _is_namespace(value) and not isinstance(value, type):
                return None  # an attribute of an object, such as a flag
            value = self._attribute(value, part)
            if value is _NOTHING:
                return _NOTHING
        return value

    def _is_public(self, part: str) -> bool:
        """Tells whether a name is one of users', not a folder of the package's own code."""
        own = isinstance(vars(self._package).get(part), ModuleType)
        return not own or part == "errors" or self._package.__dict__["_home"](part) is not None

    def has(self, name: Name) -> bool:
        return self.find(name) is not _NOTHING

    def _attribute(self, value: Any, part: str) -> Any:
        found = getattr(value, part, _NOTHING)
        if found is _NOTHING and isinstance(value, ModuleType):
            with contextlib.suppress(ModuleNotFoundError):  # a namespace of a namespace may not be loaded yet
                return import_module(f"{value.__name__.replace('.api.', '.')}.{part}")
        return found

    def nearest(self, name: Name) -> Name | None:
        """Returns the name most like one that is missing: of the same last part, or alike in the same namespace."""
        depth = next(i for i in range(len(name)) if not self.has(name[: i + 1]))
        elsewhere = self._by_last_part.get(name[-1].lower(), [])
        if elsewhere:
            return min(elsewhere, key=lambda other: (other[-1] != name[-1], -_shared(other, name), len(other), other))
        parent, part = name[:depth], name[depth]
        here = difflib.get_close_matches(part, self._names_in(parent), 1, 0.7)
        if here:
            return (*parent, here[0])
        alike = difflib.get_close_matches(name[-1].lower(), self._by_last_part, 1, 0.85)
        return min(self._by_last_part[alike[0]], key=lambda n: (n[-1] != alike[0], len(n), n)) if alike else None

    def _names_in(self, parent: Name) -> list[str]:
        value = self.find(parent)
        return public_names(value) if _is_namespace(value) or isinstance(value, type) else []

    @cached_property
    def _by_last_part(self) -> dict[str, list[Name]]:
        result: dict[str, list[Name]] = {}
        for name in self.all():
            result.setdefault(name[-1].lower(), []).append(name)
        return result

    def all(self) -> Iterator[Name]:
        """Yields every public name of the package and its namespaces."""
        yield from ((name,) for name in public_names(self._package) if self._is_public(name))
        for path in self.namespaces():
            yield path
            yield from ((*path, name) for name in public_names(self.find(path)))

    def namespaces(self) -> list[Name]:
        """Returns the paths of all namespaces under `tf`."""
        api = import_module("thalweg._src.api")
        found = [module.name.split(".")[2:] for module in pkgutil.walk_packages(api.__path__, f"{api.__name__}.")]
        paths = {tuple(path) for path in found if path != ["version_switches"]} | {("errors",)}
        nested = {
            (*path, name)
            for path in paths
            for name in public_names(self.find(path))
            if _is_namespace(self._attribute(self.find(path), name))
        }
        return sorted(path for path in paths | nested if self.has(path))


def _shared(one: Name, other: Name) -> int:
    """Returns how many namespaces two names have in common."""
    return len(set(one) & set(other))


def public_names(value: Any) -> list[str]:
    """Returns the public names in a namespace or class."""
    names = getattr(value, "__all__", None) if isinstance(value, ModuleType) else None
    return sorted(names) if names is not None else [name for name in dir(value) if not name.startswith("_")]
