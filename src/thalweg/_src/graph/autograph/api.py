"""tf.autograph: converts Python functions into ones whose control flow on tensors is control flow of the graph."""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import re
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.autograph import failures
from thalweg._src.graph.autograph.convert import MARK, convert, converted, settings, transformed
from thalweg._src.graph.autograph.syntax import gast
from thalweg._src.graph.types import TensorLike


@export("autograph.experimental.Feature", "contrib.autograph.Feature")
class Feature(enum.Enum):
    """Parts of the conversion, all of which are always active."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Returns all features."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: object) -> tuple[Feature, ...]:
        """Returns all features but some."""
        excluded = exclude if isinstance(exclude, list | tuple | set) else (exclude,)
        return tuple(feature for feature in cls if feature not in (*excluded, cls.ALL))


@export("autograph.to_graph", "contrib.autograph.to_graph")
def to_graph(
    entity: Callable[..., Any],
    recursive: bool = True,
    arg_values: object = None,
    arg_types: object = None,
    experimental_optional_features: object = None,
) -> Any:
    """Returns a function in which `if`, `while`, `for` and other statements on tensors add control flow to the graph.

    With Python values it computes what the original does.
    """
    # For its errors: what cannot be converted is refused now, not with a warning at the first call.
    _function_of(entity)
    return converted(entity, recursive)


@export("autograph.to_code", "contrib.autograph.to_code")
def to_code(
    entity: Callable[..., Any],
    recursive: bool = True,
    arg_values: object = None,
    arg_types: object = None,
    indentation: str = "  ",
    experimental_optional_features: object = None,
) -> str:
    """Returns the source of a converted function; `ag__` has the operators that it calls."""
    text = ast.unparse(gast.gast_to_ast(transformed(_function_of(entity))))
    return re.sub(r"^(?:    )+", lambda match: indentation * (len(match[0]) // 4), text, flags=re.MULTILINE)


def _function_of(entity: object) -> FunctionType:
    """Returns the function that is to be converted; raises a ConversionError if there is none."""
    while isinstance(entity, functools.partial):
        entity = entity.func
    if isinstance(entity, type) or not callable(entity):
        raise failures.UnsupportedLanguageElementError(
            f"{entity!r} cannot be converted: pass a function, a method or an object with a method `__call__`."
        )
    if not isinstance(entity, FunctionType | MethodType):
        entity = type(entity).__call__
    function = entity.__func__ if isinstance(entity, MethodType) else entity
    if not isinstance(function, FunctionType):
        raise failures.InaccessibleSourceCodeError(f"{entity!r} is not written in Python: it has no source to convert.")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        transformed(function)  # raises the error that names the line
    return function


@export("autograph.do_not_convert", "autograph.experimental.do_not_convert", "contrib.autograph.do_not_convert")
def do_not_convert(func: Any = None) -> Any:
    """Marks a function that converted code calls as it is; it may be used as a decorator."""
    if func is None:
        return do_not_convert
    if isinstance(func, FunctionType):
        setattr(func, MARK, True)
        return func

    @functools.wraps(func)
    def unconverted(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    setattr(unconverted, MARK, True)
    return unconverted


@export("contrib.autograph.convert")
def convert_decorator(
    recursive: bool = False, optional_features: object = None, user_requested: bool = False
) -> Callable[[Any], Any]:
    """Returns a decorator that converts a function."""
    return lambda function: convert(function, recursive)


@export("autograph.set_loop_options", "autograph.experimental.set_loop_options", "contrib.autograph.set_loop_options")
def set_loop_options(
    parallel_iterations: int | None = None,
    swap_memory: bool | None = None,
    maximum_iterations: TensorLike | None = None,
    shape_invariants: object = None,
) -> None:
    """Sets options of the loop in whose body it is called; a loop of Python ignores them."""


@export("autograph.set_verbosity", "contrib.autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Sets how much conversions log: from level 1 on the converted functions, from level 10 on their code."""
    settings.verbosity = level
    settings.to_stdout = alsologtostdout


@export("autograph.trace", "contrib.autograph.trace")
def trace(*args: object) -> None:
    """Prints values while a graph is built."""
    print(*args)
