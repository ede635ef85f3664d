"""Texts for parameters of the public API: one table for all functions, and narrower ones for namespaces and functions.

`GENERAL` maps a parameter's name to its text. `SCOPED` maps a scope to such a table: a public name ("nn.moments") or
a namespace with a final dot ("train."). The narrower scope wins. `*args` and `**kwargs` are keys with their stars.
The modules of this package hold the texts by theme; in them one key of SCOPED may list several scopes.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

GENERAL: dict[str, str] = {}
SCOPED: dict[str, dict[str, str]] = {}


def _load() -> None:
    for found in iter_modules(__path__):
        module = import_module(f"{__name__}.{found.name}")
        for name, text in module.PARAMETERS.items():
            GENERAL.setdefault(name, text)
        for scopes, table in getattr(module, "SCOPED", {}).items():
            for scope in scopes.split():
                SCOPED.setdefault(scope, {}).update(table)


_load()
