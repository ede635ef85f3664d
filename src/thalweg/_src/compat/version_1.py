"""`thalweg.compat.v1`, the name of this package in TensorFlow 2: all its modules under a second name, not as copies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from thalweg._src.compat.as_tensorflow import AliasLoader

NAME = "thalweg.compat.v1"


class _Finder:
    """Finds each module below `thalweg.compat.v1` as the module of the same path below `thalweg`."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Returns the spec of a module below `thalweg.compat.v1` that exists, None for any other."""
        if not name.startswith(f"{NAME}."):
            return None
        aliased = f"thalweg{name.removeprefix(NAME)}"
        if aliased not in sys.modules and find_spec(aliased) is None:
            return None
        return ModuleSpec(name, AliasLoader(aliased))


def install() -> None:
    """Adds the finder, before that of files, which would find the files of `thalweg.nn` again for `compat.v1.nn`."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name not in ("__all__", "__version__"):
        raise AttributeError(f"module {NAME!r} has no attribute {name!r}")
    value = getattr(sys.modules["thalweg"], name)
    setattr(sys.modules[NAME], name, value)
    return value


def __dir__() -> list[str]:
    return sorted({*vars(sys.modules[NAME]), *dir(sys.modules["thalweg"])})
