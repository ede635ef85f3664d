"""Queues: bounded lists of elements that steps put in and take out, waiting where they must.

A queue has two lines, of those that put in and of those that take out, each first come, first served. A request for
many elements takes what is there and waits for the rest; when the queue is closed too early, what it took goes back.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from thalweg._src import errors
from thalweg._src.dtypes import DType
from thalweg._src.resources.step import Step
from thalweg._src.resources.waiting import MOVED, STUCK, Attempt, Fail, Finish, Outcome, Resource, tell
from thalweg._src.shapes import Shape

Element = tuple[Any, ...]
_UNBOUNDED = 1 << 62


class Store(Protocol):
    """The order in which elements leave."""

    def __len__(self) -> int: ...

    def put(self, element: Element) -> None: ...

    def take(self) -> Element: ...

    def put_back(self, elements: Sequence[Element]) -> None:
        """Takes elements back that were taken last."""

    def available(self, is_closed: bool) -> int:
        """Returns how many elements may leave now."""

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
    """Any element may be next; some stay behind until the queue is closed, so that there is a choice."""

    def __init__(self, min_after_dequeue: int, seed: tuple[int, int]) -> None:
        self._elements: list[Element] = []
        self._stay = min_after_dequeue
        self._random = random.Random(seed[0] << 64 | seed[1] if seed != (0, 0) else None)
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
    """The lowest first component is next; of equal ones the oldest."""

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
        self.traits = traits  # what another handle of this queue must ask for as well
        self.is_closed = False
        self._limit = capacity if capacity >= 0 else _UNBOUNDED
        self._store = store
        self._putting, self._taking = self.lines

    def enqueue(self, element: Element, step: Step, finish: Finish, fail: Fail) -> None:
        """Puts one element in, at once if there is room and nobody was first."""
        with self.lock:
            at_once = not self._putting and not self.is_closed and len(self._store) < self._limit
            if at_once:
                self._store.put(element)
                ended = self.advance() if self._taking else ()
        if at_once:
            if ended:
                tell(ended)
            finish()
        else:
            self.attempt(self._putting, _Putting(self, [element], step, finish, fail))

    def enqueue_many(self, elements: Sequence[Element], step: Step, finish: Finish, fail: Fail) -> None:
        """Puts elements in one after the other, as there is room."""
        if elements:
            self.attempt(self._putting, _Putting(self, elements, step, finish, fail))
        else:
            finish()

    def dequeue(self, step: Step, finish: Finish, fail: Fail) -> None:
        """Takes one element, at once if there is one and nobody was first; finishes with its components."""
        with self.lock:
            at_once = not self._taking and self._store.available(self.is_closed) > 0
            if at_once:
                element = self._store.take()
                ended = self.advance() if self._putting else ()
        if at_once:
            if ended:
                tell(ended)
            finish(*element)
        else:
            self.attempt(self._taking, _Taking(self, 1, False, step, lambda elements: finish(*elements[0]), fail))

    def dequeue_many(self, count: int, allow_small: bool, step: Step, finish: Finish, fail: Fail) -> None:
        """Takes this many elements, or what a closed queue has left if it may; finishes with the list of them."""
        self.attempt(self._taking, _Taking(self, count, allow_small, step, finish, fail))

    def close(self, cancel_pending: bool, step: Step, finish: Finish, fail: Fail) -> None:
        """Lets no more elements in: those that wait to enter are cancelled, or enter before the queue closes."""
        if not cancel_pending:
            self.attempt(self._putting, _Closing(self, step, finish, fail))
            return
        with self.lock:
            self.is_closed = True
            cancelled = errors.CancelledError(None, None, f"{self} was closed, and waiting enqueues were cancelled")
            ended = self.give_up([self._putting], cancelled)
            ended += self.advance()
        tell(ended)
        finish()

    def size(self) -> int:
        return len(self._store)

    def forget(self) -> None:
        self.is_closed = True
        self._store.clear()

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


class _Putting(Attempt):
    """Elements that are to enter; those that are in stay in, whatever becomes of the rest."""

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
            return STUCK
        entering = self._elements[self._entered : self._entered + room]
        for element in entering:
            store.put(element)
        self._entered += len(entering)
        return MOVED if self._entered < len(self._elements) else ()


class _Taking(Attempt):
    """A request for elements, with those that it has already."""

    __slots__ = ("_allow_small", "_queue", "_taken", "_wanted")

    def __init__(self, queue: Queue, wanted: int, allow_small: bool, step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._queue = queue
        self._wanted = wanted
        self._allow_small = allow_small
        self._taken: list[Element] = []

    def advance(self) -> Outcome:
        queue, store = self._queue, self._queue._store
        if queue.is_closed and len(store) + len(self._taken) < self._wanted:
            self.undo()
            if not self._allow_small or not len(store):
                return errors.OutOfRangeError(
                    None,
                    None,
                    f"{queue} is closed and has insufficient elements "
                    f"(requested {self._wanted}, current size {len(store)})",
                )
            self._wanted = len(store)
        count = min(store.available(queue.is_closed), self._wanted - len(self._taken))
        if count <= 0:
            return STUCK
        self._taken += [store.take() for _ in range(count)]
        return MOVED if len(self._taken) < self._wanted else (self._taken,)

    def undo(self) -> None:
        self._queue._store.put_back(self._taken)
        self._taken = []


class _Closing(Attempt):
    """The end of a queue, which comes after those that were in line before it."""

    __slots__ = ("_queue",)

    def __init__(self, queue: Queue, step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._queue = queue

    def advance(self) -> Outcome:
        if self._queue.is_closed:
            return errors.CancelledError(None, None, f"{self._queue} is already closed.")
        self._queue.is_closed = True
        return ()
