"""The registry of graph transforms: functions from a GraphDef and a context to another GraphDef."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from thalweg._src.base.errors import describe, invalid
from thalweg._src.base.registry import Loader, Registry

T = TypeVar("T")
_TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


@dataclass(frozen=True, slots=True)
class Context:
    """What a transform knows besides the graph: inputs and outputs of the whole graph, and its own parameters.

    parameters: all values of each parameter, in order, since some may be repeated
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def fixed_names(self) -> set[str]:
        """The nodes whose names callers rely on."""
        return {*self.inputs, *self.outputs}

    def many(self, name: str) -> tuple[str, ...]:
        """Returns all values of a parameter."""
        return self.parameters.get(name, ())

    def one(self, name: str, default: str | None = None) -> str:
        """Returns the one value of a parameter, which is required unless there is a default."""
        values = self.many(name) or (() if default is None else (default,))
        if len(values) != 1:
            raise invalid(f"{name}: expected one value, received {len(values)}; write {name}=VALUE")
        return values[0]

    def integer(self, name: str, default: int) -> int:
        """Returns the value of a parameter as an integer."""
        return self._converted(int, name, str(default), "an integer")

    def flag(self, name: str, default: bool) -> bool:
        """Returns the value of a parameter as a truth value."""
        return self._converted(lambda text: _TRUTH[text.lower()], name, str(default), "true or false")

    def _converted(self, convert: Callable[[str], T], name: str, default: str, expected: str) -> T:
        text = self.one(name, default)
        try:
            return convert(text)
        except (ValueError, KeyError):
            raise invalid(f"{name}: expected {expected}, received {text!r}") from None


Transform = Callable[[Any, Context], Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A transform, with the parameters that it takes."""

    apply: Transform
    parameters: tuple[str, ...]


TRANSFORMS: Registry[Entry] = Registry("graph transform", Loader("thalweg._src.deploy.transform"))


def transform(name: str, *parameters: str) -> Callable[[Transform], Transform]:
    """Registers a transform under a name."""

    def register(function: Transform) -> Transform:
        TRANSFORMS.register(name, Entry(function, parameters), function.__module__)
        return function

    return register


def check_parameters(name: str, parameters: Mapping[str, tuple[str, ...]]) -> Entry:
    """Returns a transform; raises InvalidArgumentError if there is none of the name, or it lacks a parameter."""
    try:
        entry = TRANSFORMS.lookup(name)
    except LookupError as error:
        raise invalid(describe(str(error), expected=f"one of {', '.join(sorted(TRANSFORMS))}", received=name)) from None
    unknown = set(parameters) - {*entry.parameters, "ignore_errors"}
    if unknown:
        raise invalid(
            describe(
                f"the transform {name} has no parameter {', '.join(sorted(unknown))}",
                expected=", ".join((*entry.parameters, "ignore_errors")),
            )
        )
    return entry
