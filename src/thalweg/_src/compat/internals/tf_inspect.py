"""`tensorflow.python.util.tf_inspect`: Python's inspect module for functions behind decorators."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable
from typing import Any

from thalweg._src.compat.internals.tf_decorator import unwrap

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")
FullArgSpec = inspect.FullArgSpec
Parameter = inspect.Parameter


def _undecorated(obj: object) -> Any:
    """Returns the function behind all decorators that say what they wrap."""
    _, target = unwrap(obj)
    return inspect.unwrap(target) if callable(target) else target


def getfullargspec(obj: object) -> inspect.FullArgSpec:
    """Returns the arguments of a function or of its innermost decorator that states others."""
    decorators, target = unwrap(obj)
    stated = next((d.decorator_argspec for d in decorators if d.decorator_argspec is not None), None)
    return stated if isinstance(stated, inspect.FullArgSpec) else inspect.getfullargspec(target)


def getargspec(obj: object) -> ArgSpec:
    """Returns the names of positional arguments, of * and ** arguments, and the defaults."""
    spec = getfullargspec(obj)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def getcallargs(func: Callable[..., Any], *positional: Any, **named: Any) -> dict[str, Any]:
    """Returns the value of each argument of a call, defaults included."""
    return inspect.getcallargs(_undecorated(func), *positional, **named)


def getsource(object: object) -> str:
    """Returns the source text of a function or class, without its decorators' own."""
    return inspect.getsource(_undecorated(object))


def getsourcelines(object: object) -> tuple[list[str], int]:
    """Returns the lines of the source and the number of the first."""
    return inspect.getsourcelines(_undecorated(object))


def getfile(object: object) -> str:
    """Returns the file in which a function or class is defined."""
    return inspect.getfile(_undecorated(object))


def getsourcefile(object: object) -> str | None:
    """Returns the source file of a function or class."""
    return inspect.getsourcefile(_undecorated(object))


def isfunction(object: object) -> bool:
    """Returns whether a value is a Python function, decorated or not."""
    return inspect.isfunction(_undecorated(object))


def ismethod(object: object) -> bool:
    """Returns whether a value is a bound method, decorated or not."""
    return inspect.ismethod(_undecorated(object))


def isclass(object: object) -> bool:
    """Returns whether a value is a class, decorated or not."""
    return inspect.isclass(_undecorated(object))


def isanytargetmethod(object: object) -> bool:
    """Returns whether a value, or any function that it decorates, is a bound method."""
    decorators, target = unwrap(object)
    return any(inspect.ismethod(function) for function in (*(d.decorated_target for d in decorators), target))
