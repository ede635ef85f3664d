"""Barrier: assembles elements from components that arrive one by one under a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape
from thalweg._src.runtime.resources.queues import ByPriority, Queue
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.waiting import Fail, Finish, Outcome, notify

_FIRST = -(2**63)


class Barrier:
    """A map of keys to incomplete elements, and a queue of complete ones in the order in which keys first arrived.

    Keys that were first inserted by one call share an index, which defines that order.
    """

    def __init__(self, name: str, dtypes: tuple[DType, ...], shapes: tuple[Shape, ...], capacity: int) -> None:
        self.name = name
        self.dtypes = dtypes
        self.shapes = shapes
        self.capacity = capacity
        self._ready = Queue(name, "Barrier", ByPriority())
        self._lock = self._ready.lock
        self._incomplete: dict[bytes, list[Any]] = {}  # index, key, components
        self._calls = 0
        self.is_closed = False
        self._is_cancelled = False

    def insert(self, component: int, keys: Sequence[bytes], values: Sequence[Any]) -> None:
        """Inserts one component for each key and moves the elements that it completes to the queue."""
        failed: errors.OpError | None = None
        # The index of a key is that of the call which first inserted it, whatever component came first: elements leave
        # in this order, though they are completed in another one.
        with self._lock:
            index, is_new = _FIRST + self._calls, False
            for key, value in zip(keys, values):
                is_new = is_new or key not in self._incomplete
                entry = self._entry(key, index, component)
                if isinstance(entry, errors.OpError):
                    failed = entry
                    break
                entry[2 + component] = (value,)
                if None not in entry[2:]:
                    self._incomplete.pop(key, None)
                    self._ready.put((entry[0], key, *[component_value for (component_value,) in entry[2:]]))
            self._calls += is_new
            ended = self._ready.advance()
        notify(ended)
        self._close_when_complete()
        if failed is not None:
            raise failed

    def _entry(self, key: bytes, index: int, component: int) -> Any:
        entry = self._incomplete.get(key)
        if self._is_cancelled or (entry is None and self.is_closed):
            what = "an existing" if entry is not None else "a new"
            return errors.CancelledError(None, None, f"{self} is closed, but {what} key was inserted: {key!r}")
        if entry is None:
            entry = [index, key, *[None] * len(self.dtypes)]
            self._incomplete[key] = entry
        if entry[2 + component] is not None:
            return errors.invalid(f"{self}: key {key!r} has its component {component} already")
        return entry

    def take(self, count: int, allow_small: bool, step: Step, finish: Finish, fail: Fail) -> None:
        """Takes complete elements; calls `finish` with the list of (index, key, components...)."""
        if self.is_closed:
            with self._lock:
                available = self._ready.size() + (0 if allow_small else len(self._incomplete))
            num_taken = min(count, available) if allow_small else count
            if available < max(num_taken, 1):
                raise errors.OutOfRangeError(
                    None,
                    None,
                    f"{self} is closed and has insufficient elements (requested {num_taken}, total size {available})",
                )
            count = num_taken
        if count:
            self._ready.dequeue_many(count, allow_small, step, finish, fail)
        else:
            finish([])

    def close(self, cancel_pending: bool) -> None:
        """Rejects new keys; incomplete elements may still be completed unless they are cancelled."""
        with self._lock:
            again = self.is_closed and not cancel_pending
            self.is_closed = True
            if cancel_pending:
                self._is_cancelled = True
                self._incomplete.clear()
        if again:
            raise errors.CancelledError(None, None, f"{self} is already closed.")
        self._close_when_complete()

    def _close_when_complete(self) -> None:
        with self._lock:
            over = self.is_closed and not self._incomplete and not self._ready.is_closed
        if over:
            self._ready.close(True, Step(), _ignore, _raise)

    def ready_size(self) -> int:
        return self._ready.size()

    def incomplete_size(self) -> int:
        return len(self._incomplete)

    def destroy(self) -> None:
        self._ready.destroy()

    def __str__(self) -> str:
        return f"Barrier {self.name!r}"


def _ignore(*results: Outcome) -> None:
    """A completion callback for operations that no step waits for."""


def _raise(step: Step, error: errors.OpError) -> None:
    raise error
