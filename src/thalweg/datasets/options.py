"""Options: advice about how a dataset is run, kept with it."""

from __future__ import annotations

from typing import Any

_NAMES = (
    "experimental_deterministic",
    "experimental_distribute",
    "experimental_external_state_policy",
    "experimental_optimization",
    "experimental_slack",
    "experimental_stats",
    "experimental_threading",
    "experimental_autotune",
    "experimental_numa_aware",
    "deterministic",
    "autotune",
    "threading",
)


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


class DistributeOptions(Group):
    """How a dataset is divided among replicas."""


class OptimizationOptions(Group):
    """Which rewritings a dataset may have."""


class ThreadingOptions(Group):
    """How many threads a dataset may use."""


_GROUPS: dict[str, type[Group]] = {
    "experimental_distribute": DistributeOptions,
    "experimental_optimization": OptimizationOptions,
    "experimental_threading": ThreadingOptions,
    "threading": ThreadingOptions,
}


class Options:
    """What may be said about how a dataset is run. Elements come in order and alike whatever it says."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise AttributeError(f"tf.data.Options has no property {name!r}")
        if name in _GROUPS:
            return self._values.setdefault(name, _GROUPS[name]())
        return self._values.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_values":
            object.__setattr__(self, name, value)
        elif name in _NAMES:
            self._values[name] = value
        else:
            raise AttributeError(f"Cannot set the property {name} on tf.data.Options")

    def merge(self, options: Options) -> Options:
        """Returns these options with those of another in front."""
        result = Options()
        result._values = {**self._values, **options._values}
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self._values == other._values

    __hash__ = object.__hash__
