"""Start of Python in the processes that a program under `thalweg run` starts: `import tensorflow` works there too.

`thalweg run` puts this folder in front of PYTHONPATH, and Python imports this file when it starts. Thalweg itself is
loaded when TensorFlow is imported, so that other processes start as fast as before.
"""

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _Finder:
    """Installs Thalweg as TensorFlow at the first import that asks for one of its names."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of a module of TensorFlow, None for any other."""
        if name.partition(".")[0] not in ("tensorflow", "tensorflow_core") and name != "tensorboard.compat.notf":
            return None
        sys.meta_path.remove(cls)
        import thalweg

        thalweg.install_as_tensorflow(**dict.fromkeys(_options(), True))
        return importlib.util.find_spec(name)


def _options() -> list[str]:
    return os.environ["THALWEG_RUN"].split()


def _restore_names() -> None:
    """Restores removed names by a file that needs nothing else of Thalweg."""
    name = "thalweg._src.compat.legacy"
    path = os.path.join(_FOLDER, os.pardir, os.pardir, os.pardir, "compat", "legacy.py")
    spec = importlib.util.spec_from_file_location(name, os.path.normpath(path))
    assert spec is not None and spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    sys.modules[name].install()


def _import_shadowed() -> None:
    """Executes the sitecustomize that would have been imported without this folder."""
    spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path) != _FOLDER])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "THALWEG_RUN" in os.environ:
    sys.meta_path.insert(0, _Finder)
    if "legacy" in _options():
        _restore_names()
_import_shadowed()
