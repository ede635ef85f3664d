"""Module: a named group of variables and submodules, found through its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph import scopes
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.checkpoint.trackable import AutoTrackable
from thalweg._src.training.variables.variables import Variable

_NAME = re.compile(r"^[A-Za-z_]\w*$")


@export("Module")
class Module(AutoTrackable):
    """A base class for objects that hold variables as attributes; checkpoints save them by attribute name.

    Args:
        name: Name of the module and of its name scope.
    """

    name = ReadOnly[str]("The name of the module.")

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = with_underscores(type(self).__name__)
        elif not _NAME.match(name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers.")
        self._name = name
        with scopes.name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name_scope(self) -> scopes.name_scope:
        """The name scope of the module, which can be re-entered."""
        return scopes.name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """All variables of this module and its submodules, sorted by attribute name."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Variable)))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable variables of this module and its submodules."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        """All modules below this one, breadth first."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Any = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """Yields the values of the attributes, each once, those of submodules last."""
        seen = {id(self)}
        modules: list[tuple[Any, tuple[Any, ...]]] = [(self, ())]
        while modules:
            below: list[tuple[Any, tuple[Any, ...]]] = []
            for module, path in modules:
                for key, value in sorted(vars(module).items(), key=attribute_traversal_key):
                    for place, leaf in _leaves(value, (*path, key)):
                        if id(leaf) in seen or isinstance(leaf, str | int | float | bool | type(None)):
                            continue
                        seen.add(id(leaf))
                        if predicate is None or predicate(leaf):
                            yield (place, leaf) if with_path else leaf
                        if recursive and isinstance(leaf, Module):
                            below.append((leaf, place))
            modules = below

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator that runs a method in the name scope of the module."""

        @functools.wraps(method)
        def inside(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return inside


def _leaves(value: object, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _leaves(value[key], (*path, key))
    elif isinstance(value, list | tuple) and not isinstance(value, Tensor):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value


def with_underscores(name: str, after_digits: bool = True) -> str:
    """Converts the name of a class to snake case; after a digit, a capital letter begins a word only if asked for."""
    apart = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub("([a-z0-9])([A-Z])" if after_digits else "([a-z])([A-Z])", r"\1_\2", apart).lower()
