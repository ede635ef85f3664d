"""Default graph and default session, per thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from thalweg._src.export import export

if TYPE_CHECKING:
    from thalweg._src.graph.graph import Graph


def new_graph() -> Graph:
    from thalweg._src.graph.graph import Graph

    return Graph()


class _DefaultStacks(threading.local):
    """The stacks of default graphs and sessions, one pair per thread."""

    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.sessions: list[Any] = []

    @contextlib.contextmanager
    def entered(self, stack: list[Any], element: Any) -> Iterator[Any]:
        stack.append(element)
        try:
            yield element
        finally:
            if stack:  # a test that starts discards the graphs around it
                if stack[-1] is not element:
                    raise AssertionError(f"nesting violated: {element!r} is not the innermost default")
                stack.pop()


_stacks = _DefaultStacks()
_global_lock = threading.Lock()
_global_graph: Graph | None = None


def default_graph_scope(graph: Graph) -> contextlib.AbstractContextManager[Graph]:
    return _stacks.entered(_stacks.graphs, graph)


@export("get_default_graph")
def get_default_graph() -> Graph:
    """Returns the innermost default graph of this thread, or the process's global one."""
    if _stacks.graphs:
        return _stacks.graphs[-1]
    global _global_graph
    with _global_lock:
        if _global_graph is None:
            _global_graph = new_graph()
        return _global_graph


@export("reset_default_graph")
def reset_default_graph() -> None:
    """Replaces the global default graph with an empty one."""
    if _stacks.graphs:
        raise AssertionError("Do not use tf.reset_default_graph() inside `with graph.as_default()`: use a new graph.")
    global _global_graph
    with _global_lock:
        _global_graph = new_graph()


def start_with_an_empty_graph() -> None:
    """Discards all default graphs of this thread and replaces the global one."""
    _stacks.graphs.clear()
    reset_default_graph()


@export("get_default_session")
def get_default_session() -> Any:
    """Returns the innermost default session of this thread, or None."""
    return _stacks.sessions[-1] if _stacks.sessions else None


def default_session_scope(session: Any) -> contextlib.AbstractContextManager[Any]:
    return _stacks.entered(_stacks.sessions, session)
