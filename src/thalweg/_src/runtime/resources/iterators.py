"""Iterator resources: positions in datasets from which steps take elements.

A worker thread produces elements one at a time while steps wait in the queue without holding a thread. When a waiting
step is cancelled, the element produced for it goes to the next step. An element that is available and cheap is produced
on the step's own thread, since a switch to a worker and back would take as long again.
"""

from __future__ import annotations

import atexit
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from thalweg._src.base import errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.shapes import Shape, compatible, show
from thalweg._src.runtime.resources.step import Step
from thalweg._src.runtime.resources.waiting import NO_PROGRESS, Attempt, Fail, Finish, Outcome, Resource, notify
from thalweg._src.runtime.resources.workers import workers

Element = tuple[Any, ...]
_MAX_INLINE_SECONDS = (
    0.01  # seconds; while a step produces an element on its own thread, it does not notice that it is cancelled
)


class Elements(Protocol):
    """One pass over a dataset."""

    def __next__(self) -> Element: ...
    def prompt(self) -> bool: ...
    def saved(self, unclaimed: Element | None, /) -> bytes: ...
    def load(self, saved: bytes) -> Element | None: ...
    def close(self) -> None: ...


class Dataset(Protocol):
    """A source of elements that can be iterated any number of times."""

    types: Sequence[DType]
    shapes: Sequence[Shape]

    def iterate(self) -> Elements: ...


class _Task(Attempt):
    """A request of a step; a worker runs it when it is at the head of the wait queue."""

    __slots__ = ("_do", "outcome")

    def __init__(self, do: Callable[[], Element], step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._do = do
        self.outcome: Outcome = NO_PROGRESS

    def advance(self) -> Outcome:
        return self.outcome

    def do(self) -> Outcome:
        """Returns the results of the request, or its error."""
        return outcome_of(self._do)


def outcome_of(do: Callable[[], Element]) -> Outcome:
    """Returns the result of a call, or the typed error that it raised."""
    try:
        return do()
    except StopIteration:
        return errors.OutOfRangeError(None, None, "End of sequence")
    except errors.OpError as error:
        return error
    except MemoryError as error:
        return errors.ResourceExhaustedError(None, None, str(error))
    except Exception as error:
        return errors.InternalError(None, None, f"{type(error).__name__}: {error}")


_alive: weakref.WeakSet[IteratorResource] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Stops all iterators at exit: the interpreter must not shut down while a worker is inside a kernel."""
    for iterator in list(_alive):
        iterator.destroy()


class IteratorResource(Resource):
    """A position in a dataset, shared by steps; it has no dataset until it is initialized."""

    by_handle: weakref.WeakValueDictionary[str, IteratorResource] = weakref.WeakValueDictionary()

    def __init__(self, name: str, types: Sequence[DType], shapes: Sequence[Shape]) -> None:
        super().__init__(name, deque())
        _alive.add(self)
        self.types = tuple(types)
        self.shapes = tuple(shapes)
        self.first: Callable[[], Dataset] | None = None  # makes the dataset of a one-shot iterator
        self._dataset: Dataset | None = None
        self._elements: Elements | None = None
        self._unclaimed: Element | errors.OpError | None = None  # for a step that was cancelled meanwhile
        self._busy = False
        self._cost = (
            _MAX_INLINE_SECONDS  # seconds that the last element took; at first too many to run on a step's thread
        )
        self._source: Elements | None = None  # of the element that was produced last; of an earlier pass, it is dropped
        self._awaited: bytes | None = None  # a position that was restored before there was a dataset

    @property
    def handle(self) -> str:
        """The string by which this process finds the iterator."""
        handle = f"iterator/{self.name}/{id(self):x}"
        IteratorResource.by_handle[handle] = self
        return handle

    # -- datasets -----------------------------------------------------------------------------------------------------

    def make(self, dataset: Dataset) -> None:
        """Starts at the first element of a dataset, or at a position that was restored before there was a dataset."""
        self._require_fit(dataset)
        awaited, self._awaited = self._awaited, None
        if awaited is None:
            self._exchange(dataset, dataset.iterate())
        else:
            self._go_to(dataset, awaited)

    def _exchange(self, dataset: Dataset | None, elements: Elements | None) -> None:
        with self.lock:
            old, self._elements, self._dataset = self._elements, elements, dataset
            self._unclaimed = None
        if old is not None:
            old.close()

    def _require_fit(self, dataset: Dataset) -> None:
        if tuple(dataset.types) != self.types:
            expected, received = (", ".join(dtype.name for dtype in side) for side in (self.types, dataset.types))
            raise errors.invalid(
                errors.describe("the dataset has elements of different types", expected=expected, received=received)
            )
        for index, (own_shape, shape) in enumerate(zip(self.shapes, dataset.shapes)):
            if not compatible(own_shape, shape):
                raise errors.invalid(
                    errors.describe(
                        f"component {index} of the dataset has a different shape",
                        expected=show(own_shape),
                        received=show(shape),
                    )
                )

    def _current(self) -> Elements:
        current = self._elements
        if current is None and self.first is not None:
            dataset = self.first()
            self._require_fit(dataset)
            elements = dataset.iterate()
            with self.lock:
                if self.first is not None:  # not destroyed meanwhile
                    self._elements, self._dataset, self.first = elements, dataset, None
                current = self._elements
        if current is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                errors.describe(
                    "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
                    "initializer operation for this iterator before getting the next element.",
                    hint=f"run the initializer of the iterator {self.name!r}",
                ),
            )
        return current

    # -- requests of steps --------------------------------------------------------------------------------------------

    def get_next(self, step: Step, finish: Finish, fail: Fail) -> None:
        """Calls `finish` with the components of the next element."""
        if not self._produce_inline(step, finish, fail):
            self._wait_for(_Task(self._next, step, finish, fail))

    def get_state(self, step: Step, finish: Finish, fail: Fail) -> None:
        """Calls `finish` with the serialized position."""
        self._wait_for(_Task(self._state, step, finish, fail))

    def set_state(self, saved: bytes, step: Step, finish: Finish, fail: Fail) -> None:
        """Moves to a serialized position of the same dataset."""
        self._wait_for(_Task(lambda: self._restore(saved), step, finish, fail))

    def _next(self) -> Element:
        with self.lock:
            unclaimed, self._unclaimed = self._unclaimed, None
            self._source = self._elements
        if isinstance(unclaimed, errors.OpError):
            raise unclaimed
        if unclaimed is not None:
            return unclaimed
        begin = time.perf_counter()
        try:
            self._source = self._current()
            return next(self._source)
        finally:
            self._cost = time.perf_counter() - begin

    def _state(self) -> Element:
        unclaimed = self._unclaimed
        return (self._current().saved(None if isinstance(unclaimed, errors.OpError) else unclaimed),)

    def _restore(self, saved: bytes) -> Element:
        if self._elements is None and self.first is None:  # a session restores before it initializes
            self._awaited = saved
            return ()
        self._current()
        assert self._dataset is not None
        self._go_to(self._dataset, saved)
        return ()

    def _go_to(self, dataset: Dataset, saved: bytes) -> None:
        elements = dataset.iterate()
        try:
            produced = elements.load(saved)
        except BaseException:
            elements.close()
            raise
        self._exchange(dataset, elements)
        self._unclaimed = produced

    def _produce_inline(self, step: Step, finish: Finish, fail: Fail) -> bool:
        """Produces the next element on the step's own thread; returns False if a worker should do it."""
        # The iterator produces one element at a time (`_busy`), on a worker or on the thread of a step. The latter
        # saves two switches between threads, but cannot be cancelled meanwhile: so only if the last element was cheap
        # and the dataset has one at once.
        with self.lock:
            if self._busy or self._cost >= _MAX_INLINE_SECONDS or self._elements is None or not self._elements.prompt():
                return False
            self._busy = True
        outcome: Outcome = None
        is_left = False  # to the next step, since this one has ended
        try:
            outcome = outcome_of(self._next)
        finally:  # an interrupted step leaves the iterator usable
            with self.lock:
                is_left = step.cancellation.error is not None
                if is_left and self._source is self._elements:
                    self._unclaimed = outcome
            self._release()
        if is_left:
            return True
        if isinstance(outcome, BaseException):
            fail(step, outcome)  # type: ignore[arg-type]
        else:
            finish(*outcome)
        return True

    def take(self) -> Outcome:
        """Returns the next element or its error, produced on the calling thread; None if another thread takes one."""
        with self.lock:
            if self._busy:
                return None
            self._busy = True
        try:
            return outcome_of(self._next)
        finally:
            self._release()

    def _release(self) -> None:
        """Ends the production of an element on a caller's thread, and serves the requests that came meanwhile."""
        with self.lock:
            self._busy = others = bool(self.wait_queues[0])
        if others:
            workers.start(self._work)

    # -- the wait queue -----------------------------------------------------------------------------------------------

    def _wait_for(self, task: _Task) -> None:
        with self.lock:
            self.wait_queues[0].append(task)
            idle, self._busy = not self._busy, True
        if idle:
            workers.start(self._work)
        if not task.is_over:
            task.listen(self._withdraw)

    def _work(self) -> None:
        """Runs the waiting requests in order, until none is left."""
        while True:
            with self.lock:
                if not self.wait_queues[0]:
                    self._busy = False
                    return
                task = self.wait_queues[0][0]
            assert isinstance(task, _Task)
            # The element is produced without the lock. If the step was cancelled meanwhile, its element must not be
            # lost: the next request gets it, unless the iterator was initialized again and it is of an earlier pass.
            outcome = task.do()
            with self.lock:
                if task.is_cancelled and not task.is_over:  # about to be withdrawn
                    task.is_over = True
                    self.wait_queues[0].remove(task)
                if task.is_over:  # withdrawn: the next step gets the element
                    if task._do == self._next and self._source is self._elements:
                        self._unclaimed = outcome
                    ended = []
                else:
                    task.outcome = outcome
                    ended = self.advance()
            notify(ended)
            del task, outcome, ended

    def forget(self) -> None:
        self.first = self._dataset = self._unclaimed = self._awaited = None
        elements, self._elements = self._elements, None
        if elements is not None:
            elements.close()


def single_element(dataset: Dataset, step: Step, finish: Finish, fail: Fail) -> None:
    """Calls `finish` with the only element of a dataset."""

    def take() -> Element:
        elements = dataset.iterate()
        token = step.cancellation.register(lambda error: elements.close())
        try:
            element = next(elements, None)
            if element is None:
                raise errors.invalid("Dataset was empty.")
            if next(elements, None) is not None:
                raise errors.invalid("Dataset had more than one element.")
            return element
        finally:
            step.cancellation.deregister(token)
            elements.close()

    def work() -> None:
        outcome = outcome_of(take)
        if isinstance(outcome, BaseException):
            fail(step, outcome)  # type: ignore[arg-type]
        else:
            finish(*outcome)

    workers.start(work)
