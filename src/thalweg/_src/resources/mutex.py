"""Mutex: admits one step at a time to a critical section; the others wait in a queue without holding a thread."""

from __future__ import annotations

from collections import deque
from typing import Any

from thalweg._src.resources.step import Step
from thalweg._src.resources.waiting import NO_PROGRESS, Attempt, Fail, Finish, Outcome, Resource, notify


class Mutex(Resource):
    """A lock that a step acquires and releases."""

    def __init__(self, name: str) -> None:
        super().__init__(name, deque())
        self.is_held = False

    def acquire(self, step: Step, finish: Finish, fail: Fail) -> None:
        """Calls `finish` with a `Lock` once this step has acquired the mutex."""
        self.attempt(self.wait_queues[0], _Acquire(self, step, finish, fail))

    def release(self) -> None:
        with self.lock:
            self.is_held = False
            ended = self.advance()
        notify(ended)


class Lock:
    """Ownership of the mutex: lasts until it is released, garbage-collected, or its step is cancelled."""

    __slots__ = ("__weakref__", "_cancellation", "_mutex", "_token")

    def __init__(self, mutex: Mutex, step: Step) -> None:
        self._mutex: Mutex | None = mutex
        self._cancellation = step.cancellation
        self._token: int | None = None

    def listen(self) -> None:
        self._token = self._cancellation.register(lambda error: self.release())

    def release(self) -> None:
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            self._cancellation.deregister(self._token)
            mutex.release()

    def __del__(self) -> None:
        self.release()


class _Acquire(Attempt):
    __slots__ = ("_mutex",)

    def __init__(self, mutex: Mutex, step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._mutex = mutex

    def advance(self) -> Outcome:
        if self._mutex.is_held:
            return NO_PROGRESS
        self._mutex.is_held = True
        return ()

    def end(self, outcome: Any) -> None:
        if outcome == ():
            lock = Lock(self._mutex, self._step)
            lock.listen()
            outcome = (lock,)
        super().end(outcome)
