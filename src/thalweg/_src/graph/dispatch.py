"""Dispatch: functions of tensors that are called with another type, such as a ragged tensor.

A function is tried first, so that calls with tensors cost nothing; if it fails, and an argument is of a registered
type, the implementation for that type takes over.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_types: tuple[type, ...] = ()
_implementations: dict[Any, Callable[..., Any]] = {}
ERRORS = (TypeError, ValueError, AttributeError)  # what functions raise for values that they cannot convert


def register_type(cls: type) -> None:
    """Registers a type whose instances may be passed to functions of tensors."""
    global _types
    _types = (*_types, cls)


def is_dispatched(value: object) -> bool:
    """Returns whether a value is of a registered type."""
    return isinstance(value, _types)


def implements(*functions: Hashable) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: registers the implementation of functions or ops for the registered types."""

    def register(implementation: Callable[P, R]) -> Callable[P, R]:
        for function in functions:
            _implementations[function] = implementation
        return implementation

    return register


def implementation_for(function: Hashable, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Returns what to call instead of a function that has refused its arguments, or None."""
    # An error of a call without such an argument is the caller's own, and is raised again as it is.
    implementation = _implementations.get(function)
    return implementation if implementation is not None and _contains([*args, *kwargs.values()]) else None


def _contains(values: Iterable[Any]) -> bool:
    return any(isinstance(v, _types) or (isinstance(v, list | tuple) and _contains(v)) for v in values)


def dispatches(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: makes a function of tensors accept the types that it has an implementation for."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ERRORS:
            implementation = implementation_for(call, args, kwargs)
            if implementation is None:
                raise
        return implementation(*args, **kwargs)  # type: ignore[no-any-return]

    return call
