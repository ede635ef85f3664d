"""The public names of Thalweg: whether a name exists, and the nearest name to one that does not."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

Name = tuple[str, ...]
_NOTHING = object()


class PublicNames:
    """Looks names up in the package itself, by their paths under `tf`."""

    def __init__(self) -> None:
        self._package = import_module("thalweg")

    def find(self, name: Name) -> Any:
        """Returns the object of a name, `_NOTHING` if it is missing, or None if that cannot be decided."""
        value: Any = self._package
        for component in name:
            if not isinstance(value, ModuleType | type):
                return None  # an attribute of an object, such as a flag
            value = _NOTHING if component == "_src" else getattr(value, component, _NOTHING)
            if value is _NOTHING:
                return _NOTHING
        return value

    def has(self, name: Name) -> bool:
        return self.find(name) is not _NOTHING

    def nearest(self, name: Name) -> Name | None:
        """Returns the public name most similar to a missing one: with the same last part, or in the same namespace."""
        depth = next(i for i in range(len(name)) if not self.has(name[: i + 1]))
        elsewhere = self._by_last_component.get(name[-1].lower(), [])
        if elsewhere:
            return min(elsewhere, key=lambda other: (other[-1] != name[-1], -_shared(other, name), len(other), other))
        parent, component = name[:depth], name[depth]
        here = difflib.get_close_matches(component, self._names_in(parent), 1, 0.7)
        if here:
            return (*parent, here[0])
        alike = difflib.get_close_matches(name[-1].lower(), self._by_last_component, 1, 0.85)
        return min(self._by_last_component[alike[0]], key=lambda n: (n[-1] != alike[0], len(n), n)) if alike else None

    def _names_in(self, parent: Name) -> list[str]:
        value = self.find(parent)
        return public_names(value) if isinstance(value, ModuleType | type) else []

    @cached_property
    def _by_last_component(self) -> dict[str, list[Name]]:
        result: dict[str, list[Name]] = {}
        for name in self.all():
            result.setdefault(name[-1].lower(), []).append(name)
        return result

    def all(self) -> Iterator[Name]:
        """Yields every public name of the package and its namespaces."""
        for path in self.namespaces():
            yield from ((*path, name) for name in public_names(self.find(path)))

    def namespaces(self) -> list[Name]:
        """Returns the paths of all namespaces under `tf`, starting with the package itself, whose path is empty."""
        modules = walk_packages(self._package.__path__, "thalweg.", onerror=lambda name: None)
        paths = (tuple(module.name.split(".")[1:]) for module in modules)
        return [(), *sorted(path for path in paths if not path[0].startswith("_") and path[:2] != ("compat", "v1"))]


def _shared(one: Name, other: Name) -> int:
    """Returns how many namespaces two names have in common."""
    return len(set(one) & set(other))


def public_names(value: object) -> list[str]:
    """Returns the public names in a namespace or class."""
    names = getattr(value, "__all__", None) if isinstance(value, ModuleType) else None
    return sorted(names) if names is not None else [name for name in dir(value) if not name.startswith("_")]
