"""Import of Thalweg under TensorFlow's name, for programs that say `import tensorflow`: a finder of modules.

`tensorflow.contrib.slim` becomes another name of the module `thalweg.contrib.slim`, not a copy: a class has one
identity, whatever name it was imported by.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from thalweg._src.base.errors import FailedPreconditionError, describe
from thalweg._src.base.export import export
from thalweg._src.base.logging import get_logger
from thalweg._src.compat.legacy import install as install_legacy

PACKAGES = ("tensorflow", "tensorflow_core")  # the second is where TensorFlow 1.15 keeps the contents of the first
_NO_TENSORFLOW = "tensorboard.compat.notf"  # where this module exists, TensorBoard does without TensorFlow


class _Finder:
    """Finds each module of TensorFlow as the module of the same path in Thalweg."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Returns the spec of a module of TensorFlow, None for any other."""
        package, _, inside = name.partition(".")
        if package in PACKAGES:
            return ModuleSpec(name, _Loader(f"thalweg.{inside}".rstrip(".")), is_package=True)
        return ModuleSpec(name, _EmptyLoader(), is_package=True) if name == _NO_TENSORFLOW else None


class AliasLoader(Loader):
    """Loads a module as a second name of another: the import system stores the same module under both names."""

    def __init__(self, aliased: str) -> None:
        self._aliased = aliased

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Returns the module that exists."""
        module = import_module(self._aliased)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its own spec back, which the import system has replaced."""
        module.__spec__ = self._spec


class _Loader(AliasLoader):
    """Loads a module of TensorFlow as the module of Thalweg, and explains which one is missing."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Returns the module of Thalweg."""
        try:
            module = super().create_module(spec)
        except ModuleNotFoundError as error:
            if not f"{self._aliased}.".startswith(f"{error.name}."):  # a package that the module needs
                raise
            raise ModuleNotFoundError(
                f"No module named {spec.name!r}: Thalweg, which this process imports as "
                f"{spec.name.partition('.')[0]}, has no {self._aliased!r}. "
                "`thalweg check` with the files or folders of a program lists all that Thalweg lacks.",
                name=spec.name,
            ) from None
        if not hasattr(module, "__path__"):
            module.__path__ = []  # so that an import from inside it asks the finder, which explains what is missing
        return module


class _EmptyLoader(Loader):
    """Loads a module without contents."""

    def exec_module(self, module: ModuleType) -> None:
        """Leaves the module empty."""


@export("install_as_tensorflow")
def install_as_tensorflow(force: bool = False, legacy: bool = False) -> None:
    """Makes `import tensorflow` import Thalweg, in this process.

    A program for TensorFlow 1 then runs without an edit: `tensorflow`, `tensorflow.compat.v1`, `tensorflow.contrib`,
    `tensorflow.python` and `tensorflow.core` lead to the modules of Thalweg. Call it before the first such import.
    `thalweg run script.py` does it for a whole program and the processes that it starts.

    Args:
        force: Whether to take the name of a TensorFlow that is installed too; otherwise that is refused.
        legacy: Whether to restore names that NumPy, SciPy, Python and others have removed since, such as `np.int`.
    """
    if legacy:
        install_legacy()
    if not force:
        _require_no_tensorflow()
    if _Finder not in sys.meta_path:
        for name in [name for name in sys.modules if name.partition(".")[0] in PACKAGES]:
            del sys.modules[name]
        sys.meta_path.insert(0, _Finder)
        logging.Logger.manager.loggerDict["tensorflow"] = get_logger()  # programs set the level of this logger


def _require_no_tensorflow() -> None:
    """Refuses where `import tensorflow` leads to another package."""
    loaded = sys.modules.get("tensorflow")
    if loaded is sys.modules["thalweg"]:
        return
    spec = loaded.__spec__ if loaded is not None else PathFinder.find_spec("tensorflow")
    if loaded is not None or (spec is not None and spec.origin is not None):  # a folder of that name has no origin
        message = describe(
            "TensorFlow is installed in this environment, and `import tensorflow` would no longer import it.",
            expected="no package named 'tensorflow'",
            received=str(loaded if spec is None else spec.origin),
            hint="use an environment without TensorFlow, or let Thalweg take its name: "
            "install_as_tensorflow(force=True), `thalweg run --force`",
        )
        raise FailedPreconditionError(None, None, message)
