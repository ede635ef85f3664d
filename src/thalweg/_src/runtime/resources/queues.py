"""Queues: bounded lists of elements that steps enqueue and dequeue, blocking when full or empty.

A queue has two wait queues, of enqueues and of dequeues, each first come, first served. A request for many elements
takes what is available and waits for the rest; if the queue is closed too early, it returns what it has taken.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from thalweg._src.base import errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.entropy import fresh_op_seed
from thalweg._src.base.shapes import Shape
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.waiting import (
    NO_PROGRESS,
    PROGRESS,
    Attempt,
    Fail,
    Finish,
    Outcome,
    Resource,
    notify,
)

Element = tuple[Any, ...]
_UNBOUNDED = 1 << 62


class Store(Protocol):
    """The elements of a queue, and the order in which they leave."""

    def __len__(self) -> int: ...

    def put(self, element: Element) -> None: ...

    def take(self) -> Element: ...

    def put_back(self, elements: Sequence[Element]) -> None:
        """Returns the elements that were taken last."""

    def available(self, is_closed: bool) -> int:
        """Returns how many elements may be taken now."""

    def clear(self) -> None: ...


class InOrder:
    """First in, first out."""

    def __init__(self) -> None:
        self._elements: deque[Element] = deque()
        self.put = self._elements.append
        self.take = self._elements.popleft
        self.clear = self._elements.clear

    def __len__(self) -> int:
        return len(self._elements)

    def put_back(self, elements: Sequence[Element]) -> None:
        self._elements.extendleft(reversed(elements))

    def available(self, is_closed: bool) -> int:
        return len(self._elements)


class Shuffled:
    """Takes elements at random; keeps a minimum number until the queue is closed, so that there is a choice."""

    def __init__(self, min_after_dequeue: int, seed: tuple[int, int]) -> None:
        self._elements: list[Element] = []
        self._stay = min_after_dequeue
        self._random = random.Random(seed[0] << 64 | seed[1] if seed != (0, 0) else fresh_op_seed())
        self.put = self._elements.append
        self.clear = self._elements.clear

    def __len__(self) -> int:
        return len(self._elements)

    def take(self) -> Element:
        elements = self._elements
        chosen = int(self._random.random() * len(elements))
        elements[chosen], elements[-1] = elements[-1], elements[chosen]
        return elements.pop()

    def put_back(self, elements: Sequence[Element]) -> None:
        self._elements.extend(elements)

    def available(self, is_closed: bool) -> int:
        return len(self._elements) - (0 if is_closed else self._stay)


class ByPriority:
    """Takes the element with the lowest first component; among equal ones the oldest."""

    def __init__(self) -> None:
        self._heap: list[tuple[Any, int, Element]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, element: Element) -> None:
        self._count += 1
        heapq.heappush(self._heap, (int(element[0]), self._count, element))

    def take(self) -> Element:
        return heapq.heappop(self._heap)[2]

    def put_back(self, elements: Sequence[Element]) -> None:
        lowest = min((place for _, place, _ in self._heap), default=self._count + 1)
        for place, element in enumerate(elements, lowest - len(elements)):
            heapq.heappush(self._heap, (int(element[0]), place, element))

    def available(self, is_closed: bool) -> int:
        return len(self._heap)

    def clear(self) -> None:
        self._heap.clear()


class Queue(Resource):
    """A bounded queue of elements, each a tuple of components."""

    def __init__(
        self,
        name: str,
        kind: str,
        store: Store,
        dtypes: tuple[DType, ...] = (),
        shapes: tuple[Shape, ...] | None = None,
        capacity: int = -1,
        traits: tuple[tuple[str, Any], ...] = (),
    ) -> None:
        super().__init__(name, deque(), deque())
        self.kind = kind
        self.dtypes = dtypes
        self.shapes = shapes
        self.capacity = capacity
        self.traits = traits  # further properties on which all handles of this queue must agree
        self.is_closed = False
        self._limit = capacity if capacity >= 0 else _UNBOUNDED
        self._store = store
        self._enqueues, self._dequeues = self.wait_queues

    def enqueue(self, element: Element, step: Step, finish: Finish, fail: Fail) -> None:
        """Enqueues one element, immediately if there is room and no enqueue waits."""
        with self.lock:
            is_free = not self._enqueues and not self.is_closed and len(self._store) < self._limit
            immediate = is_free and not step.cancelled
            if immediate:
                self._store.put(element)
                ended = self.advance() if self._dequeues else ()
        if immediate:
            if ended:
                notify(ended)
            finish()
        else:
            self.attempt(self._enqueues, _Enqueue(self, [element], step, finish, fail))

    def enqueue_many(self, elements: Sequence[Element], step: Step, finish: Finish, fail: Fail) -> None:
        """Enqueues elements one after the other, as room becomes available."""
        if elements:
            self.attempt(self._enqueues, _Enqueue(self, elements, step, finish, fail))
        else:
            finish()

    def put(self, element: Element) -> None:
        """Enqueues an element of a queue without a limit, which its owner then advances; the lock is held."""
        self._store.put(element)

    def dequeue(self, step: Step, finish: Finish, fail: Fail) -> None:
        """Dequeues one element, immediately if possible and no dequeue waits; calls `finish` with its components."""
        with self.lock:
            immediate = not self._dequeues and self._store.available(self.is_closed) > 0 and not step.cancelled
            if immediate:
                element = self._store.take()
                ended = self.advance() if self._enqueues else ()
        if immediate:
            if ended:
                notify(ended)
            finish(*element)
        else:
            self.attempt(self._dequeues, _Dequeue(self, 1, False, step, lambda elements: finish(*elements[0]), fail))

    def dequeue_many(self, count: int, allow_small: bool, step: Step, finish: Finish, fail: Fail) -> None:
        """Dequeues this many elements, or the rest of a closed queue if allowed; calls `finish` with a list."""
        self.attempt(self._dequeues, _Dequeue(self, count, allow_small, step, finish, fail))

    def close(self, cancel_pending: bool, step: Step, finish: Finish, fail: Fail) -> None:
        """Closes the queue: waiting enqueues are cancelled, or complete before the queue closes."""
        if not cancel_pending:
            self.attempt(self._enqueues, _Close(self, step, finish, fail))
            return
        with self.lock:
            self.is_closed = True
            cancelled = errors.CancelledError(None, None, f"{self} was closed, and waiting enqueues were cancelled")
            ended = self.fail_all([self._enqueues], cancelled)
            ended += self.advance()
        notify(ended)
        finish()

    def size(self) -> int:
        return len(self._store)

    def forget(self) -> None:
        self.is_closed = True
        self._store.clear()

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


class _Enqueue(Attempt):
    """A pending enqueue; elements that have entered stay even if it is cancelled."""

    __slots__ = ("_elements", "_entered", "_queue")

    def __init__(self, queue: Queue, elements: Sequence[Element], step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._queue = queue
        self._elements = elements
        self._entered = 0

    def advance(self) -> Outcome:
        queue, store = self._queue, self._queue._store
        if queue.is_closed:
            return errors.CancelledError(None, None, f"{queue} is closed.")
        room = queue._limit - len(store)
        if room <= 0:
            return NO_PROGRESS
        entering = self._elements[self._entered : self._entered + room]
        for element in entering:
            store.put(element)
        self._entered += len(entering)
        return PROGRESS if self._entered < len(self._elements) else ()


class _Dequeue(Attempt):
    """A pending dequeue, with the elements that it has taken so far."""

    __slots__ = ("_allow_small", "_count", "_queue", "_taken")

    def __init__(self, queue: Queue, count: int, allow_small: bool, step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._queue = queue
        self._count = count
        self._allow_small = allow_small
        self._taken: list[Element] = []

    def advance(self) -> Outcome:
        queue, store = self._queue, self._queue._store
        if queue.is_closed and len(store) + len(self._taken) < self._count:
            self.undo()
            if not self._allow_small or not len(store):
                return errors.OutOfRangeError(
                    None,
                    None,
                    f"{queue} is closed and has insufficient elements "
                    f"(requested {self._count}, current size {len(store)})",
                )
            self._count = len(store)
        count = min(store.available(queue.is_closed), self._count - len(self._taken))
        if count <= 0:
            return NO_PROGRESS
        self._taken += [store.take() for _ in range(count)]
        return PROGRESS if len(self._taken) < self._count else (self._taken,)

    def undo(self) -> None:
        self._queue._store.put_back(self._taken)
        self._taken = []


class _Close(Attempt):
    """A pending close, which takes effect after the enqueues that were waiting before it."""

    __slots__ = ("_queue",)

    def __init__(self, queue: Queue, step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._queue = queue

    def advance(self) -> Outcome:
        if self._queue.is_closed:
            return errors.CancelledError(None, None, f"{self._queue} is already closed.")
        self._queue.is_closed = True
        return ()
