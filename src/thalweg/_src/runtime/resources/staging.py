"""Staging areas: values that one step leaves on its device for a later step to take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import errors
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.waiting import (
    NO_PROGRESS,
    Attempt,
    Fail,
    Finish,
    Outcome,
    Resource,
    UnorderedWaitQueue,
    WaitQueue,
    notify,
)

Values = tuple[Any, ...]


def size_of(values: Sequence[Any]) -> int:
    """Returns the size of values in bytes."""
    return sum(
        value.nbytes if hasattr(value, "untyped_storage") else sum(len(text) for text in value.ravel().tolist())
        for value in values
    )


class _FunctionAttempt(Attempt):
    """An attempt whose progress is made by a function."""

    __slots__ = ("_try",)

    def __init__(self, attempt: Callable[[], Outcome], step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._try = attempt

    def advance(self) -> Outcome:
        return self._try()


class _Bounded(Resource):
    """Base class of staging areas: limits the number of entries and their bytes."""

    def __init__(self, name: str, capacity: int, memory_limit: int, *wait_queues: WaitQueue) -> None:
        super().__init__(name, *wait_queues)
        self._capacity = capacity
        self._memory_limit = memory_limit
        self._bytes = 0

    def _require_small(self, size: int) -> None:
        if 0 < self._memory_limit < size:
            raise errors.ResourceExhaustedError(
                None,
                None,
                f"values of {size} bytes do not fit into staging area {self.name!r} "
                f"with a memory limit of {self._memory_limit}",
            )

    def clear(self) -> None:
        with self.lock:
            self.forget()
            ended = self.advance()
        notify(ended)

    def _has_room(self, entries: int, size: int) -> bool:
        return not (0 < self._capacity <= entries) and not (0 < self._memory_limit < self._bytes + size)


class StagingArea(_Bounded):
    """A queue of values to put, take and peek at."""

    def __init__(self, name: str, capacity: int, memory_limit: int) -> None:
        super().__init__(name, capacity, memory_limit, deque(), deque(), UnorderedWaitQueue())
        self._elements: deque[Values] = deque()

    def put(self, values: Values, step: Step, finish: Finish, fail: Fail) -> None:
        size = size_of(values)
        self._require_small(size)

        def enter() -> Outcome:
            if not self._has_room(len(self._elements), size):
                return NO_PROGRESS
            self._elements.append(values)
            self._bytes += size
            return ()

        self.attempt(self.wait_queues[0], _FunctionAttempt(enter, step, finish, fail))

    def take(self, step: Step, finish: Finish, fail: Fail) -> None:
        def leave() -> Outcome:
            if not self._elements:
                return NO_PROGRESS
            values = self._elements.popleft()
            self._bytes -= size_of(values)
            return values

        self.attempt(self.wait_queues[1], _FunctionAttempt(leave, step, finish, fail))

    def peek(self, index: int, step: Step, finish: Finish, fail: Fail) -> None:
        def look() -> Outcome:
            return NO_PROGRESS if len(self._elements) <= index else self._elements[index]

        self.attempt(self.wait_queues[2], _FunctionAttempt(look, step, finish, fail))

    def size(self) -> int:
        return len(self._elements)

    def forget(self) -> None:
        self._elements.clear()
        self._bytes = 0


class MapStagingArea(_Bounded):
    """Values under keys; those of one key are put one by one, and can be taken once all are there."""

    def __init__(self, name: str, count: int, is_ordered: bool, capacity: int, memory_limit: int) -> None:
        super().__init__(name, capacity, memory_limit, deque(), UnorderedWaitQueue())
        self._count = count
        self._is_ordered = is_ordered
        self._complete: dict[int, dict[int, Any]] = {}
        self._incomplete: dict[int, dict[int, Any]] = {}

    def put(self, key: int, indices: Sequence[int], values: Values, step: Step, finish: Finish, fail: Fail) -> None:
        self._require_indices(indices)
        size = size_of(values)
        self._require_small(size)

        def enter() -> Outcome:
            components = self._incomplete.get(key, {})
            if any(index in components for index in indices):
                return errors.invalid(f"key {key} of {self.name!r} already has some of these values")
            completes = len(components) + len(indices) == self._count
            if not self._has_room(len(self._complete) if completes else -1, size):
                return NO_PROGRESS
            components = {**components, **dict(zip(indices, values))}
            if completes:
                self._incomplete.pop(key, None)
                self._complete.setdefault(key, components)
            else:
                self._incomplete[key] = components
            self._bytes += size
            return ()

        self.attempt(self.wait_queues[0], _FunctionAttempt(enter, step, finish, fail))

    def take(self, key: int | None, indices: Sequence[int], keep: bool, step: Step, finish: Finish, fail: Fail) -> None:
        """Takes (with `keep`, copies) values of a key, or of the first; calls `finish` with the key and values."""
        self._require_indices(indices)

        def leave() -> Outcome:
            taken_key = key if key is not None else self._first()
            if taken_key is None or taken_key not in self._complete:
                return NO_PROGRESS
            components = self._complete[taken_key]
            missing = [index for index in indices if index not in components]
            if missing:
                return errors.invalid(f"value {missing[0]} of key {taken_key} of {self.name!r} has already been taken")
            values = tuple(components[index] for index in indices)
            if not keep:
                self._remove(taken_key, indices, values)
            return (taken_key, *values)

        self.attempt(self.wait_queues[1], _FunctionAttempt(leave, step, finish, fail))

    def _first(self) -> int | None:
        return (min(self._complete) if self._is_ordered else next(iter(self._complete))) if self._complete else None

    def _remove(self, key: int, indices: Sequence[int], values: Values) -> None:
        components = self._complete[key]
        for index in indices:
            del components[index]
        if not components:
            del self._complete[key]
        self._bytes -= size_of(values)

    def _require_indices(self, indices: Sequence[int]) -> None:
        if not all(0 <= index < self._count for index in indices) or len(set(indices)) < len(indices):
            raise errors.invalid(f"indices are {list(indices)}, expected distinct ones from 0 to {self._count - 1}")

    def size(self) -> int:
        return len(self._complete)

    def incomplete_size(self) -> int:
        return len(self._incomplete)

    def forget(self) -> None:
        self._complete.clear()
        self._incomplete.clear()
        self._bytes = 0
