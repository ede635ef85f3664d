"""Early steps: other tasks are asked for the next step of a loop together with this one.

A training step over a network with delay is a chain of messages: request, parameters, gradients, answer. A client asks
for the next step when it has the answer. If other tasks have the request of the next step by then, they start it as
soon as this one has ended there, and its parameters travel with the answer: the chain is half as long. The client's
call then takes the step that was started.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Protocol

from thalweg._src.runtime.resources.step import is_unobserved

NEAR = 0.002  # seconds of a round trip for which no step starts early
_ENOUGH, _MOST, _LOSS = 3, 20, 10  # of the trust in a loop


class EarlyStep(Protocol):
    """A step that other tasks have been asked for before the client has."""

    def drop(self) -> None:
        """Ends the step at the other tasks, and gives up their answers; waits for nothing."""


# Other tasks start a step early only if it does nothing but read until this task takes part
# (compiler/partition/early_start.py), so a step that is dropped has changed nothing. A step that is taken has read
# variables when the last run ended there, before its own run began. What it may miss are writes between the two:
# - of this process: they are known, and the step is dropped if another run has ended since the last one of the loop
#   began: one that began before, and ended beside it, may have written after the step has read. The runs of queue
#   runners do not count, since nothing in the process learns when they end.
# - of other processes: they are ordered with this run only if this process has heard of them. It hears of them by a
#   run, or by a message on the same network, which takes as long as the answer of the last run did; so the step is
#   taken only within one round trip after that.
class Runs:
    """The runs of a master, and the steps that start early; all methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = 0
        self._loops: set[Loop] = set()  # with a step that has started early

    @contextlib.contextmanager
    def counted(self) -> Iterator[int]:
        """Counts a run over several tasks when it ends; yields how many have ended before."""
        with self._lock:
            ended = self._ended
        try:
            yield ended
        finally:
            with self._lock:
                self._ended += not is_unobserved.get()

    def follows(self, loop: Loop) -> bool:
        """Returns whether a run that begins now follows the last one of its loop at once, with no other in between."""
        with self._lock:
            is_alone = self._ended == loop.before + 1
        return is_alone and time.monotonic() <= loop.ended + loop.patience

    def keep(self, loop: Loop, early: EarlyStep | None, before: int) -> None:
        """Takes note of the end of a run, and of the step that was asked for with it."""
        with self._lock:
            loop.before, loop.ended = before, time.monotonic()
            replaced, loop.early = loop.early, early  # by another thread that runs the same
            if early is not None:
                self._loops.add(loop)
        if replaced is not None:
            replaced.drop()

    def take(self, loop: Loop) -> EarlyStep | None:
        """Returns the step that has started early, which is the caller's from now on."""
        with self._lock:
            early, loop.early = loop.early, None
            self._loops.discard(loop)
            return early

    def drop(self, session: str = "") -> None:
        """Drops the steps of a session, or those that no run has followed in time."""
        now = time.monotonic()
        with self._lock:
            loops = list(self._loops)
        for loop in loops:
            if loop.session == session if session else now > loop.ended + 1.0 + loop.patience:
                early = self.take(loop)
                if early is not None:
                    early.drop()


class Loop:
    """The runs of one executable, which may follow each other at once, as in a training loop.

    session: its name
    patience: seconds within which a run has to follow the last one: a round trip to the other tasks
    before: how many runs had ended when the last one began
    ended: when that was, by the monotonic clock
    """

    __slots__ = ("_runs", "_trust", "before", "early", "ended", "patience", "session")

    def __init__(self, runs: Runs, session: str) -> None:
        self._runs = runs
        self.session = session
        self.patience = 0.0
        self.before = 0
        self.ended = 0.0
        self.early: EarlyStep | None = None
        self._trust = 0

    def next(self) -> EarlyStep | None:
        """Returns the step that other tasks have started early for the run that begins now, if there is one."""
        if not self.patience:
            return None
        follows = self._runs.follows(self)
        # A step that is dropped costs the other task a message with its variables, so a loop that is interrupted often
        # goes without.
        self._trust = min(self._trust + 1, _MOST) if follows else max(self._trust - _LOSS, 0)
        early = self._runs.take(self)
        if early is not None and not follows:
            early.drop()
            return None
        return early

    def goes_on(self, round_trip: float) -> bool:
        """Returns whether another run is likely to follow the one that has begun, over a network with this delay."""
        self.patience = round_trip if round_trip >= NEAR else 0.0
        return self.patience > 0 and self._trust >= _ENOUGH

    def end(self, early: EarlyStep | None, before: int) -> None:
        """Takes note of the end of a run, and of the step that was asked for with it.

        before: how many runs had ended when it began
        """
        if self.patience:
            self._runs.keep(self, early, before)
