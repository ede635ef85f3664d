"""The stacks of default graphs and sessions, one of each per thread, and whether a thread executes eagerly."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

from thalweg._src.base.export import export

T = TypeVar("T")


class _DefaultStacks(threading.local):
    """The stacks of default graphs and sessions, one pair per thread.

    is_eager: whether operations run at once, since the innermost default graph executes them
    is_plain: whether in addition no scope changes what they do, so that they need not ask that graph
    tapes: the gradient tapes that record operations
    callbacks: functions that are called after each operation
    """

    outermost: Any = None  # the graph outside of all scopes if eager execution is enabled; of all threads
    is_eager = is_plain = False  # outside of all scopes; of all threads

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.sessions: list[Any] = []
        self.tapes: tuple[Any, ...] = ()
        self.ran: list[Any] | None = None  # the kernel that runs next and its inputs, for the cache of calls
        self.callbacks: tuple[Any, ...] = ()

    @contextlib.contextmanager
    def entered(self, stack: list[Any], element: T) -> Iterator[T]:
        stack.append(element)
        self.refresh()
        try:
            yield element
        finally:
            if stack:  # a test that starts forgets the graphs around it
                if stack[-1] is not element:
                    raise AssertionError(f"Nesting violated for default stack of {type(element)} objects")
                stack.pop()
            self.refresh()

    def refresh(self) -> None:
        """Notes how operations are executed now, after the default graph or its scopes have changed."""
        graph = self.graphs[-1] if self.graphs else self.outermost
        self.is_eager = graph is not None and graph.executes
        changed = self.is_eager and (graph.scopes.devices or graph.scopes.gradient_overrides or self.callbacks)
        self.is_plain = self.is_eager and not changed

    def set_outermost(self, graph: Any) -> None:
        """Sets the graph outside of all scopes, for all threads; None for a graph that only collects operations."""
        kind = type(self)
        kind.outermost = graph
        kind.is_eager = kind.is_plain = graph is not None
        if not self.graphs:
            self.refresh()


stacks = _DefaultStacks()


def default_graph_scope(graph: T) -> contextlib.AbstractContextManager[T]:
    """Returns a context manager that makes a graph the default one of this thread."""
    return stacks.entered(stacks.graphs, graph)


@export("get_default_session")
def get_default_session() -> Any:
    """Returns the innermost default session of this thread, or None."""
    return stacks.sessions[-1] if stacks.sessions else None


def default_session_scope(session: T) -> contextlib.AbstractContextManager[T]:
    return stacks.entered(stacks.sessions, session)
