"""Lazy names of public modules: nested namespaces and protocol messages are loaded on first access (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

DOCSTRINGS: dict[tuple[str, str], str] = {}  # of classes that are loaded on first access, by module and name
Hooks = tuple[Callable[[str], Any], Callable[[], list[str]]]


def lazy_names(module: str, namespaces: Sequence[str], elsewhere: Mapping[str, str]) -> Hooks:
    """Returns `__getattr__` and `__dir__` for a public module.

    namespaces: modules inside this one
    elsewhere: names with the module that each is loaded from
    """
    inside = frozenset(namespaces)

    def load(name: str) -> Any:
        if name in inside:
            return import_module(f"{module}.{name}")  # which makes it an attribute
        if name in elsewhere:
            value = getattr(import_module(elsewhere[name]), name)
            value.__doc__ = DOCSTRINGS[elsewhere[name], name]
        else:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        setattr(sys.modules[module], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[module]), *inside, *elsewhere})

    return load, names
