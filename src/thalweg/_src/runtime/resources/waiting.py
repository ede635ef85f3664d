"""Wait queues of blocking resources: steps wait as queued attempts, without holding a thread.

A resource has one or more wait queues of attempts (an enqueue, a dequeue, ...). Whatever changes the resource lets the
attempt at the head of each queue make progress, until none can: an enqueue may unblock a dequeue, which makes room for
the next enqueue. Callbacks of finished attempts run after the resource's lock is released, since they may use it again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from thalweg._src.base import errors
from thalweg._src.runtime.resources.step import Step


class _Status:
    """The status of an attempt that is not finished."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


NO_PROGRESS = _Status("NO_PROGRESS")  # nothing could be done
PROGRESS = _Status("PROGRESS")  # something was done, but the attempt is not finished
Outcome = Any  # NO_PROGRESS, PROGRESS, the error of a failed attempt, or the tuple of its results

Finish = Callable[..., None]


Fail = Callable[[Any, errors.OpError], None]  # called with the step and the error


class Attempt:
    """A pending operation of a step on a resource; subclasses define how it makes progress and how it is undone."""

    __slots__ = ("_fail", "_finish", "_step", "_token", "is_over")

    def __init__(self, step: Step, finish: Finish, fail: Fail) -> None:
        self._step = step
        self._finish = finish
        self._fail = fail
        self._token: int | None = None
        self.is_over = False

    def advance(self) -> Outcome:
        """Makes as much progress as possible; the resource's lock is held."""
        raise NotImplementedError

    @property
    def is_cancelled(self) -> bool:
        """Whether the step has ended, and the attempt is about to be withdrawn: it must take nothing any more."""
        return self._step.cancelled

    def undo(self) -> None:
        """Returns what was taken so far, when the attempt is cancelled; the resource's lock is held."""

    def end(self, outcome: Outcome) -> None:
        """Calls the callback of the attempt with its outcome."""
        if self._token is not None:
            self._step.cancellation.deregister(self._token)
        if isinstance(outcome, BaseException):
            self._fail(self._step, outcome)  # type: ignore[arg-type]
        else:
            self._finish(*outcome)

    def listen(self, withdraw: Callable[[Attempt], None]) -> None:
        """Withdraws the attempt when its step is cancelled."""
        # Called without the resource's lock: if the step is cancelled already, `register` calls `withdraw` at once,
        # which takes it. So the attempt may end before, while or after it is registered, and each order is handled.
        self._token = self._step.cancellation.register(lambda error: withdraw(self))
        if self.is_over:  # it finished meanwhile, perhaps before the token was set
            self._step.cancellation.deregister(self._token)


WaitQueue = deque[Attempt]


class UnorderedWaitQueue(WaitQueue):
    """A wait queue whose attempts wait for different conditions: all of them are tried, not only the head."""


Ended = list[tuple[Attempt, Outcome]]


def notify(ended: Iterable[tuple[Attempt, Outcome]]) -> None:
    """Calls the callbacks of finished attempts; no lock is held."""
    for attempt, outcome in ended:
        attempt.end(outcome)


class Resource:
    """A resource that steps wait at: a lock, and wait queues of attempts."""

    def __init__(self, name: str, *wait_queues: WaitQueue) -> None:
        self.name = name
        self.lock = threading.Lock()
        self.wait_queues = wait_queues

    def attempt(self, queue: WaitQueue, attempt: Attempt) -> None:
        """Appends an attempt to a wait queue and makes as much progress as possible."""
        with self.lock:
            queue.append(attempt)
            ended = self.advance()
        notify(ended)
        if not attempt.is_over:
            attempt.listen(self._withdraw)

    def advance(self) -> Ended:
        """Advances attempts until none makes progress, and returns those that are finished; the lock is held."""
        # A fixed point: progress in one queue may make the head of another one runnable, in both directions (a dequeue
        # makes room, an enqueue fills it), so all queues are tried until a round changes nothing. Each round but the
        # last changes the resource or ends an attempt, and both are finite, so it ends.
        ended: Ended = []
        moved = True
        while moved:
            moved = False
            for queue in self.wait_queues:
                moved |= bool(queue) and self._advance_queue(queue, ended)
        return ended

    def _advance_queue(self, queue: WaitQueue, ended: Ended) -> bool:
        moved = False
        # A cancelled attempt makes no progress, though it is still in its queue: what it took would be lost between now
        # and its withdrawal. In an ordered queue it holds up those behind it until then, which is soon.
        if isinstance(queue, UnorderedWaitQueue):
            for attempt in list(queue):
                outcome = NO_PROGRESS if attempt.is_cancelled else attempt.advance()
                moved = moved or outcome is not NO_PROGRESS
                if outcome is not NO_PROGRESS and outcome is not PROGRESS:
                    queue.remove(attempt)
                    attempt.is_over = True
                    ended.append((attempt, outcome))
            return moved
        while queue:
            outcome = NO_PROGRESS if queue[0].is_cancelled else queue[0].advance()
            if outcome is NO_PROGRESS:
                break
            moved = True
            if outcome is PROGRESS:
                break
            attempt = queue.popleft()
            attempt.is_over = True
            ended.append((attempt, outcome))
        return moved

    def _withdraw(self, attempt: Attempt) -> None:
        """Removes the attempt of a cancelled step from its wait queue."""
        with self.lock:
            if attempt.is_over:
                return
            attempt.is_over = True
            for queue in self.wait_queues:
                if attempt in queue:
                    queue.remove(attempt)
            attempt.undo()
            ended = self.advance()
        notify(ended)

    def fail_all(self, queues: Iterable[WaitQueue], error: errors.OpError) -> Ended:
        """Fails all attempts of some wait queues with an error; the lock is held."""
        ended: Ended = []
        for queue in queues:
            for attempt in queue:
                attempt.is_over = True
                ended.append((attempt, error))
            queue.clear()
        return ended

    def forget(self) -> None:
        """Drops the contents of the resource; the lock is held."""

    def destroy(self) -> None:
        """Fails all waiting attempts and drops the contents, as when a session closes."""
        gone = errors.CancelledError(None, None, f"{self.name!r} was destroyed while an operation waited for it")
        with self.lock:
            ended = self.fail_all(self.wait_queues, gone)
            self.forget()
        notify(ended)
