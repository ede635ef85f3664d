"""The stacks of default graphs and sessions, one of each per thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, TypeVar

from thalweg._src.export import export

T = TypeVar("T")


class _DefaultStacks(threading.local):
    """The stacks of default graphs and sessions, one pair per thread."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.sessions: list[Any] = []

    @contextlib.contextmanager
    def entered(self, stack: list[Any], element: T) -> Iterator[T]:
        stack.append(element)
        try:
            yield element
        finally:
            if stack:  # a test that starts forgets the graphs around it
                if stack[-1] is not element:
                    raise AssertionError(f"Nesting violated for default stack of {type(element)} objects")
                stack.pop()


stacks = _DefaultStacks()


def default_graph_scope(graph: T) -> contextlib.AbstractContextManager[T]:
    return stacks.entered(stacks.graphs, graph)


@export("get_default_session")
def get_default_session() -> Any:
    """Returns the innermost default session of this thread, or None."""
    return stacks.sessions[-1] if stacks.sessions else None


def default_session_scope(session: T) -> contextlib.AbstractContextManager[T]:
    return stacks.entered(stacks.sessions, session)
