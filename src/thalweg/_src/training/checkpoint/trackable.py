"""Trackable objects: the edges of an object-based checkpoint, from each object to its children by name.

The children and the own tensors of an object depend on its class: `children_of` and `saved_by` are generic functions to
which each such class adds an implementation.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph
from thalweg._src.training.checkpoint.saver_builder import SaveableObject, VariableSaveable
from thalweg._src.training.optimizers.optimizer import Optimizer
from thalweg._src.training.variables.restoration import RestoresChildren
from thalweg._src.training.variables.variables import Variable

Child = tuple[str, Any]
VALUE = "VARIABLE_VALUE"


@export("train.experimental.PythonState")
class PythonState(ABC):
    """A part of a checkpoint that is not a variable: bytes that a Python object writes and reads."""

    @abstractmethod
    def serialize(self) -> Any:
        """Returns the state as bytes."""

    @abstractmethod
    def deserialize(self, string_value: bytes) -> None:
        """Restores the state from bytes."""


@export("contrib.eager.Checkpointable")
class AutoTrackable(RestoresChildren):
    """An object whose children are its attributes; lists and dictionaries among them are tracked too."""


def is_trackable(value: object) -> bool:
    """Returns whether a checkpoint can track a value, or anything inside a list or dictionary."""
    if isinstance(value, list | tuple | dict):
        return any(map(is_trackable, value.values() if isinstance(value, dict) else value))
    return children_of.dispatch(type(value)) is not _UNKNOWN


# -- children ---------------------------------------------------------------------------------------------------------


@functools.singledispatch
def children_of(value: object) -> Iterable[Child]:
    """Returns the children of an object by their names in a checkpoint."""
    raise TypeError(f"a checkpoint cannot track {value!r} of {type(value).__name__}")


_UNKNOWN = children_of.dispatch(object)


@children_of.register(Variable)
@children_of.register(PythonState)
def _none(value: object) -> Iterable[Child]:
    return ()


@children_of.register(list)
@children_of.register(tuple)
def _items(value: Sequence[Any]) -> Iterator[Child]:
    return ((str(index), item) for index, item in enumerate(value) if is_trackable(item))


@children_of.register(dict)
def _entries(value: dict[Any, Any]) -> Iterator[Child]:
    for key, item in value.items():
        if not is_trackable(item):
            continue
        if not isinstance(key, str):
            raise ValueError(f"the keys of a dictionary in a checkpoint must be strings, received {key!r} in {value!r}")
        yield key, item


@children_of.register(Optimizer)
def _of_optimizer(optimizer: Optimizer) -> Iterator[Child]:
    """Yields the optimizer's own variables; slots are saved with the variables that they belong to."""
    graph = get_default_graph()
    for (name, _), variable in sorted(optimizer._non_slot_dict.items(), key=lambda item: item[0][0]):
        if variable._owner_graph is graph:
            yield name, variable
    yield from attributes_of(optimizer, Optimizer)


@children_of.register(AutoTrackable)
def _of_attributes(value: object) -> Iterator[Child]:
    return attributes_of(value)


def attributes_of(
    value: object, value_type: type | None = None, without: frozenset[str] = frozenset()
) -> Iterator[Child]:
    """Yields the attributes that a checkpoint can track, optionally only those of one type."""
    for name, item in vars(value).items():
        if name not in without and (value_type is None or isinstance(item, value_type)) and is_trackable(item):
            yield name, item


# -- what objects save themselves -------------------------------------------------------------------------------------


class StateSaveable(SaveableObject):
    """The state of a Python object as bytes, taken when the checkpoint is saved."""

    def __init__(self, state: PythonState, name: str) -> None:
        super().__init__(state, [], name)


Saved = dict[str, Callable[[str], SaveableObject]]  # by attribute: a function from its key to its saveable


@functools.singledispatch
def saved_by(value: object) -> Saved:
    """Returns what an object itself, without its children, saves in a checkpoint."""
    return {}


@saved_by.register(Variable)
def _variable(variable: Variable) -> Saved:
    return {VALUE: lambda key: VariableSaveable(variable, "", key)}


@saved_by.register(PythonState)
def _state(state: PythonState) -> Saved:
    return {"py_state": lambda key: StateSaveable(state, key)}


def full_name(value: object) -> str:
    """Returns the name of an object in name-based checkpoints; empty if it has none."""
    return value._shared_name if isinstance(value, Variable) else getattr(value, "_name", None) or ""
