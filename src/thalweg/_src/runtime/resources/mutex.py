"""Mutex: admits one step to a critical section, or several that share it; the others wait, without holding a thread."""

from __future__ import annotations

from collections import deque

from thalweg._src.base import errors
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.waiting import NO_PROGRESS, Attempt, Fail, Finish, Outcome, Resource, notify


class Mutex(Resource):
    """A lock that a step acquires and releases, first come, first served."""

    def __init__(self, name: str) -> None:
        super().__init__(name, deque())
        self.holders = 0
        self.is_shared = False  # whether others that share it may enter
        self.refusal: errors.OpError | None = None  # the error of those that would have to wait

    def acquire(
        self, step: Step, finish: Finish, fail: Fail, is_shared: bool = False, outlives_step: bool = False
    ) -> None:
        """Calls `finish` with a `Lock` once this step has acquired the mutex.

        outlives_step: the lock is not released when the step is cancelled
        """
        self.attempt(self.wait_queues[0], _Acquire(self, is_shared, outlives_step, step, finish, fail))

    def refuse(self, error: errors.OpError | None) -> None:
        """Fails those that wait, and those that would have to wait from now on; without an error, they wait again."""
        with self.lock:
            self.refusal = error
            ended = self.advance()
        notify(ended)

    def release(self) -> None:
        with self.lock:
            self.holders -= 1
            ended = self.advance()
        notify(ended)


class Lock:
    """Ownership of the mutex: lasts until it is released, garbage-collected, or its step is cancelled."""

    __slots__ = ("__weakref__", "_cancellation", "_is_held", "_token", "mutex")

    def __init__(self, mutex: Mutex, step: Step) -> None:
        self.mutex = mutex
        self._is_held = True
        self._cancellation = step.cancellation
        self._token: int | None = None

    def listen(self) -> None:
        self._token = self._cancellation.register(lambda error: self.release())

    def release(self) -> None:
        was_held, self._is_held = self._is_held, False
        if was_held:
            self._cancellation.deregister(self._token)
            self.mutex.release()

    def __del__(self) -> None:
        self.release()


class _Acquire(Attempt):
    __slots__ = ("_is_shared", "_mutex", "_outlives_step")

    def __init__(
        self, mutex: Mutex, is_shared: bool, outlives_step: bool, step: Step, finish: Finish, fail: Fail
    ) -> None:
        super().__init__(step, finish, fail)
        self._mutex = mutex
        self._is_shared = is_shared
        self._outlives_step = outlives_step

    def advance(self) -> Outcome:
        mutex = self._mutex
        if mutex.holders and not (mutex.is_shared and self._is_shared):
            return mutex.refusal or NO_PROGRESS
        mutex.holders += 1
        mutex.is_shared = self._is_shared
        return ()

    def end(self, outcome: object) -> None:
        if outcome == ():
            lock = Lock(self._mutex, self._step)
            if not self._outlives_step:
                lock.listen()
            outcome = (lock,)
        super().end(outcome)
