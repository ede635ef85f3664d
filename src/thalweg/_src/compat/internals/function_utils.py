"""`tensorflow.python.util.function_utils`: what arguments a function takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

from thalweg._src.compat.internals.tf_decorator import unwrap


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names of the arguments that a caller passes, without self and those that a partial fixes."""
    if isinstance(fn, functools.partial):
        taken = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in taken if name not in (fn.keywords or {}))
    parameters = inspect.signature(_target(fn)).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in parameters if p.kind in positional or p.kind is inspect.Parameter.KEYWORD_ONLY)


def has_kwargs(fn: Callable[..., Any]) -> bool:
    """Returns whether a function takes any keyword argument."""
    if isinstance(fn, functools.partial):
        return has_kwargs(fn.func)
    if not callable(fn):
        raise TypeError(f"fn: expected a function or a callable object, received {type(fn).__name__}")
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in inspect.signature(_target(fn)).parameters.values())


def get_func_name(func: Callable[..., Any]) -> str:
    """Returns the name of a function, or a description of another callable."""
    target = unwrap(func)[1]
    if isinstance(target, functools.partial):
        return get_func_name(target.func)
    return getattr(target, "__name__", type(target).__name__)


def get_func_code(func: Callable[..., Any]) -> CodeType | None:
    """Returns the code object of a function or of an object's `__call__`, None if it has none."""
    target = unwrap(func)[1]
    return getattr(target if hasattr(target, "__code__") else type(target).__call__, "__code__", None)


def _target(fn: object) -> Any:
    return unwrap(fn)[1]
