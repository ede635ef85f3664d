"""The steps of a worker, as a pure state machine: events in, what to do out; no threads, no sockets, no clock.

A step's tensors and its abort may arrive before the step itself, since other tasks send them directly; its tensors may
also arrive after it failed here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from thalweg._src.cluster.distributed.limits import MAX_EARLY_STEPS

Mailbox = TypeVar("Mailbox")  # where the tensors of a step arrive
Run = TypeVar("Run")  # a step that runs here

_REMEMBERED = 4096  # steps that ended with an error, whose late tensors are dropped
_LEAST_BYTES = 512  # that a tensor takes with its key, however small it is
EARLY_SECONDS = 60.0  # after which tensors of a step that never started are dropped


@dataclass(slots=True)
class _Entry(Generic[Mailbox, Run]):
    mailbox: Mailbox
    since: float
    run: Run | None = None
    tasks: Collection[str] = ()
    early: dict[str, int] = field(default_factory=dict)  # bytes that each task sent before the step started


# The request of a step, its tensors and its abort come on different connections, in any order. So a tensor makes an
# entry without a run, which the step takes over when it starts, and an abort of a step that does not run here is
# remembered, so that it will not start. Numbers of steps are not used again, so what is remembered is never about
# another step.
# Nothing says that a step will ever start: its master may be lost after it has asked another task. Entries without a
# run are therefore dropped after a time, with the link of their only sender, and at a limit for each sender; one task
# cannot take the room of another, and a tensor of no bytes counts too, for the memory of its entry.
class WorkerSteps(Generic[Mailbox, Run]):
    """The steps that this worker knows of; its caller makes one call at a time."""

    def __init__(self, make_mailbox: Callable[[int], Mailbox], early_bytes: int) -> None:
        """early_bytes: how much one task may send for steps that have not started here."""
        self._make_mailbox = make_mailbox
        self._early_bytes = early_bytes
        self._entries: dict[int, _Entry[Mailbox, Run]] = {}
        self._failed: OrderedDict[int, BaseException] = OrderedDict()

    def mailbox(self, step: int, now: float, source: str = "", nbytes: int = 0) -> Mailbox | None:
        """Returns where a tensor of a step goes; None if the step failed, and the tensor is to be dropped.

        Raises ValueError if its sender has sent too much for steps that have not started.
        """
        if step in self._failed:
            return None
        entry = self._entries.get(step)
        if entry is None or entry.run is None:
            entry = self._announced(step, now, source, nbytes + _LEAST_BYTES)
        return entry.mailbox

    def _announced(self, step: int, now: float, source: str, nbytes: int) -> _Entry[Mailbox, Run]:
        if step not in self._entries:
            self.expire(now)
        early = {s: e.early[source] for s, e in self._entries.items() if e.run is None and source in e.early}
        if len(early.keys() | {step}) > MAX_EARLY_STEPS or sum(early.values()) + nbytes > self._early_bytes:
            raise ValueError(f"it sent {sum(early.values())} bytes for {len(early)} steps that have not started")
        entry = self._entry(step, now)
        entry.early[source] = entry.early.get(source, 0) + nbytes
        return entry

    def start(self, step: int, run: Run, tasks: Collection[str], now: float) -> Mailbox | BaseException:
        """Starts a step in which other tasks take part; returns its mailbox, or the error that aborted it before."""
        if step in self._failed:
            return self._failed[step]
        entry = self._entry(step, now)
        if entry.run is not None:
            return ValueError(f"step {step} runs already")
        entry.run, entry.tasks = run, tasks
        return entry.mailbox

    def end(self, step: int, error: BaseException | None = None) -> None:
        """Forgets a step that ended; if it failed, tensors that arrive later are dropped."""
        self._entries.pop(step, None)
        if error is not None:
            self._remember(step, error)

    def abort(self, step: int, error: BaseException) -> Run | None:
        """Returns the run to fail when another task aborts a step, if it runs here."""
        entry = self._entries.get(step)
        # The entry stays: the run ends by itself once it has noticed, and `end` then remembers the error.
        if entry is not None and entry.run is not None:
            return entry.run
        self._entries.pop(step, None)
        self._remember(step, error)
        return None

    def aborted(self, step: int) -> BaseException | None:
        """Returns the error of a step that failed, or was aborted before it started."""
        return self._failed.get(step)

    def peer_lost(self, task: str) -> list[Run]:
        """Returns the runs to fail when a task is lost: those in which it takes part.

        What it has sent for steps that have not started is dropped.
        """
        for step in [s for s, e in self._entries.items() if e.run is None and e.early.keys() == {task}]:
            del self._entries[step]
        return [entry.run for entry in self._entries.values() if entry.run is not None and task in entry.tasks]

    def expire(self, now: float) -> list[int]:
        """Drops the tensors of steps that did not start for long, and returns these steps."""
        old = [s for s, e in self._entries.items() if e.run is None and now - e.since > EARLY_SECONDS]
        for step in old:
            del self._entries[step]
        return old

    def runs(self) -> dict[int, Run]:
        """Returns the running steps."""
        return {step: entry.run for step, entry in self._entries.items() if entry.run is not None}

    def _entry(self, step: int, now: float) -> _Entry[Mailbox, Run]:
        if step not in self._entries:
            self._entries[step] = _Entry(self._make_mailbox(step), now)
        return self._entries[step]

    def _remember(self, step: int, error: BaseException) -> None:
        self._failed[step] = error
        while len(self._failed) > _REMEMBERED:
            self._failed.popitem(last=False)
