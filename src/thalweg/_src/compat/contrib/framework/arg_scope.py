"""arg_scope: default arguments of functions inside a `with` block."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from thalweg._src.base.export import export

Scope = dict[str, dict[str, Any]]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_ARGUMENTS: dict[str, tuple[str, ...]] = {}


class _Scopes(threading.local):
    """The current scopes of each thread, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Scope] = [{}]


_scopes = _Scopes()


@export("contrib.framework.current_arg_scope", "contrib.slim.current_arg_scope")
def current_arg_scope() -> Scope:
    """Returns the current default arguments, by function."""
    return _scopes.stack[-1]


@export("contrib.framework.arg_scope_func_key", "contrib.slim.arg_scope_func_key")
def arg_scope_func_key(op: object) -> str:
    """Returns the key of a function in scopes."""
    return getattr(op, "_key_op", None) or str(op)


@export("contrib.framework.has_arg_scope", "contrib.slim.has_arg_scope")
def has_arg_scope(func: Any) -> bool:
    """Returns whether a function takes default arguments from `arg_scope`.

    Args:
        func: The function.
    """
    return arg_scope_func_key(func) in _ARGUMENTS


@export("contrib.framework.arg_scoped_arguments", "contrib.slim.arg_scoped_arguments")
def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """Returns the names of the arguments that scopes can set.

    Args:
        func: The function.
    """
    if not has_arg_scope(func):
        raise ValueError(f"{func} is not decorated with @add_arg_scope")
    return _ARGUMENTS[arg_scope_func_key(func)]


@export("contrib.framework.arg_scope", "contrib.slim.arg_scope")
@contextlib.contextmanager
def arg_scope(list_ops_or_scope: object, **kwargs: Any) -> Iterator[Scope]:
    """Context manager that sets default arguments of functions, or re-enters a scope returned by `with ... as`.

    Args:
        list_ops_or_scope: Functions that take arguments from scopes, or a scope made before.
        **kwargs: The arguments, by name.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by suppling a dictionary, kwargs must be empty; "
                f"got {', '.join(kwargs)}."
            )
        scope = dict(list_ops_or_scope)
    else:
        scope = _extended(list_ops_or_scope, kwargs)
    _scopes.stack.append(scope)
    try:
        yield scope
    finally:
        _scopes.stack.pop()


def _extended(functions: object, kwargs: dict[str, Any]) -> Scope:
    if not isinstance(functions, list | tuple):
        raise TypeError(
            "list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict), "
            f"got {type(functions).__name__}: write arg_scope([function], ...)"
        )
    scope = dict(current_arg_scope())
    for function in functions:
        if not has_arg_scope(function):
            raise ValueError(f"{_full_name(function)} is not decorated with @add_arg_scope")
        key = arg_scope_func_key(function)
        scope[key] = {**scope.get(key, {}), **kwargs}
    return scope


def _full_name(function: object) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__name__', function)}"


@export("contrib.framework.add_arg_scope", "contrib.slim.add_arg_scope")
def add_arg_scope(func: _Function) -> _Function:
    """Decorator: the function takes default arguments from `arg_scope`.

    Args:
        func: The function.
    """
    key = arg_scope_func_key(func)

    @functools.wraps(func)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        defaults = current_arg_scope().get(key)
        return func(*args, **({**defaults, **kwargs} if defaults else kwargs))

    _ARGUMENTS[key] = tuple(
        name for name, p in inspect.signature(func).parameters.items() if p.default is not inspect.Parameter.empty
    )
    scoped._key_op = key  # type: ignore[attr-defined]
    return scoped  # type: ignore[return-value]
