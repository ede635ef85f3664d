"""Distributed values: one value per replica, grouped in the cross-replica context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.dtypes import DType
from thalweg._src.graph.convert import register_tensor_conversion_function
from thalweg._src.graph.nest import flatten, map_structure, pack_sequence_as
from thalweg._src.graph.ops.operators import install_operators
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.variables.distribution import current_mode
from thalweg._src.training.variables.variables import Variable


class DistributedValues:
    """One value per replica of this process, in the order of the replicas."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)

    @property
    def primary(self) -> Any:
        """The value of the first replica."""
        return self.values[0]

    def get(self) -> Any:
        """Returns the value of the current replica, or of the copy that is being updated."""
        mode = current_mode()
        copy = None if mode is None else mode.copy
        if copy is None:
            return self._get_cross_replica()
        return self.values[copy]

    def _get_cross_replica(self) -> Any:
        raise ValueError(
            f"{type(self).__name__} has one value per replica, and no replica is current here: reduce it with "
            "strategy.reduce, or take the values with strategy.experimental_local_results"
        )

    def _as_graph_element(self) -> Any:
        value = self.get()
        return value._as_graph_element() if hasattr(value, "_as_graph_element") else value

    def __repr__(self) -> str:
        inside = "".join(f"\n  {index}: {value!r}" for index, value in enumerate(self.values))
        return f"{type(self).__name__}:{{{inside}\n}}"


class PerReplica(DistributedValues):
    """Values that differ between replicas."""


class Mirrored(DistributedValues):
    """Values that are equal in all replicas, each on the device of its replica."""

    def _get_cross_replica(self) -> Any:
        return self.primary

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.get(), name)


def _convert(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Any:
    local_value = value.get()
    return local_value if isinstance(local_value, Tensor) else NotImplemented


register_tensor_conversion_function(DistributedValues, _convert)
install_operators(DistributedValues)


def local_values(value: Any) -> tuple[Any, ...]:
    """Returns the values of the replicas of this process; a value that is not distributed is the only one."""
    return tuple(value.values) if is_distributed(value) else (value,)


def is_distributed(value: object) -> bool:
    """Returns whether a value has one part per replica: a distributed value, or a variable with copies."""
    return isinstance(value, DistributedValues) or getattr(value, "_has_copies", False)


def value_of(replica: int, structure: object) -> Any:
    """Returns a structure with the value of one replica in place of each distributed value."""

    def chosen(value: object) -> Any:
        return value.values[replica] if isinstance(value, DistributedValues) else value

    return map_structure(chosen, structure)


def copy_of(index: int, structure: object) -> Any:
    """Returns a structure with one copy in place of each distributed value and of each variable with copies."""
    return map_structure(lambda value: value.values[index] if is_distributed(value) else value, structure)


def regroup(structures: Sequence[Any], wrap: type[DistributedValues] = PerReplica) -> Any:
    """Returns one structure for those of all replicas; leaves that are one object stay as they are."""
    first = structures[0]
    leaves = [flatten(structure) for structure in structures]
    if len({len(flat) for flat in leaves}) > 1:
        raise ValueError(f"replicas must return the same structure, received {' and '.join(map(repr, structures))}")
    return pack_sequence_as(first, [_grouped(values, wrap) for values in zip(*leaves)])


def _grouped(values: Sequence[Any], wrap: type[DistributedValues]) -> Any:
    first = values[0]
    if all(value is first for value in values):
        return first
    containers = [getattr(value, "_container", None) for value in values]
    if containers[0] is not None and all(container is containers[0] for container in containers):
        return containers[0]  # the copies of one variable
    return wrap(values)


def element(value: object) -> Any:
    """Returns what a graph knows of a value: the tensor of a variable, or the value itself."""
    return value.value() if isinstance(value, Variable) else value
