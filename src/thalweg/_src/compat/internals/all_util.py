"""`tensorflow.python.util.all_util`: modules that hide the names that their docstring does not list."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_LISTED = re.compile(r"^\s*@@([A-Za-z_]\w*)", re.MULTILINE)


def make_all(module_name: str, doc_string_modules: Sequence[ModuleType] | None = None) -> list[str]:
    """Returns the names of a module that the docstrings list as `@@name`."""
    module = sys.modules[module_name]
    listed = {name for source in doc_string_modules or [module] for name in _LISTED.findall(source.__doc__ or "")}
    return sorted(listed & set(dir(module)))


def remove_undocumented(
    module_name: str, allowed_exception_list: Sequence[str] | None = None, doc_string_modules: Any = None
) -> None:
    """Deletes the public names of a module that neither the docstrings nor the exceptions list."""
    module = sys.modules[module_name]
    documented = {*make_all(module_name, doc_string_modules), *(allowed_exception_list or ())}
    for name in [name for name in vars(module) if not name.startswith("_") and name not in documented]:
        delattr(module, name)
