"""Gradients of Python functions: with respect to their arguments, or to the variables that they read."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.identity import identity
from thalweg._src.runtime.eager.gradient_tape import GradientTape

Parameters = Sequence[int] | Sequence[str] | None


@export("contrib.eager.implicit_value_and_gradients")
def implicit_val_and_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that returns f's value, and pairs of gradient and trainable variable that f reads."""

    @functools.wraps(f)
    def compute(*args: Any, **kwds: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with GradientTape() as tape:
            value = _require_value(f, f(*args, **kwds))
        variables = tape.watched_variables()
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return value, list(zip(tape.gradient(value, list(variables)), variables))

    return compute


@export("contrib.eager.implicit_gradients")
def implicit_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that returns pairs of gradient and trainable variable that f reads."""
    compute = implicit_val_and_grad(f)
    return functools.wraps(f)(lambda *args, **kwds: compute(*args, **kwds)[1])


@export("contrib.eager.value_and_gradients_function")
def val_and_grad_function(f: Callable[..., Any], params: Parameters = None) -> Callable[..., Any]:
    """Returns a function that returns f's value, and its gradients with respect to some or all arguments."""

    @functools.wraps(f)
    def compute(*args: Any, dy: object = None, **kwds: Any) -> tuple[Any, list[Any]]:
        if kwds:
            raise ValueError("Functions to be differentiated cannot receive keyword arguments.")
        value, vjp = make_vjp(f, params, persistent=False)(*args)
        return value, vjp(dy)

    return compute


@export("contrib.eager.gradients_function")
def gradients_function(f: Callable[..., Any], params: Parameters = None) -> Callable[..., Any]:
    """Returns a function that returns the gradients of f with respect to some or all arguments."""
    compute = val_and_grad_function(f, params)
    return functools.wraps(f)(lambda *args, **kwds: compute(*args, **kwds)[1])


def make_vjp(f: Callable[..., Any], params: Parameters = None, persistent: bool = True) -> Callable[..., Any]:
    """Returns a function that returns f's value, and a function from the gradients of it to those of the arguments."""

    @functools.wraps(f)
    def compute(*args: Any) -> tuple[Any, Callable[..., Any]]:
        positions = _positions(f, params, len(args))
        arguments = list(args)
        for position in positions:
            # Arguments that are one tensor have gradients of their own.
            arguments[position] = identity(convert_to_tensor(args[position]))
        sources = [arguments[position] for position in positions]
        with GradientTape(persistent=persistent) as tape:
            tape.watch(sources)
            value = nest.map_structure(identity, _require_value(f, f(*arguments)))
        return value, lambda dy=None: tape.gradient(value, sources, dy)

    return compute


def _require_value(f: Callable[..., Any], value: object) -> Any:
    if value is None:
        raise ValueError(
            "Cannot differentiate a function that returns None; "
            f"did you forget to return a value from {getattr(f, '__name__', f)}?"
        )
    return value


def _positions(f: Callable[..., Any], params: Parameters, count: int) -> list[int]:
    """Returns the positions of the arguments to differentiate by."""
    if not params:
        return list(range(count))
    if all(isinstance(param, int) for param in params):
        return [int(param) for param in params]
    if not all(isinstance(param, str) for param in params):
        raise ValueError(f"params must be all strings or all integers; got {params}.")
    names = list(inspect.signature(f).parameters)
    return [names.index(str(param)) for param in params]
