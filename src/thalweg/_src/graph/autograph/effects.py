"""Effects: operations that converted statements add for what they do, such as printing, and that results wait for."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from thalweg._src.graph import nest
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor


class Scope:
    """A function, branch or loop body that is traced, with the effects so far."""

    # Graph and context say where the scope is: an operation elsewhere cannot be waited for from here.
    __slots__ = ("_context", "_graph", "effects")

    def __init__(self) -> None:
        self.effects: list[Operation] = []
        self._graph = get_default_graph()
        self._context = self._graph.scopes.context

    def add(self, operation: Operation) -> None:
        """Adds an effect, unless it is in a branch or a loop that runs independently of this scope."""
        if operation.graph is self._graph and operation.context is self._context:
            self.effects.append(operation)

    def returned(self, value: object) -> Any:
        """Returns the result of a function with its tensors after the effects."""
        # A function that returns no tensor still has its effects in the caller's scope, by `function_scope`.
        if not self.effects or not any(_is_symbolic(leaf) for leaf in nest.flatten(value, expand_composites=True)):
            return value
        return nest.map_structure(
            lambda leaf: with_dependencies(self.effects, leaf) if _is_symbolic(leaf) else leaf,
            value,
            expand_composites=True,
        )

    def after(self, tensor: Tensor) -> Tensor:
        """Returns a tensor after the effects."""
        return with_dependencies(self.effects, tensor) if self.effects else tensor


class _Scopes(threading.local):
    """The scopes that a thread is tracing, innermost last."""

    def __init__(self) -> None:
        self.stack: list[Scope] = []


_scopes = _Scopes()


@contextlib.contextmanager
def function_scope() -> Iterator[Scope]:
    """Collects the effects of a function; they are effects of its caller too."""
    with block_scope() as scope:
        yield scope
    # A function that returns a constant would otherwise lose what it printed.
    for operation in scope.effects:
        effect(operation)


@contextlib.contextmanager
def block_scope() -> Iterator[Scope]:
    """Collects the effects of a branch or a loop body, which are invisible outside."""
    scope = Scope()
    _scopes.stack.append(scope)
    try:
        yield scope
    finally:
        _scopes.stack.pop()


def effect(value: object) -> Any:
    """Adds the operation that a statement evaluates to the effects of the innermost scope, and returns it."""
    if get_default_graph().is_ordered:
        return value  # a function orders its effects itself
    element: Any = value._as_graph_element() if hasattr(value, "_as_graph_element") else value
    operation = element.op if _is_symbolic(element) else element
    # The value of an expression statement is dropped. It matters only if computing it has an effect; an addition whose
    # result is not used must not be made to run.
    if isinstance(operation, Operation) and _scopes.stack and (operation is value or _has_effect(element)):
        _scopes.stack[-1].add(operation)
    return value


def _has_effect(tensor: Tensor) -> bool:
    """Returns whether computing a tensor changes state; that of a reference variable is changed by its references."""
    return tensor.op.definition.stateful or tensor.dtype._is_ref_dtype


@contextlib.contextmanager
def ordered() -> Iterator[None]:
    """Makes operations inside run after the effects so far."""
    with control_dependencies(_scopes.stack[-1].effects if _scopes.stack else []):
        yield


def _is_symbolic(value: object) -> bool:
    return isinstance(value, Tensor) and type(value).__bool__ is Tensor.__bool__
