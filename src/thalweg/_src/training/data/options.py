"""tf.data.Options: settings of how a dataset runs, stored with it."""

from __future__ import annotations

import enum
from typing import Any

from thalweg._src.base import determinism
from thalweg._src.base.export import export


class Group:
    """A group of options, each of which may be set."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = object.__hash__

    def merge(self, other: Group) -> Group:
        """Returns these options and those of another group."""
        return type(self)(**_merged(self.__dict__, other.__dict__))


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of both, which must not contradict."""
    result = {**first, **second}
    for name in first.keys() & second.keys():
        one, other = first[name], second[name]
        if isinstance(one, Group):
            result[name] = one.merge(other)
        elif None not in (one, other) and one != other:
            raise ValueError(f"Cannot merge incompatible values ({one} and {other}) of option: {name}")
        else:
            result[name] = other if one is None else one
    return result


@export("data.experimental.DistributeOptions")
class DistributeOptions(Group):
    """How a dataset is distributed to replicas."""


@export("data.experimental.OptimizationOptions")
class OptimizationOptions(Group):
    """Which optimizations a dataset may undergo."""


@export("data.experimental.ThreadingOptions")
class ThreadingOptions(Group):
    """How many threads a dataset may use."""


@export("data.experimental.MapVectorizationOptions")
class MapVectorizationOptions(Group):
    """Options of map vectorization, which is applied wherever it preserves the result."""


@export("data.experimental.StatsOptions")
class StatsOptions(Group):
    """Which statistics are collected while a dataset runs."""


@export("data.experimental.AutoShardPolicy")
class AutoShardPolicy(enum.IntEnum):
    """By what a dataset is sharded among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2


_GROUPS: dict[str, type[Group]] = {
    "experimental_distribute": DistributeOptions,
    "experimental_optimization": OptimizationOptions,
    "experimental_stats": StatsOptions,
    "experimental_threading": ThreadingOptions,
    "threading": ThreadingOptions,
}


class Option:
    """A descriptor of an option, unset by default; an option that is a group always exists."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, options: Options, owner: type | None = None) -> Any:
        if options is None:
            return self
        if self._name in _GROUPS:
            return options._values.setdefault(self._name, _GROUPS[self._name]())
        return options._values.get(self._name)

    def __set__(self, options: Options, value: object) -> None:
        options._values[self._name] = value


@export("data.Options")
class Options:
    """Options for how a dataset runs."""

    experimental_deterministic = Option()
    experimental_distribute = Option()
    experimental_external_state_policy = Option()
    experimental_optimization = Option()
    experimental_slack = Option()
    experimental_stats = Option()
    experimental_threading = Option()
    experimental_autotune = Option()
    experimental_numa_aware = Option()
    deterministic = Option()
    autotune = Option()
    threading = Option()

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def __setattr__(self, name: str, value: object) -> None:
        if name != "_values" and not hasattr(type(self), name):
            raise AttributeError(f"Cannot set the property {name} on tf.data.Options")
        object.__setattr__(self, name, value)

    def merge(self, options: Options) -> Options:
        """Returns these options and those of another, which must not contradict."""
        result = Options()
        result._values = _merged(self._values, options._values)
        return result

    @property
    def is_unordered(self) -> bool:
        """Whether parallel calls need not keep the order of the elements."""
        unordered = self.experimental_deterministic is False or self.deterministic is False
        return unordered and not determinism.is_required()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self._values == other._values

    __hash__ = object.__hash__
