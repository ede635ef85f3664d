"""Variable creators: functions of the user through which all variables of a scope are created."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph


class _Creators(threading.local):
    """The current functions of `variable_creator_scope`, per thread; innermost last."""

    def __init__(self) -> None:
        self.stack: list[Callable[..., Any]] = []
        self.building = False


def variable_creators() -> _Creators:
    """Returns the functions of `variable_creator_scope` that this thread has entered in the default graph."""
    # Of each graph, as a scope concerns the variables of the graph in which it was entered.
    return get_default_graph().singleton("variable_creators", _Creators)  # type: ignore[no-any-return]


@export("variable_creator_scope")
@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Context manager: `variable_creator(next_creator, **kwargs)` creates every variable inside."""
    stack = variable_creators().stack
    stack.append(variable_creator)
    try:
        yield
    finally:
        stack.pop()
