"""The functions of Python's module `imp`, which Python 3.12 removed, that programs use."""

from __future__ import annotations

import sys
from importlib import reload
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

__all__ = ["load_source", "new_module", "reload"]


def load_source(name: str, pathname: str) -> ModuleType:
    """Loads a module from a file of any name, again if it is loaded."""
    spec = spec_from_file_location(name, pathname, loader=SourceFileLoader(name, pathname))
    assert spec is not None and spec.loader is not None
    module = sys.modules.get(name) or module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def new_module(name: str) -> ModuleType:
    """Returns an empty module."""
    return ModuleType(name)
