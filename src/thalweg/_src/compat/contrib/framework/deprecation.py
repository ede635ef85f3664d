"""Deprecation decorators."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.base import logging
from thalweg._src.base.export import export

Function = Callable[..., Any]
_PRINT_DEPRECATION_WARNINGS = True  # programs set it, under TensorFlow's name, to keep the log short


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Keeps deprecated functions from warning inside the block."""
    global _PRINT_DEPRECATION_WARNINGS
    before, _PRINT_DEPRECATION_WARNINGS = _PRINT_DEPRECATION_WARNINGS, False
    try:
        yield
    finally:
        _PRINT_DEPRECATION_WARNINGS = before


def _warn(function: Function, what: str, date: str | None, instructions: str) -> None:
    if not _PRINT_DEPRECATION_WARNINGS:
        return
    when = "in a future version" if date is None else f"after {date}"
    name = f"{function.__module__}.{function.__qualname__}"
    logging.warning("%s: %s is deprecated and will be removed %s.\n%s", name, what, when, instructions)


def _require_instructions(instructions: str) -> None:
    if not instructions:
        raise ValueError("Don't deprecate things without conveying how to update to new behavior.")


@export("contrib.framework.deprecated")
def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """Returns a decorator that warns when a deprecated function or class is used, once or every time.

    Args:
        date: Date after which it may go, as YYYY-MM-DD.
    """
    _require_instructions(instructions)

    def decorate(function: Any) -> Any:
        has_warned = False

        def warn() -> None:
            nonlocal has_warned
            if not (has_warned and warn_once):
                has_warned = True
                _warn(function, "it", date, instructions)

        if isinstance(function, type):
            constructor = function.__init__  # type: ignore[misc]

            @functools.wraps(constructor)
            def init(self: Any, *args: Any, **kwargs: Any) -> None:
                warn()
                constructor(self, *args, **kwargs)

            function.__init__ = init  # type: ignore[misc]
            return function

        @functools.wraps(function)
        def warned(*args: Any, **kwargs: Any) -> Any:
            warn()
            return function(*args, **kwargs)

        return warned

    return decorate


@export("contrib.framework.deprecated_args")
def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Function], Function]:
    """Returns a decorator that warns when a deprecated argument is given; for (name, value), unless it is the value.

    Args:
        date: Date after which it may go, as YYYY-MM-DD.
        *deprecated_arg_names_or_tuples: Names of arguments, or pairs of a name and a value that is still fine.
        **kwargs: `warn_once`: whether it warns once, not at each use.
    """
    _require_instructions(instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    watched = [item if isinstance(item, tuple) else (item,) for item in deprecated_arg_names_or_tuples]
    return _checking_arguments(
        date,
        instructions,
        lambda arguments: [name for name, *fine in watched if name in arguments and not _same(arguments[name], fine)],
        kwargs.get("warn_once", True),
        [name for name, *_ in watched],
    )


@export("contrib.framework.deprecated_arg_values")
def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[Function], Function]:
    """Returns a decorator that warns when an argument has a deprecated value.

    Args:
        date: Date after which it may go, as YYYY-MM-DD.
        **deprecated_kwargs: Deprecated values, by argument.
    """
    _require_instructions(instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")
    return _checking_arguments(
        date,
        instructions,
        lambda arguments: [
            f"{name}={value!r}"
            for name, value in deprecated_kwargs.items()
            if name in arguments and _same(arguments[name], [value])
        ],
        warn_once,
        list(deprecated_kwargs),
    )


def _same(value: object, values: list[Any]) -> bool:
    return any(value is other or (type(value) is type(other) and value == other) for other in values)


def _checking_arguments(
    date: str | None,
    instructions: str,
    deprecated_in: Callable[[dict[str, Any]], list[str]],
    warn_once: bool,
    names: list[str],
) -> Callable[[Function], Function]:
    """Returns a decorator that calls a function with the explicit arguments of each call."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        unknown = [name for name in names if name not in signature.parameters]
        takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.parameters.values())
        if unknown and not takes_any:
            raise ValueError(f"{function.__qualname__} has no argument {', '.join(unknown)}")
        warned_of: set[str] = set()

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            arguments = signature.bind_partial(*args, **kwargs).arguments
            for what in deprecated_in({**arguments, **arguments.get("kwargs", {})}):
                if not (what in warned_of and warn_once):
                    warned_of.add(what)
                    _warn(function, what, date, instructions)
            return function(*args, **kwargs)

        return watched

    return decorate


def deprecated_argument_lookup(new_name: str, new_value: object, old_name: str, old_value: object) -> Any:
    """Returns the value of an argument that may be given under its new or its old name, but not under both."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"expected {new_name!r} or its old name {old_name!r}, received both")
    return old_value


def rewrite_argument_docstring(old_doc: str, old_argument: str, new_argument: str) -> str:
    """Returns a docstring with an argument renamed."""
    return old_doc.replace(f"`{old_argument}`", f"`{new_argument}`").replace(f"{old_argument}:", f"{new_argument}:")


def deprecated_endpoints(*args: str) -> Callable[[Any], Any]:
    """Returns a decorator that keeps the deprecated public names of a function or class."""

    def decorate(function: Any) -> Any:
        function._tf_deprecated_api_names = args
        return function

    return decorate
