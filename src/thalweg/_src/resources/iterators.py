"""Iterators: where steps take the elements of a dataset, one after another.

Elements are made by a worker, one at a time, while steps wait for them in line and hold no thread. A step that is
cancelled leaves the line; the element that was made for it goes to the next one. An element that is at hand and does
not take long is made by the step itself: going to a worker and back would take as long again.
"""

from __future__ import annotations

import atexit
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from thalweg._src import errors
from thalweg._src.dtypes import DType
from thalweg._src.resources.step import Step
from thalweg._src.resources.waiting import STUCK, Attempt, Fail, Finish, Outcome, Resource, tell
from thalweg._src.resources.workers import workers
from thalweg._src.shapes import Shape, compatible, show

Element = tuple[Any, ...]
_LONG = (
    0.01  # seconds; a step that makes an element that takes longer itself would be late to hear that it is cancelled
)


class Elements(Protocol):
    """One pass over a dataset."""

    def __next__(self) -> Element: ...
    def prompt(self) -> bool: ...
    def saved(self, made: Element | None) -> bytes: ...
    def load(self, saved: bytes) -> Element | None: ...
    def close(self) -> None: ...


class Dataset(Protocol):
    """What elements can be taken from, again and again."""

    types: Sequence[DType]
    shapes: Sequence[Shape]

    def iterate(self) -> Elements: ...


class _Task(Attempt):
    """Something that a step asks of the elements; a worker does it when it is first in line."""

    __slots__ = ("_do", "outcome")

    def __init__(self, do: Callable[[], Element], step: Step, finish: Finish, fail: Fail) -> None:
        super().__init__(step, finish, fail)
        self._do = do
        self.outcome: Outcome = STUCK

    def advance(self) -> Outcome:
        return self.outcome

    def do(self) -> Outcome:
        """Returns what came of it, an error among other things."""
        return outcome_of(self._do)


def outcome_of(do: Callable[[], Element]) -> Outcome:
    """Returns the result of a call, or the typed error that it ended with."""
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
    """Calls off what workers are at: an interpreter that ends must not find them in the middle of a kernel."""
    for iterator in list(_alive):
        iterator.destroy()


class IteratorResource(Resource):
    """A position in a dataset that steps share, empty until it is made of one."""

    kept: weakref.WeakValueDictionary[str, IteratorResource] = weakref.WeakValueDictionary()

    def __init__(self, name: str, types: Sequence[DType], shapes: Sequence[Shape]) -> None:
        super().__init__(name, deque())
        _alive.add(self)
        self.types = tuple(types)
        self.shapes = tuple(shapes)
        self.first: Callable[[], Dataset] | None = None  # makes the dataset of a one-shot iterator
        self._dataset: Dataset | None = None
        self._elements: Elements | None = None
        self._made: Element | errors.OpError | None = None  # for a step that went away meanwhile
        self._busy = False
        self._cost = _LONG  # seconds that the last element took
        self._serial = 0  # of the dataset: what is made of an earlier one is dropped
        self._awaited: bytes | None = None  # a position that was restored before there was a dataset

    @property
    def handle(self) -> str:
        """A text by which this process finds the iterator."""
        handle = f"iterator/{self.name}/{id(self):x}"
        IteratorResource.kept[handle] = self
        return handle

    # -- datasets -----------------------------------------------------------------------------------------------------

    def make(self, dataset: Dataset) -> None:
        """Begins with the first element of a dataset, or at a position that was restored before there was one."""
        self._require_fit(dataset)
        awaited, self._awaited = self._awaited, None
        if awaited is None:
            self._exchange(dataset, dataset.iterate())
        else:
            self._go_to(dataset, awaited)

    def _exchange(self, dataset: Dataset | None, elements: Elements | None) -> None:
        with self.lock:
            old, self._elements, self._dataset = self._elements, elements, dataset
            self._made = None
            self._serial += 1
        if old is not None:
            old.close()

    def _require_fit(self, dataset: Dataset) -> None:
        if tuple(dataset.types) != self.types:
            own, given = (", ".join(dtype.name for dtype in side) for side in (self.types, dataset.types))
            raise errors.InvalidArgumentError(
                None,
                None,
                errors.describe("the dataset has elements of other types", expected=own, received=given),
            )
        for index, (own_shape, shape) in enumerate(zip(self.shapes, dataset.shapes)):
            if not compatible(own_shape, shape):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    errors.describe(
                        f"component {index} of the dataset has another shape",
                        expected=show(own_shape),
                        received=show(shape),
                    ),
                )

    def _current(self) -> Elements:
        if self._elements is None and self.first is not None:
            dataset = self.first()
            self._require_fit(dataset)
            elements = dataset.iterate()
            with self.lock:
                if self.first is not None:  # it was not destroyed meanwhile
                    self._elements, self._dataset, self.first = elements, dataset, None
        if self._elements is None:
            raise errors.FailedPreconditionError(
                None,
                None,
                errors.describe(
                    f"the iterator {self.name!r} has not been initialized",
                    hint="run its initializer before a step asks for an element",
                ),
            )
        return self._elements

    # -- what steps ask -----------------------------------------------------------------------------------------------

    def get_next(self, step: Step, finish: Finish, fail: Fail) -> None:
        """Finishes with the components of the next element."""
        if not self._make_here(step, finish, fail):
            self._line_up(_Task(self._next, step, finish, fail))

    def get_state(self, step: Step, finish: Finish, fail: Fail) -> None:
        """Finishes with the position as bytes."""
        self._line_up(_Task(self._state, step, finish, fail))

    def set_state(self, saved: bytes, step: Step, finish: Finish, fail: Fail) -> None:
        """Goes to a position of the same dataset."""
        self._line_up(_Task(lambda: self._restore(saved), step, finish, fail))

    def _next(self) -> Element:
        made, self._made = self._made, None
        if isinstance(made, errors.OpError):
            raise made
        if made is not None:
            return made
        begin = time.perf_counter()
        try:
            return next(self._current())
        finally:
            self._cost = time.perf_counter() - begin

    def _state(self) -> Element:
        made = self._made
        return (self._current().saved(None if isinstance(made, errors.OpError) else made),)

    def _restore(self, saved: bytes) -> Element:
        if self._elements is None and self.first is None:  # sessions restore first and initialize then
            self._awaited = saved
            return ()
        self._current()
        assert self._dataset is not None
        self._go_to(self._dataset, saved)
        return ()

    def _go_to(self, dataset: Dataset, saved: bytes) -> None:
        elements = dataset.iterate()
        try:
            made = elements.load(saved)
        except BaseException:
            elements.close()
            raise
        self._exchange(dataset, elements)
        self._made = made

    def _make_here(self, step: Step, finish: Finish, fail: Fail) -> bool:
        """Makes the next element in the step's own thread; False if a worker had better do it."""
        with self.lock:
            if self._busy or self._cost >= _LONG or self._elements is None or not self._elements.prompt():
                return False
            self._busy, serial = True, self._serial
        outcome: Outcome = None
        try:
            outcome = outcome_of(self._next)
        finally:  # whoever is interrupted leaves the iterator to others
            with self.lock:
                if step.cancellation.error is not None and serial == self._serial:
                    self._made = outcome
                self._busy = bool(self.lines[0])
                others = self._busy
            if others:
                workers.start(self._work)
        if isinstance(outcome, BaseException):
            fail(step, outcome)  # type: ignore[arg-type]
        else:
            finish(*outcome)
        return True

    # -- the line -----------------------------------------------------------------------------------------------------

    def _line_up(self, task: _Task) -> None:
        with self.lock:
            self.lines[0].append(task)
            idle, self._busy = not self._busy, True
        if idle:
            workers.start(self._work)
        if not task.is_over:
            task.listen(self._withdraw)

    def _work(self) -> None:
        """Does what those in line ask for, until nobody is left."""
        while True:
            with self.lock:
                if not self.lines[0]:
                    self._busy = False
                    return
                task, serial = self.lines[0][0], self._serial
            assert isinstance(task, _Task)
            outcome = task.do()
            with self.lock:
                if task.is_over:  # withdrawn, and nobody took what was made for it
                    if task._do == self._next and serial == self._serial:
                        self._made = outcome
                    ended = []
                else:
                    task.outcome = outcome
                    ended = self.advance()
            tell(ended)
            del task, outcome, ended

    def forget(self) -> None:
        self.first = self._dataset = self._made = self._awaited = None
        self._serial += 1
        elements, self._elements = self._elements, None
        if elements is not None:
            elements.close()


def single_element(dataset: Dataset, step: Step, finish: Finish, fail: Fail) -> None:
    """Finishes with the only element of a dataset."""

    def take() -> Element:
        elements = dataset.iterate()
        token = step.cancellation.register(lambda error: elements.close())
        try:
            found = next(elements, None)
            if found is None:
                raise errors.InvalidArgumentError(None, None, "Dataset was empty.")
            if next(elements, None) is not None:
                raise errors.InvalidArgumentError(None, None, "Dataset had more than one element.")
            return found
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
