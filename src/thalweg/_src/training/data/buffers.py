"""Passes that store or prepare elements: caching and prefetching."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import Any, ClassVar

from thalweg._src.base import determinism, errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.export import export_constants
from thalweg._src.runtime.resources.iterators import outcome_of
from thalweg._src.runtime.resources.thread_pool import computing
from thalweg._src.runtime.resources.waiting import Outcome
from thalweg._src.runtime.resources.workers import workers
from thalweg._src.training.data.iteration import BoundDataset, Element, Iteration, Position, Unary

AUTOTUNE = -1
_AHEAD = 4  # prefetched elements if the number is tuned automatically


# -- caching ----------------------------------------------------------------------------------------------------------


class Cached(Unary):
    """Caches elements in memory during the first iteration; later ones take them from there."""

    __slots__ = ("at", "held", "writing")
    saved_attributes: ClassVar = ("at", "held", "writing")

    def __init__(self, dataset: BoundDataset) -> None:
        Iteration.__init__(self, dataset)
        self.writing = dataset.memory is None
        self.held: list[Element] = [] if self.writing else dataset.memory
        self.at = 0
        if self.writing:
            self.input = dataset.parents[0].elements()

    def __next__(self) -> Element:
        if self.writing:
            for element in self.input:
                self.held.append(element)
                return element
            # Only a complete iteration becomes the cache: one that was given up would hide the remaining elements.
            self.writing, self.at, self.dataset.memory = False, len(self.held), self.held
            self.input.close()
            raise StopIteration
        if self.at >= len(self.held):
            raise StopIteration
        self.at += 1
        return self.held[self.at - 1]

    def state(self) -> Any:
        return Unary.state(self) if self.writing else Iteration.state(self)

    def restore(self, state: Position) -> None:
        Iteration.restore(self, state)
        if self.writing:
            if not hasattr(self, "input"):
                self.input = self.dataset.parents[0].elements()
            self.input.restore(state["input"])
        else:
            self.dataset.memory = self.held

    def close(self) -> None:
        Iteration.close(self)
        if self.writing:
            self.input.close()


# -- in the background ------------------------------------------------------------------------------------------------


def parallel_calls(dataset: BoundDataset, index: int) -> int:
    """Returns the parameter `num_parallel_calls`; 1 for a function with state that must be used in order."""
    if determinism.is_required() and any(function.is_stateful for function in dataset.definition.functions):
        return 1
    calls = dataset.integer(index, "num_parallel_calls")
    if calls == AUTOTUNE:
        calls = os.cpu_count() or 1
    if calls < 1:
        raise invalid(f"num_parallel_calls must be greater than zero, but is {calls}")
    return calls


def next_outcome(elements: Iteration) -> Outcome:
    """Returns the next element or error; at the end an OutOfRangeError."""
    with computing():
        return outcome_of(elements.__next__)


class PrefetchBuffer:
    """Elements of an iteration that a worker produces before they are requested.

    No thread waits while the buffer is full: the worker ends, and the consumer that makes room starts another.
    """

    def __init__(self, source: Iteration, size: int, changed: threading.Condition | None = None) -> None:
        """changed: what a consumer of several buffers waits for"""
        self.source = source
        self._size = size
        self._outcomes: deque[Outcome] = deque()
        self._changed = changed or threading.Condition()
        self._at_work = self._ended = self._closed = self._paused = False

    def take(self) -> Element:
        """Returns the next element as soon as it is available."""
        with self._changed:
            self._call()
            while not self._outcomes:
                if self._ended or self._closed:
                    raise self.source.end()
                self._changed.wait()
                self._call()
            outcome = self._outcomes.popleft()
            self._call()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome  # type: ignore[no-any-return]

    def ready(self) -> bool:
        """Returns whether the next element is available."""
        return bool(self._outcomes)

    def is_over(self) -> bool:
        """Returns whether there is no next element."""
        return self._ended and not self._outcomes

    def start(self) -> None:
        """Starts before the first request."""
        with self._changed:
            self._call()

    # Either a worker runs, or there is nothing for it to do: the buffer is full, the source has ended, or it is paused
    # or closed. Both sides change that under the lock, the worker when it has stored an element, the consumer when it
    # has taken one, so no wake-up is lost, and a full buffer holds no thread: a pipeline with many buffers, such as a
    # parallel interleave, needs threads only for what makes progress. The source is called without the lock, and by one
    # worker at a time, since `_at_work` is set before the worker starts.
    def _call(self) -> None:
        idle = not (self._at_work or self._ended or self._closed or self._paused)
        if idle and len(self._outcomes) < self._size:
            self._at_work = True
            workers.start(self._work)

    def _work(self) -> None:
        while True:
            outcome = next_outcome(self.source)
            with self._changed:
                if isinstance(outcome, errors.OutOfRangeError):
                    self._ended = True
                else:
                    self._outcomes.append(outcome)
                full = len(self._outcomes) >= self._size or self._ended or self._closed or self._paused
                self._at_work = not full
                self._changed.notify_all()
                if full:
                    return

    def state(self) -> Any:
        """Returns the position, after the worker has stored its current element; pending errors are dropped."""
        with self._changed:
            self._paused = True
            try:
                while self._at_work:
                    if self._closed:
                        raise self.source.end()
                    self._changed.wait()
                elements = [outcome for outcome in self._outcomes if not isinstance(outcome, BaseException)]
                return {"made": elements, "ended": self._ended, "source": self.source.state()}
            finally:
                self._paused = False

    def restore(self, state: Position) -> None:
        with self._changed:
            self._outcomes = deque(state["made"])
            self._ended = state["ended"]
            self.source.restore(state["source"])

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.source.close()


class Prefetched(Iteration):
    """Elements that are produced before they are requested."""

    __slots__ = ("_ahead", "_source")

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        size = dataset.integer(0, "buffer_size")
        if size < AUTOTUNE:
            raise invalid(f"buffer_size is {size}, expected at least 0, or -1 for automatic tuning")
        source = dataset.parents[0].elements()
        self._source: Iteration = source
        self._ahead = PrefetchBuffer(source, _AHEAD if size == AUTOTUNE else size) if size else None

    def __next__(self) -> Element:
        return next(self._source) if self._ahead is None else self._ahead.take()

    def prompt(self) -> bool:
        return self._source.prompt() if self._ahead is None else self._ahead.ready()

    def state(self) -> Any:
        return self._source.state() if self._ahead is None else self._ahead.state()

    def restore(self, state: Position) -> None:
        (self._source if self._ahead is None else self._ahead).restore(state)

    def close(self) -> None:
        super().close()
        (self._source if self._ahead is None else self._ahead).close()


export_constants(
    AUTOTUNE=("data.experimental.AUTOTUNE", "contrib.data.AUTOTUNE"),
)
