"""`tensorflow.python.util.lazy_loader`: modules that are imported on first use."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class LazyLoader(ModuleType):
    """Stands for a module until one of its names is used."""

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str) -> None:
        self._local_name = local_name
        self._parent_module_globals = parent_module_globals
        super().__init__(name)

    def _load(self) -> ModuleType:
        module = import_module(self.__name__)
        self._parent_module_globals[self._local_name] = module
        return module

    def __getattr__(self, item: str) -> Any:
        return getattr(self._load(), item)

    def __dir__(self) -> list[str]:
        return dir(self._load())
