"""Kernels of control flow: the engines pass values on themselves; what is bound here is for a look at one node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg.graph.step_graph import Node
from thalweg.kernels.registry import kernel


def _same(value: Any) -> Any:
    return value


@kernel("Enter", "Exit", "NextIteration", "LoopCond", "Switch", "Merge", "_Choose", "_Alive", "_While")
def bind_by_engine(node: Node, device: Any) -> Callable[..., Any]:
    """Is never called: deciding which values exist is what the engines do."""
    return _same
