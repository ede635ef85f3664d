"""The current distribution strategy of a graph, and the replica that a thread builds for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from thalweg._src.graph.default import get_default_graph


@dataclass(frozen=True, slots=True)
class Mode:
    """The context in which a thread adds operations under a strategy.

    replica: the ReplicaContext of the thread; None in a cross-replica context
    updating: the number of the copy that `StrategyExtended.update` is updating, or None
    """

    strategy: Any
    replica: Any = None
    updating: int | None = None

    @property
    def copy(self) -> int | None:
        """The number of the copy of a replicated value that this context addresses; None if it addresses all."""
        return self.updating if self.replica is None else self.replica.local_index


class _Modes(threading.local):
    """The entered contexts, per thread; innermost last."""

    def __init__(self) -> None:
        self.stack: list[Mode] = []


def current_mode() -> Mode | None:
    """Returns the context of this thread in the default graph; None outside of any strategy."""
    stack = get_default_graph().singleton("distribution", _Modes).stack
    return stack[-1] if stack else None


def losses_are_averaged() -> bool:
    """Returns whether the gradients are those of the mean of the replicas' losses, as Estimators train."""
    mode = current_mode()
    if mode is None or not mode.strategy._scale_loss_for_estimator:
        return False
    return bool(get_default_graph().singleton("last_loss", dict).get("reduction") != "weighted_sum")


@contextlib.contextmanager
def entered(mode: Mode) -> Iterator[None]:
    """Context manager: makes a context the current one in the default graph."""
    stack = get_default_graph().singleton("distribution", _Modes).stack
    stack.append(mode)
    try:
        yield
    finally:
        stack.pop()
