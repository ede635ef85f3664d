"""The resources of eager execution, which functions find by name as long as they exist."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TypeVar, cast

from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.variables import VariableResource

T = TypeVar("T")
_variables: weakref.WeakValueDictionary[str, VariableResource] = weakref.WeakValueDictionary()


def register(variable: VariableResource) -> None:
    """Makes a variable known under its name, which no other one has."""
    _variables[variable.name] = variable


class EagerContainers(Containers):
    """The resources of eager execution; variables are found by their names as long as they exist."""

    def lookup_or_create(self, container: str, resource_type: str, name: str, make: Callable[[], T]) -> T:
        """Returns the resource, creating it on first use."""
        if not container and resource_type == "variable" and (variable := _variables.get(name)) is not None:
            return cast(T, variable)
        return super().lookup_or_create(container, resource_type, name, make)
