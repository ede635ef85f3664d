"""Step: one execution of a step signature, with the state that its programs share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

from thalweg._src.base import errors
from thalweg._src.runtime.resources.cancellation import Cancellation
from thalweg._src.runtime.resources.rendezvous import Rendezvous

is_unobserved = ContextVar("is_unobserved", default=False)  # whether only graphs learn when runs of this thread end
_creation = threading.Lock()
_SIGNAL_CHECK_SECONDS = 1.0  # between checks for Ctrl-C: Python may miss a signal that arrives just before it blocks


class Finished(Protocol):
    """The event that the caller of a step waits on."""

    def set(self) -> None:
        """Wakes the caller."""


class Pump(Protocol):
    """What a thread that waits for a step does meanwhile: it reads the messages of other tasks."""

    def wait(self, seconds: float) -> None:
        """Handles messages, for at most so long."""

    def wake(self) -> None:
        """Ends the wait of another thread."""


class PumpedEvent:
    """An event whose waiter handles messages of other tasks until it is set."""

    __slots__ = ("_is_set", "_pump")

    def __init__(self, pump: Pump) -> None:
        self._pump = pump
        self._is_set = False

    def set(self) -> None:
        self._is_set = True
        self._pump.wake()

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, timeout: float) -> bool:
        if not self._is_set:
            self._pump.wait(timeout)
        return self._is_set


class Changes(Protocol):
    """The transaction of a step, as the executors see it."""

    def enter(self) -> bool:
        """Returns whether a segment of the step may start."""

    def leave(self) -> None:
        """Records the end of a segment."""


class Step:
    """The rendezvous and the cancellation of a running step."""

    __slots__ = (
        *("__weakref__", "_cancellation", "_limit", "_rendezvous"),
        *("ask", "cancelled", "deadline", "finished", "number", "pump", "trace", "transaction", "waiting"),
    )

    def __init__(self) -> None:
        self.cancelled = False
        self._cancellation: Cancellation | None = None
        self._rendezvous: Rendezvous | None = None
        self.finished: Finished | None = None
        self.pump: Pump | None = None  # of the thread that runs a step with messages of other tasks
        self.waiting: set[str] = set()
        self.trace: Any = None
        self.deadline: float | None = None  # by the monotonic clock
        self.number = 0  # by which the tasks of a cluster know the step
        self.transaction: Changes | None = None  # what it changes of consistent variables here
        self.ask: Callable[[str], bool] | None = None  # another task whether it committed the changes of this step

    @property
    def rendezvous(self) -> Rendezvous:
        if self._rendezvous is None:
            self._rendezvous = Rendezvous()
        return self._rendezvous

    @property
    def cancellation(self) -> Cancellation:
        # Most steps never need the object: creating it for each costs more than this check.
        if self._cancellation is None:
            with _creation:  # a thread that cancels and one that starts to wait must see the same object
                if self._cancellation is None:
                    self._cancellation = Cancellation()
        return self._cancellation

    def use(self, rendezvous: Rendezvous) -> None:
        """Sets the rendezvous, before programs start."""
        self._rendezvous = rendezvous

    def share(self) -> None:
        """Creates the shared objects before programs start, so that no two threads create them at once."""
        self._rendezvous = self.rendezvous
        self._cancellation = self.cancellation

    def limit(self, milliseconds: int) -> None:
        """Limits the time of the step from now on."""
        self._limit = milliseconds
        self.deadline = time.monotonic() + milliseconds / 1000

    def milliseconds_left(self) -> int:
        """Returns the time that is left to the step, at least one millisecond; 0 if it has no limit."""
        return 0 if self.deadline is None else max(1, int((self.deadline - time.monotonic()) * 1000))

    def event(self) -> threading.Event | PumpedEvent:
        """Returns an event for the thread that waits for this step."""
        return threading.Event() if self.pump is None else PumpedEvent(self.pump)

    def wait(self, event: threading.Event | PumpedEvent) -> None:
        """Blocks until an event is set or the time of the step is up, which fails it."""
        while not event.wait(self._patience()):
            if self.deadline is not None and time.monotonic() >= self.deadline:
                waiting = ", ".join(sorted(self.waiting))
                detail = f"; still waiting: {waiting}" if waiting else ""
                self.fail(
                    errors.DeadlineExceededError(
                        None, None, f"Timed out waiting for notification: after {self._limit} ms{detail}"
                    )
                )
                return

    def _patience(self) -> float:
        if self.deadline is None:
            return _SIGNAL_CHECK_SECONDS
        return min(_SIGNAL_CHECK_SECONDS, max(0.0, self.deadline - time.monotonic()))

    def fail(self, error: BaseException) -> None:
        """Ends the step with an error; later errors are ignored."""
        self.cancellation.cancel(error)
        self.cancelled = True
        if self.finished is not None:
            self.finished.set()

    def stop(self) -> None:
        """Raises the error that ended the step; programs call this when they find it cancelled."""
        raise self.cancellation.error or errors.CancelledError(None, None, "Step was cancelled.")
