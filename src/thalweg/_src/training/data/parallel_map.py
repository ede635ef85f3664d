"""Parallel map: workers pull elements of the input and call a function for several of them at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, ClassVar

from thalweg._src.base import errors
from thalweg._src.runtime.resources.iterators import outcome_of
from thalweg._src.runtime.resources.thread_pool import computing
from thalweg._src.runtime.resources.waiting import Outcome
from thalweg._src.runtime.resources.workers import workers
from thalweg._src.training.data.buffers import next_outcome, parallel_calls
from thalweg._src.training.data.iteration import BoundDataset, Element, Position, Unary

_QUICK = 200e-6  # seconds; shorter calls are not worth a thread
_LONGEST = 4 * _QUICK  # of one call in the mean of all: an interrupted one does not make them long, two of them do


class _Call:
    """A call of the function for an element, or an error of the input in its place."""

    __slots__ = ("element", "is_done", "outcome")

    def __init__(self, pulled: Outcome) -> None:
        self.is_done = isinstance(pulled, BaseException)
        self.element: Any = None if self.is_done else pulled
        self.outcome: Outcome = pulled if self.is_done else None


class ParallelMapped(Unary):
    """A parallel map: hands on each result as soon as it and all results before it are complete.

    A worker pulls an element, lets another worker pull the next one, and calls the function for its own. So a result
    waits neither for later elements nor for their calls, which may need that it is consumed first. If the order of the
    elements does not matter, a result waits for nothing.

    While elements are produced quickly, they are produced on request by the thread of the consumer: passing them to
    another thread would take longer.
    """

    __slots__ = (
        "_calls",
        "_changed",
        "_cost",
        "_function",
        "_most",
        "_paused",
        "_pulling",
        "_running",
        "_started",
        "ended",
    )
    saved_attributes: ClassVar = ("ended",)
    maps: ClassVar = True

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._most = parallel_calls(dataset, 0)
        self._function = dataset.function()
        self._calls: deque[_Call] = deque()  # whose results have not been handed on
        self._changed = threading.Condition()
        self._cost: float | None = None  # mean number of seconds to pull an element and call the function
        self._running = self._started = 0  # calls
        self._pulling = self._paused = self.ended = False

    def __next__(self) -> Element:
        with self._changed:
            inline = self._is_quick and not self._calls and not self._pulling
        if inline:
            return self._produce()
        with self._changed:
            self._pull()
            while (call := self._completed()) is None:
                if self.closed or (self.ended and not self._calls):
                    raise self.end()
                self._changed.wait()
            self._calls.remove(call)
            self._pull()
        if isinstance(call.outcome, BaseException):
            raise call.outcome
        return call.outcome  # type: ignore[no-any-return]

    def prompt(self) -> bool:
        with self._changed:
            if self._calls or self._pulling or not self._is_quick:
                return self._completed() is not None
        return self._function.is_plain and self.input.prompt()

    @property
    def _is_quick(self) -> bool:
        return self._cost is not None and self._cost < _QUICK

    def _completed(self) -> _Call | None:
        """Returns the call whose result is next, if it is complete."""
        for call in self._calls:
            if call.is_done:
                return call
            if self.dataset.is_ordered:
                break
        return None

    def _produce(self) -> Element:
        """Pulls an element and calls the function on the thread of the consumer."""
        if self.ended:
            raise self.end()
        begin = time.perf_counter()
        try:
            element = next(self.input)
        except StopIteration:
            self.ended = True
            raise
        try:
            return self._function(*element)
        finally:
            self._learn(time.perf_counter() - begin)

    def _learn(self, cost: float) -> None:
        cost = min(cost, _LONGEST)
        self._cost = cost if self._cost is None else 0.8 * self._cost + 0.2 * cost

    # Invariants, under the lock: at most one worker pulls from the input, since iterations are not thread-safe; the
    # calls are in the order in which their elements were pulled; and no more than `_most` of them are unfinished or not
    # handed on, which is the backpressure: a slow consumer stops the pulling, and holds no thread. A worker hands the
    # pulling on before it calls the function, so that pulling overlaps with calls. The consumer removes a call before
    # it pulls again, hence a place becomes free even when the result was an error. Positions are taken while nothing is
    # pulled: the elements before the input's position are then those handed on or held by pending calls.

    # -- workers ------------------------------------------------------------------------------------------------------

    def _may_pull(self) -> bool:
        idle = not (self._pulling or self._paused or self._is_quick or self.ended or self.closed)
        return idle and len(self._calls) < self._most

    def _pull(self) -> None:
        """Makes a worker pull the next element, if there is room for it and no worker pulls one; the lock is held."""
        if self._may_pull():
            self._pulling = True
            workers.start(self._work)

    def _work(self) -> None:
        """Pulls an element and calls the function for it, again and again while elements may be pulled."""
        while True:
            begin = time.perf_counter()
            outcome = next_outcome(self.input)
            call = _Call(outcome)
            with self._changed:
                self._pulling = False
                self.ended = isinstance(outcome, errors.OutOfRangeError)
                if not self.ended:
                    self._calls.append(call)
                    if not call.is_done:
                        self._pull()
                self._changed.notify_all()
            if not call.is_done:
                self._run(call, begin)
            with self._changed:
                if not self._may_pull():
                    return
                self._pulling = True

    def _run(self, call: _Call, begin: float | None = None) -> None:
        """Calls the function for an element; the time from the beginning tells how quickly elements are produced."""
        with self._changed:
            alone = not self._running
            self._running += 1
            self._started = number = self._started + 1
        with computing():
            outcome = outcome_of(lambda: self._function(*call.element))
        with self._changed:
            self._running -= 1
            call.outcome, call.is_done = outcome, True
            # Calls that run at the same time may wait for each other: one that does not ran alone.
            if alone and number == self._started and begin is not None:
                self._learn(time.perf_counter() - begin)
            self._changed.notify_all()

    # -- positions ----------------------------------------------------------------------------------------------------

    def state(self) -> Any:
        """Returns the position, after the element that is being pulled; the function is called again for those pulled.

        Errors of the input that have not been handed on are dropped.
        """
        with self._changed:
            self._paused = True
            try:
                while self._pulling:
                    if self.closed:
                        raise self.end()
                    self._changed.wait()
                return {
                    **super().state(),
                    "pending": [call.element for call in self._calls if call.element is not None],
                }
            finally:
                self._paused = False

    def restore(self, state: Position) -> None:
        super().restore(state)
        for element in state["pending"]:
            call = _Call(tuple(element))
            self._calls.append(call)
            workers.start(self._run, call)

    def close(self) -> None:
        super().close()
        with self._changed:
            self._changed.notify_all()
        self._function.cancel()
