"""Workers: threads and processes that make batches before they are needed."""

from __future__ import annotations

import multiprocessing
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

import numpy as np

from thalweg._src.base import logging
from thalweg._src.base.export import export
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.default_stacks import default_graph_scope
from thalweg._src.graph.graph import Graph
from thalweg._src.keras.utils.data_utils import Sequence

_START_METHOD = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
_source: Any = None  # of batches, in a process of workers


@export("keras.utils.SequenceEnqueuer")
class SequenceEnqueuer(ABC):
    """Makes batches of a source by workers; `get` returns them, and so does a loop over it.

    Args:
        sequence: The source of batches: a `Sequence`, or a generator.
        use_multiprocessing: Whether workers are processes, not threads.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False) -> None:
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self.workers = 0
        self.max_queue_size = 0
        self._executor: Executor | None = None
        self._pending: deque[Future[Any]] = deque()

    def is_running(self) -> bool:
        """Returns whether there are workers."""
        return self._executor is not None

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Starts the workers, which make as many batches as the queue takes."""
        if workers < 1 or max_queue_size < 1:
            raise ValueError(f"expected workers and room in the queue, received {workers} and {max_queue_size}")
        self.workers = workers
        self.max_queue_size = max_queue_size
        self._start_workers()
        self._fill()

    def _start_workers(self) -> None:
        if self.use_multiprocessing:
            context = multiprocessing.get_context(_START_METHOD)
            # A process that is forked has the source without a copy of it being sent.
            arguments = self.sequence, self._first_seed(context)
            self._executor = ProcessPoolExecutor(self.workers, context, _set_source, arguments)
        else:
            self._executor = ThreadPoolExecutor(self.workers, "keras")

    def _first_seed(self, context: Any) -> Any:
        """Returns the seed of the first process, None if there is none; the others count on."""
        return None

    def stop(self, timeout: float | None = None) -> None:
        """Ends the workers, after the batches that they are making."""
        executor, self._executor = self._executor, None
        self._pending.clear()
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)

    def _submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        assert self._executor is not None
        if self.use_multiprocessing:
            return self._executor.submit(_with_source, function, *args)
        return self._executor.submit(_in_graph, get_default_graph(), function, self.sequence, *args)

    @abstractmethod
    def _fill(self) -> None:
        """Gives the workers as much to do as the queue takes."""

    @abstractmethod
    def get(self) -> Iterator[Any]:
        """Yields the batches."""


def _in_graph(graph: Graph, function: Callable[..., Any], *args: Any) -> Any:
    """Calls a function in the graph, or in the eager execution, of the thread that asks for it."""
    with default_graph_scope(graph):
        return function(*args)


def _set_source(source: Any, seed: Any) -> None:
    global _source
    _source = source
    if seed is not None:
        with seed.get_lock():
            np.random.seed(seed.value)
            seed.value += 1


def _with_source(function: Callable[..., Any], *args: Any) -> Any:
    return function(_source, *args)


def _item(source: Any, index: int) -> Any:
    return source[index]


def _following(source: Any) -> tuple[bool, Any]:
    """Returns whether a generator has ended, and its next batch."""
    try:
        return False, next(source)
    except StopIteration:
        return True, None


@export("keras.utils.OrderedEnqueuer")
class OrderedEnqueuer(SequenceEnqueuer):
    """Makes the batches of a `Sequence` by workers, and yields them in their order, again and again.

    Args:
        sequence: The source of batches: a `Sequence`, or a generator.
        use_multiprocessing: Whether workers are processes, not threads.
        shuffle: Whether each pass has another order.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, shuffle: bool = False) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.shuffle = shuffle
        self._remaining: deque[int] = deque()  # the numbers of the batches of this pass that no worker has yet

    def _start_workers(self) -> None:
        """Begins a pass; processes start anew, since `on_epoch_end` may have changed the sequence."""
        if self.use_multiprocessing or self._executor is None:
            self.stop()
            super()._start_workers()
        order = list(range(len(self.sequence)))
        if self.shuffle:
            random.shuffle(order)
        self._remaining = deque(order)

    def _fill(self) -> None:
        while self._remaining and len(self._pending) < self.max_queue_size:
            self._pending.append(self._submit(_item, self._remaining.popleft()))

    def get(self) -> Iterator[Any]:
        """Yields the batches of pass after pass; when the last one of a pass is taken, `on_epoch_end` is called."""
        try:
            while self._pending:
                batch = self._pending.popleft().result()
                self._fill()
                if self._pending:
                    yield batch
                    continue
                self.sequence.on_epoch_end()
                yield batch
                if self.is_running():
                    self._start_workers()
                    self._fill()
        except Exception:
            self.stop()
            raise


@export("keras.utils.GeneratorEnqueuer")
class GeneratorEnqueuer(SequenceEnqueuer):
    """Takes the batches of a generator by workers; each process has a generator of its own.

    Threads share an iterator, which they call at once; a generator of Python, which cannot be, has one thread.

    Args:
        sequence: The source of batches: a `Sequence`, or a generator.
        use_multiprocessing: Whether workers are processes, not threads.
        random_seed: Seed of the random numbers of NumPy in the first process; the others count on.
    """

    def __init__(self, sequence: Any, use_multiprocessing: bool = False, random_seed: int | None = None) -> None:
        super().__init__(sequence, use_multiprocessing)
        self.random_seed = random_seed

    def start(self, workers: int = 1, max_queue_size: int = 10) -> None:
        """Starts the workers, which take as many batches as the queue takes."""
        if self.use_multiprocessing and workers > 1:
            logging.warning("Each of %s processes has the whole generator: batches come several times", workers)
        is_plain = isinstance(self.sequence, GeneratorType) and not self.use_multiprocessing
        super().start(min(workers, 1) if is_plain else workers, max_queue_size)

    def _first_seed(self, context: Any) -> Any:
        return None if self.random_seed is None else context.Value("q", self.random_seed)

    def _fill(self) -> None:
        while len(self._pending) < self.max_queue_size:
            self._pending.append(self._submit(_following))

    def get(self) -> Iterator[Any]:
        """Yields the batches until the generator ends."""
        try:
            while self._pending:
                has_ended, batch = self._pending.popleft().result()
                if has_ended:
                    continue  # others may have got a batch before
                self._fill()
                yield batch
        except Exception:
            self.stop()
            raise


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """How batches are made before they are needed, under the names of the parameters of `fit`."""

    max_queue_size: int = 10
    workers: int = 1
    use_multiprocessing: bool = False

    def start(self, source: Any, shuffle: bool = False) -> SequenceEnqueuer | None:
        """Returns workers for a `Sequence` or a generator; None if there are to be none."""
        if not self.workers:
            return None
        enqueuer = (
            OrderedEnqueuer(source, self.use_multiprocessing, shuffle)
            if isinstance(source, Sequence)
            else GeneratorEnqueuer(iter(source), self.use_multiprocessing)
        )
        enqueuer.start(self.workers, self.max_queue_size)
        return enqueuer


def batches_of(sequence: Any) -> Iterator[Any]:
    """Yields the batches of a `Sequence`, pass after pass, without workers."""
    while count := len(sequence):
        for index in range(count):
            batch = sequence[index]
            if index == count - 1:
                sequence.on_epoch_end()
            yield batch
