"""Default graph and default session, per thread."""

from __future__ import annotations

import threading

from thalweg._src.base.export import export
from thalweg._src.graph.default_stacks import stacks
from thalweg._src.graph.graph import Graph

_global_lock = threading.Lock()
_global_graph: Graph | None = None


@export("get_default_graph")
def get_default_graph() -> Graph:
    """Returns the innermost default graph of this thread, or the process's global one."""
    if stacks.graphs:
        return stacks.graphs[-1]  # type: ignore[no-any-return]
    if stacks.outermost is not None:
        return stacks.outermost  # type: ignore[no-any-return]
    # Two threads may ask for the first time at once, and have to get the same graph.
    global _global_graph
    with _global_lock:
        if _global_graph is None:
            _global_graph = Graph()
        return _global_graph


@export("reset_default_graph")
def reset_default_graph() -> None:
    """Replaces the global default graph with an empty one."""
    if stacks.graphs:
        raise AssertionError("Do not use tf.reset_default_graph() inside `with graph.as_default()`: use a new graph.")
    global _global_graph
    with _global_lock:
        _global_graph = Graph()


def start_with_an_empty_graph() -> None:
    """Discards all default graphs of this thread and replaces the global one."""
    stacks.graphs.clear()
    stacks.refresh()
    reset_default_graph()


def is_global_graph_used() -> bool:
    """Returns whether the process's global graph contains operations."""
    return _global_graph is not None and bool(_global_graph.operations)


@export("executing_eagerly", "contrib.eager.executing_eagerly", "contrib.eager.in_eager_mode")
def executing_eagerly() -> bool:
    """Returns whether operations run at once, instead of being added to a graph."""
    return stacks.is_eager


@export("executing_eagerly_outside_functions")
def executing_eagerly_outside_functions() -> bool:
    """Returns whether operations run at once outside of the functions that are being traced."""
    return outermost(get_default_graph()).executes


def outermost(graph: Graph) -> Graph:
    """Returns the graph around all functions that a graph is the body of."""
    # Functions may be traced within functions.
    while graph.captures and graph.outer is not None:  # type: ignore[attr-defined]
        graph = graph.outer  # type: ignore[attr-defined]
    return graph
