"""The public namespaces under `tf`: `thalweg.nn` is the module `thalweg._src.api.nn`, loaded on first access."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

PACKAGE = "thalweg"
ALIAS = "compat.v1"  # late TensorFlow 1 programs import the package under this name


def home(name: str) -> str | None:
    """Returns the module that a public namespace such as "contrib.slim" stands for; None if there is no such one."""
    if name == ALIAS:
        return PACKAGE
    if name.startswith(f"{ALIAS}."):
        name = name.removeprefix(f"{ALIAS}.")
        return home(name) or (f"{PACKAGE}.{name}" if find_spec(f"{PACKAGE}.{name}") else None)
    parent, _, last = name.rpartition(".")
    if parent:
        around = home(parent)
        if around is None:
            return None
        inside = getattr(import_module(around), last, None)
        if isinstance(inside, ModuleType):  # such as `tf.io.gfile`, a namespace that another one shows
            return inside.__name__
        if parent.startswith("contrib."):
            return _contrib_source(parent, last, around)
    found = f"{__name__}.{name}"
    return found if find_spec(found) is not None else None


def _contrib_source(parent: str, last: str, around: str) -> str | None:
    """Returns the module for a path of contrib's source, such as contrib.layers.python.layers."""
    paths = import_module(f"{__name__}.python")
    if last == "python":
        return str(paths.contrib_path(parent))
    if paths.is_contrib_part(parent, last):
        return str(import_module(around).part(last).__name__)
    package = import_module(around)
    found = f"{around}.{last}"
    return found if hasattr(package, "__path__") and find_spec(found) is not None else None


class NamespaceFinder(MetaPathFinder, Loader):
    """Lets `import thalweg.contrib.slim as slim` find `thalweg._src.api.contrib.slim`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package != PACKAGE or name.split(".")[0] == "_src" or home(name) is None:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__.partition(".")[2]
        namespace = sys.modules[module.__name__] = import_module(home(name) or PACKAGE)
        if not hasattr(namespace, "__path__"):
            namespace.__path__ = []  # lets `import thalweg.io.gfile` look for a namespace in one


class NestedFinder(NamespaceFinder):
    """Finds modules of namespaces that are packages, which Python would load a second time under their public name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent = sys.modules.get(fullname.rpartition(".")[0]) if fullname.startswith(f"{PACKAGE}.") else None
        public = parent is not None and parent.__name__.startswith(f"{__name__}.")
        return super().find_spec(fullname, path, target) if public else None


class AliasFinder(NamespaceFinder):
    """Is asked before the files are: `thalweg.compat.v1.errors` is `thalweg.errors`, not a second copy of it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return super().find_spec(fullname, path, target) if fullname.startswith(f"{PACKAGE}.{ALIAS}.") else None


sys.meta_path.insert(0, AliasFinder())
sys.meta_path.append(NamespaceFinder())
sys.meta_path.insert(0, NestedFinder())
