"""tf.contrib.slim.nets: well-known networks, each loaded when somebody asks for it."""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import Any


def __getattr__(name: str) -> Any:
    """Returns a module of this package."""
    if not name.startswith("_") and _find_spec(f"{__name__}.{name}") is not None:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'thalweg.contrib.slim.nets' has no attribute {name!r}")
