"""Ops: one file per family, each op with its schema, shape function and constructor."""

from importlib import import_module
from pkgutil import iter_modules

import thalweg._src.graph.apply  # noqa: F401  makes definitions of ops callable

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
