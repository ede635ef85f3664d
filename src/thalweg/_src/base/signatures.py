"""Signatures that functions share: parameters declared once, for functions that pass them on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


def parameter(name: str, default: object = inspect.Parameter.empty) -> inspect.Parameter:
    """Returns a parameter that may be given by position or by name."""
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def arguments(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns all arguments of a call by name, default values included."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    values = dict(bound.arguments)
    for name, declared in signature.parameters.items():
        if declared.kind is inspect.Parameter.VAR_KEYWORD:
            values |= values.pop(name)
    return values


def taking(signature: inspect.Signature, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of keyword arguments as one with a signature."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(**arguments(signature, args, kwargs))

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def variant(function: Callable[Concatenate[T, P], R], first: T) -> Callable[[Callable[[], None]], Callable[P, R]]:
    """Decorator: what a name and docstring declare is another function with a fixed first argument."""
    signature = inspect.signature(function)
    others = signature.replace(parameters=[*signature.parameters.values()][1:])

    def define(declared: Callable[[], None]) -> Callable[P, R]:
        @wraps(declared)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(first, *args, **kwargs)

        call.__signature__ = others  # type: ignore[attr-defined]
        call.__parameters_of__ = function  # type: ignore[attr-defined]
        return call

    return define


def parameters_of(
    other: Callable[..., Any], without: Sequence[str] = (), before: str | None = None, **defaults: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a function of keyword arguments takes the parameters of another one, some with other defaults.

    Parameters that the function names itself and the other one lacks come before the one that `before` names.
    """
    declared = inspect.signature(other).parameters

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        inherited = {name: p.replace(default=defaults.get(name, p.default)) for name, p in declared.items()}
        names = [name for name in inherited if name not in without]
        named = inspect.signature(function).parameters.items()
        additional = [p for name, p in named if name not in names and p.kind is not inspect.Parameter.VAR_KEYWORD]
        place = names.index(before) if before else len(names)
        every = [inherited[name] for name in names]
        call = taking(inspect.Signature([*every[:place], *additional, *every[place:]]), function)
        call.__parameters_of__ = other  # type: ignore[attr-defined]
        return call

    return declare
