"""Passes that store or prepare elements: caching, prefetching, parallel map, interleave."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Any, ClassVar

from thalweg._src import errors
from thalweg._src.data.plan import Element, Elements, Plan, Unary
from thalweg._src.errors import invalid
from thalweg._src.export import export_constants
from thalweg._src.resources.iterators import outcome_of
from thalweg._src.resources.thread_pool import computing
from thalweg._src.resources.waiting import Outcome
from thalweg._src.resources.workers import workers

AUTOTUNE = -1
_AHEAD = 4  # prefetched elements if the number is tuned automatically
_QUICK = 200e-6  # seconds; shorter calls are not worth a thread


# -- caching ----------------------------------------------------------------------------------------------------------


class Cached(Unary):
    """Caches elements in memory during the first pass; later passes take them from there."""

    __slots__ = ("at", "held", "writing")
    kept: ClassVar = ("at", "held", "writing")

    def __init__(self, plan: Plan) -> None:
        Elements.__init__(self, plan)
        self.writing = plan.memory is None
        self.held: list[Element] = [] if self.writing else plan.memory
        self.at = 0
        if self.writing:
            self.input = plan.parents[0].elements()

    def __next__(self) -> Element:
        if self.writing:
            for element in self.input:
                self.held.append(element)
                return element
            self.writing, self.at, self.plan.memory = False, len(self.held), self.held
            raise StopIteration
        if self.at >= len(self.held):
            raise StopIteration
        self.at += 1
        return self.held[self.at - 1]

    def state(self) -> Any:
        return Unary.state(self) if self.writing else Elements.state(self)

    def restore(self, state: Any) -> None:
        Elements.restore(self, state)
        if self.writing:
            if not hasattr(self, "input"):
                self.input = self.plan.parents[0].elements()
            self.input.restore(state["input"])
        else:
            self.plan.memory = self.held

    def close(self) -> None:
        Elements.close(self)
        if self.writing:
            self.input.close()


# -- in the background ------------------------------------------------------------------------------------------------


def next_outcome(elements: Elements) -> Outcome:
    """Returns the next element or error; at the end an OutOfRangeError."""
    with computing():
        return outcome_of(elements.__next__)


class PrefetchBuffer:
    """Elements of a pass that a worker produces before they are requested.

    No thread waits while the buffer is full: the worker ends, and the consumer that makes room starts another.
    """

    def __init__(self, source: Elements, size: int) -> None:
        self.source = source
        self._size = size
        self._made: deque[Outcome] = deque()
        self._changed = threading.Condition()
        self._at_work = self._ended = self._closed = self._paused = False

    def take(self) -> Element:
        """Returns the next element as soon as it is available."""
        with self._changed:
            self._call()
            while not self._made:
                if self._ended or self._closed:
                    raise self.source.end()
                self._changed.wait()
                self._call()
            outcome = self._made.popleft()
            self._call()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome  # type: ignore[no-any-return]

    def ready(self) -> bool:
        """Returns whether the next element is available."""
        return bool(self._made)

    def start(self) -> None:
        """Starts before the first request."""
        with self._changed:
            self._call()

    def _call(self) -> None:
        idle = not (self._at_work or self._ended or self._closed or self._paused)
        if idle and len(self._made) < self._size:
            self._at_work = True
            workers.start(self._work)

    def _work(self) -> None:
        while True:
            outcome = next_outcome(self.source)
            with self._changed:
                if isinstance(outcome, errors.OutOfRangeError):
                    self._ended = True
                else:
                    self._made.append(outcome)
                full = len(self._made) >= self._size or self._ended or self._closed or self._paused
                self._at_work = not full
                self._changed.notify_all()
                if full:
                    return

    def state(self) -> Any:
        """Returns the position, after the worker has stored its current element; pending errors are dropped."""
        with self._changed:
            self._paused = True
            while self._at_work:
                self._changed.wait()
            try:
                made = [outcome for outcome in self._made if not isinstance(outcome, BaseException)]
                return {"made": made, "ended": self._ended, "source": self.source.state()}
            finally:
                self._paused = False

    def restore(self, state: Any) -> None:
        with self._changed:
            self._made = deque(state["made"])
            self._ended = state["ended"]
            self.source.restore(state["source"])

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.source.close()


class Prefetched(Elements):
    """Elements that are produced before they are requested."""

    __slots__ = ("_ahead", "_source")

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        size = plan.integer(0, "buffer_size")
        if size < AUTOTUNE:
            raise invalid(f"buffer_size is {size}, expected at least 0, or -1 for automatic tuning")
        source = plan.parents[0].elements()
        self._source: Elements = source
        self._ahead = PrefetchBuffer(source, _AHEAD if size == AUTOTUNE else size) if size else None

    def __next__(self) -> Element:
        return next(self._source) if self._ahead is None else self._ahead.take()

    def prompt(self) -> bool:
        return self._source.prompt() if self._ahead is None else self._ahead.ready()

    def state(self) -> Any:
        return self._source.state() if self._ahead is None else self._ahead.state()

    def restore(self, state: Any) -> None:
        (self._source if self._ahead is None else self._ahead).restore(state)

    def close(self) -> None:
        super().close()
        (self._source if self._ahead is None else self._ahead).close()


class _Pending:
    """A call in progress on a worker."""

    __slots__ = ("_done", "element", "outcome")

    def __init__(self, element: Element) -> None:
        self.element = element
        self.outcome: Outcome = None
        self._done = threading.Lock()
        self._done.acquire()

    def run(self, function: Any) -> None:
        with computing():
            self.outcome = outcome_of(lambda: function(*self.element))
        self._done.release()

    def result(self) -> Element:
        self._done.acquire()
        self._done.release()
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome  # type: ignore[no-any-return]


class ParallelMapped(Unary):
    """A parallel map that keeps the order of the elements.

    Calls that prove to be short run one after another: passing them to a thread would take longer.
    """

    __slots__ = ("_cost", "_function", "_most", "_pending", "ended")
    kept: ClassVar = ("ended",)
    maps: ClassVar = True

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._most = plan.integer(0, "num_parallel_calls")
        if self._most == AUTOTUNE:
            self._most = os.cpu_count() or 1
        if self._most < 1:
            raise invalid(f"num_parallel_calls must be greater than zero, but is {self._most}")
        self._function = plan.function()
        self._pending: deque[_Pending] = deque()
        self._cost: float | None = None  # measured seconds per call
        self.ended = False

    def __next__(self) -> Element:
        quick = self._cost is not None and self._cost < _QUICK
        if quick and not self._pending:
            return self._here()
        while not self.ended and not quick and len(self._pending) < self._most:
            element = next(self.input, None)
            if element is None:
                self.ended = True
                break
            pending = _Pending(element)
            self._pending.append(pending)
            workers.start(self._timed, pending)
        if not self._pending:
            raise StopIteration
        return self._pending.popleft().result()

    def _timed(self, pending: _Pending) -> None:
        begin = time.thread_time(), time.perf_counter()
        pending.run(self._function)
        cpu, wall = time.thread_time() - begin[0], time.perf_counter() - begin[1]
        # Concurrent calls wait for the interpreter lock; a longer wait has another cause.
        self._learn(wall if wall > 4 * self._most * cpu else cpu)

    def _here(self) -> Element:
        if self.ended:
            raise StopIteration
        element = next(self.input)
        begin = time.perf_counter()
        try:
            return self._function(*element)
        finally:
            self._learn(time.perf_counter() - begin)

    def _learn(self, cost: float) -> None:
        self._cost = cost if self._cost is None else 0.8 * self._cost + 0.2 * min(cost, 50 * _QUICK)

    def state(self) -> Any:
        return {**super().state(), "pending": [pending.element for pending in self._pending]}

    def restore(self, state: Any) -> None:
        super().restore(state)
        for element in state["pending"]:
            pending = _Pending(tuple(element))
            self._pending.append(pending)
            workers.start(self._timed, pending)

    def close(self) -> None:
        super().close()
        self._function.cancel()


# -- interleaving -----------------------------------------------------------------------------------------------------


class Interleaved(Unary):
    """Elements of several datasets that a function creates, in rotation: a block of each in a cycle of datasets."""

    __slots__ = ("_block", "_cycle", "_function", "_slots", "at", "ended", "taken")
    kept: ClassVar = ("at", "ended", "taken")

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._cycle, self._block = self._sizes(plan)
        self._function = plan.function()
        self._slots: list[tuple[Element, Any] | None] = [None] * self._cycle
        self.at = self.taken = 0
        self.ended = False

    def _sizes(self, plan: Plan) -> tuple[int, int]:
        cycle, block = plan.integer(0, "cycle_length"), plan.integer(1, "block_length", 1)
        if cycle == AUTOTUNE:
            cycle = os.cpu_count() or 1
        if cycle < 1:
            raise invalid(f"cycle_length must be greater than zero, but is {cycle}")
        return cycle, block

    def __next__(self) -> Element:
        while not self.closed:
            slot = self._slots[self.at]
            if slot is None:
                if self.ended:
                    if not any(self._slots):
                        raise StopIteration
                    self._advance()
                    continue
                element = next(self.input, None)
                if element is None:
                    self.ended = True
                    continue
                slot = self._slots[self.at] = (element, self._begin(element))
            try:
                result = next(slot[1])
            except StopIteration:
                self._slots[self.at] = None
                slot[1].close()
                self._advance()
                continue
            self.taken += 1
            if self.taken == self._block:
                self._advance()
            return result  # type: ignore[no-any-return]
        raise self.end()

    def _begin(self, element: Element) -> Any:
        return self._function(*element)[0].elements()

    def _advance(self) -> None:
        self.at, self.taken = (self.at + 1) % self._cycle, 0

    def state(self) -> Any:
        slots = [None if slot is None else [slot[0], slot[1].state()] for slot in self._slots]
        return {**super().state(), "slots": slots}

    def restore(self, state: Any) -> None:
        super().restore(state)
        for index, saved in enumerate(state["slots"]):
            if saved is not None:
                element = tuple(saved[0])
                elements = self._begin(element)
                elements.restore(saved[1])
                self._slots[index] = (element, elements)

    def close(self) -> None:
        super().close()
        for slot in self._slots:
            if slot is not None:
                slot[1].close()
        self._function.cancel()


class _PrefetchedElements(Elements):
    """A pass that a worker runs ahead of its consumer."""

    __slots__ = ("_ahead",)

    def __init__(self, source: Elements, size: int) -> None:
        super().__init__(source.plan)
        self._ahead = PrefetchBuffer(source, size)

    def __next__(self) -> Element:
        return self._ahead.take()

    def state(self) -> Any:
        return {"ahead": self._ahead.state()}

    def restore(self, state: Any) -> None:
        self._ahead.restore(state["ahead"])

    def close(self) -> None:
        super().close()
        self._ahead.close()


class ParallelInterleaved(Interleaved):
    """The same elements in the same order as `Interleaved`, with workers that prepare several datasets at a time."""

    __slots__ = ("_most",)

    def _sizes(self, plan: Plan) -> tuple[int, int]:
        cycle, block = super()._sizes(plan)
        self._most = plan.integer(2, "num_parallel_calls")
        if self._most == AUTOTUNE:
            self._most = os.cpu_count() or 1
        if self._most < 1:
            raise invalid(f"num_parallel_calls must be greater than zero, but is {self._most}")
        return cycle, block

    def _begin(self, element: Element) -> Any:
        elements = super()._begin(element)
        busy = sum(slot is not None and isinstance(slot[1], _PrefetchedElements) for slot in self._slots)
        return elements if busy >= self._most else _PrefetchedElements(elements, max(self._block, 2))

    def restore(self, state: Any) -> None:
        Unary.restore(self, state)
        for index, saved in enumerate(state["slots"]):
            if saved is not None:
                element = tuple(saved[0])
                elements: Elements = Interleaved._begin(self, element)
                if "ahead" in saved[1]:
                    elements = _PrefetchedElements(elements, max(self._block, 2))
                elements.restore(saved[1])
                self._slots[index] = (element, elements)


export_constants(
    AUTOTUNE=("data.experimental.AUTOTUNE", "contrib.data.AUTOTUNE"),
)
