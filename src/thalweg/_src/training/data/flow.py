"""Elementary iterations: sources in memory, map, filter, take, skip, repeat, zip, concatenate and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from thalweg._src.base import errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import compatible, show
from thalweg._src.runtime.kernels.elements import from_python, numbers, slice_sparse, slices
from thalweg._src.training.data.element_refs import ElementRefs, RowRefs
from thalweg._src.training.data.iteration import BoundDataset, Element, Iteration, Position, Unary
from thalweg._src.training.data.structure import SparseTensorSpec, flatten

_CHUNK = 256  # slices that are produced at once

# -- sources ----------------------------------------------------------------------------------------------------------


class Single(Iteration):
    """One element: the values themselves."""

    __slots__ = ("done",)
    saved_attributes: ClassVar = ("done",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.done = False

    def __next__(self) -> Element:
        if self.done or self.closed:
            raise self.end()
        self.done = True
        return self.dataset.values

    def prompt(self) -> bool:
        return True


class Slices(Iteration):
    """One element per slice along the first dimension of the values; a reference to an element is its index."""

    __slots__ = ("_chunk", "_count", "_places", "at")
    saved_attributes: ClassVar = ("at",)

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        super().__init__(dataset)
        self._places = refs is not None
        self.at = 0
        self._chunk: list[Element] = []
        counts = set()
        values = iter(dataset.values)
        for leaf in dataset.leaves:
            if isinstance(leaf, SparseTensorSpec):
                counts.add(int([next(values) for _ in range(3)][2][0]))
            else:
                value = next(values)
                if not value.ndim:
                    raise invalid("a scalar has no slices: expected a first dimension")
                counts.add(value.shape[0])
        if len(counts) > 1:
            raise invalid(f"the components have different first dimensions: {sorted(counts)}")
        self._count = counts.pop() if counts else 0

    def __next__(self) -> Element:
        at = self.at
        if at >= self._count or self.closed:
            raise self.end()
        if self._places:
            self.at = at + 1
            return at  # type: ignore[return-value]
        place = at % _CHUNK
        if place == 0 or not self._chunk:
            self._chunk = self._make_chunk(at - place)
        self.at = at + 1
        return self._chunk[place]

    def take(self, count: int, out: list[Any]) -> None:
        if not self._places or self.closed:
            super().take(count, out)
        else:
            at, self.at = self.at, min(self.at + count, self._count)
            out.extend(range(at, self.at))

    def reads_ahead(self) -> bool:
        return True

    def prompt(self) -> bool:
        return True

    @classmethod
    def element_refs(cls, dataset: BoundDataset, dtype: DType | None) -> ElementRefs | None:
        sparse = any(isinstance(leaf, SparseTensorSpec) for leaf in dataset.leaves)
        return None if sparse else RowRefs(dataset.values)

    def _make_chunk(self, start: int) -> list[Element]:
        stop = min(start + _CHUNK, self._count)
        columns: list[Any] = []
        values = iter(self.dataset.values)
        for leaf in self.dataset.leaves:
            if isinstance(leaf, SparseTensorSpec):
                sparse = next(values), next(values), next(values)
                columns += zip(*[slice_sparse(sparse, row) for row in range(start, stop)])
            else:
                columns.append(slices(next(values), start, stop))
        return list(zip(*columns))


class Range(Iteration):
    """A range of integers."""

    __slots__ = ("_ready", "_step", "_stop", "at")
    saved_attributes: ClassVar = ("at",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._ready: list[Any] = []  # the next ones, in reverse
        self.at, self._stop, self._step = (dataset.integer(i, name) for i, name in enumerate(("start", "stop", "step")))
        if self._step == 0:
            raise invalid("step must be a non-zero integer.")

    def __next__(self) -> Element:
        at = self.at
        if self.closed or ((at >= self._stop) if self._step > 0 else (at <= self._stop)):
            raise self.end()
        if not self._ready:
            self._ready = numbers(at, self._step, min(_CHUNK, -((at - self._stop) // self._step)))[::-1]
        self.at = at + self._step
        return (self._ready.pop(),)

    def restore(self, state: Position) -> None:
        super().restore(state)
        self._ready = []

    def reads_ahead(self) -> bool:
        return True

    def prompt(self) -> bool:
        return True


class Generated(Iteration):
    """The values yielded by a user's generator; a restored iteration replays the earlier ones."""

    __slots__ = ("_generator", "count", "ended")
    saved_attributes: ClassVar = ("count", "ended")

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._generator: Iterator[Any] | None = None
        self.count = 0
        self.ended = False

    def __next__(self) -> Element:
        if self.closed or self.ended:
            raise self.end()
        if self._generator is None:
            make: Callable[..., Iterator[Any]] = self.dataset.options["make"]
            self._generator = self._call(make, *self.dataset.values)
            for _ in range(self.count):
                next(self._generator)
        try:
            value = self._call(next, self._generator)
        except StopIteration:  # an iterator that waits for more to come must not be asked again
            self.ended = True
            raise
        self.count += 1
        return self._element(value)

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return function(*args)
        except (StopIteration, errors.OpError):
            raise
        except (ValueError, TypeError) as error:
            raise invalid(f"{type(error).__name__}: {error}") from error
        except Exception as error:
            raise errors.UnknownError(None, None, f"{type(error).__name__}: {error}") from error

    def _element(self, value: object) -> Element:
        if isinstance(value, list):
            value = tuple(value)
        try:
            components = self.dataset.options["flatten"](value)
        except (TypeError, ValueError) as error:
            raise invalid(
                f"`generator` yielded an element that did not match the expected structure. "
                f"The expected structure was {self.dataset.structure}, but the yielded element was {value!r}: {error}"
            ) from None
        result = []
        for component, spec in zip(components, flatten(self.dataset.structure)):
            try:
                tensor = from_python(
                    component.numpy() if getattr(component, "is_eager", False) else component, spec.dtype
                )
            except (TypeError, ValueError) as error:
                raise invalid(
                    f"`generator` yielded an element that could not be converted to the expected type. "
                    f"The expected type was {spec.dtype.name}, but the yielded element was {component!r}: {error}"
                ) from None
            if not compatible(spec.dims, tuple(tensor.shape)):
                raise invalid(
                    f"`generator` yielded an element of shape {show(tuple(tensor.shape))} where an element "
                    f"of shape {show(spec.dims)} was expected."
                )
            result.append(tensor)
        return tuple(result)

    def close(self) -> None:
        super().close()
        self._generator = None


# -- one input --------------------------------------------------------------------------------------------------------


class Applying(Unary):
    """Base class of iterations that apply a function."""

    __slots__ = ("_function",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._function = dataset.function()

    def close(self) -> None:
        super().close()
        self._function.cancel()


class Mapped(Applying):
    """A function of each element."""

    __slots__ = ()
    maps: ClassVar = True

    def __next__(self) -> Element:
        return self._function(*next(self.input))

    def prompt(self) -> bool:
        return self._function.is_plain and self.input.prompt()


class Filtered(Applying):
    """The elements that satisfy a predicate."""

    __slots__ = ()

    def __next__(self) -> Element:
        predicate = self._function
        for element in self.input:
            if predicate(*element)[0]:
                return element
        raise StopIteration


class TakenWhile(Applying):
    """The elements before the first that does not satisfy a predicate."""

    __slots__ = ("ended",)
    saved_attributes: ClassVar = ("ended",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.ended = False

    def __next__(self) -> Element:
        if not self.ended:
            element = next(self.input)
            if self._function(*element)[0]:
                return element
            self.ended = True
        raise StopIteration


class Taken(Unary):
    """The first elements, or all if the number is negative."""

    __slots__ = ("_count", "taken")
    reorders: ClassVar = True
    drops: ClassVar = True
    saved_attributes: ClassVar = ("taken",)

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        super().__init__(dataset, refs)
        self._count = dataset.integer(0, "count")
        self.taken = 0

    def __next__(self) -> Element:
        if self.taken >= self._count >= 0:
            raise StopIteration
        element = next(self.input)
        self.taken += 1
        return element

    def take(self, count: int, out: list[Any]) -> None:
        before = len(out)
        try:
            self.input.take(count if self._count < 0 else min(count, self._count - self.taken), out)
        finally:
            self.taken += len(out) - before

    def prompt(self) -> bool:
        return self.input.prompt()


class Skipped(Unary):
    """All but the first elements; none if the number is negative."""

    __slots__ = ("left",)
    reorders: ClassVar = True
    drops: ClassVar = True
    saved_attributes: ClassVar = ("left",)

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        super().__init__(dataset, refs)
        self.left = dataset.integer(0, "count")

    def __next__(self) -> Element:
        if self.left < 0:
            raise StopIteration
        while self.left:
            next(self.input)
            self.left -= 1
        return next(self.input)

    def take(self, count: int, out: list[Any]) -> None:
        if self.left:
            super().take(count, out)
        else:
            self.input.take(count, out)

    def prompt(self) -> bool:
        return not self.left and self.input.prompt()


class Shard(Unary):
    """Every n-th element."""

    __slots__ = ("_count", "_index", "at")
    reorders: ClassVar = True
    drops: ClassVar = True
    saved_attributes: ClassVar = ("at",)

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        super().__init__(dataset, refs)
        self._count, self._index = dataset.integer(0, "num_shards", 1), dataset.integer(1, "index", 0)
        if self._index >= self._count:
            raise invalid(f"index is {self._index}, expected less than num_shards, which is {self._count}")
        self.at = 0

    def __next__(self) -> Element:
        for element in self.input:
            at, self.at = self.at, (self.at + 1) % self._count
            if at == self._index:
                return element
        raise StopIteration


class Repeated(Unary):
    """The elements repeated a number of times, forever if the number is negative."""

    __slots__ = ("_count", "_has_yielded", "done")
    reorders: ClassVar = True
    saved_attributes: ClassVar = ("done",)

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        super().__init__(dataset, refs)
        self._count = dataset.integer(0, "count")
        self.done = 0
        self._has_yielded = False

    def __next__(self) -> Element:
        while self.done != self._count:
            try:
                element = next(self.input)
            except StopIteration:
                pass
            except BaseException:
                self._has_yielded = True
                raise
            else:
                self._has_yielded = True
                return element
            if not self._begin_again():
                break
        raise StopIteration

    def take(self, count: int, out: list[Any]) -> None:
        end = len(out) + count
        while self.done != self._count:
            before = len(out)
            try:
                self.input.take(end - before, out)
            except BaseException:
                self._has_yielded = True
                raise
            self._has_yielded = self._has_yielded or len(out) > before
            if len(out) == end or not self._begin_again():
                break

    def _begin_again(self) -> bool:
        """Restarts at the first element; returns False if there is none, since repeating an empty dataset must end."""
        # An error counts as an element: a dataset that fails at once is not empty, and is repeated, as by TensorFlow.
        if not self._has_yielded and self._count < 0:
            return False
        self.done += 1
        self._has_yielded = False
        self.input.close()  # its workers would take elements of a live source from the next iteration
        self.input = self.begin()
        if self.closed:
            raise self.end()
        return True

    def reads_ahead(self) -> bool:
        return self.input.reads_ahead()

    def prompt(self) -> bool:
        return self.input.prompt()

    def state(self) -> Any:
        return {**super().state(), "given": self._has_yielded}

    def restore(self, state: Position) -> None:
        super().restore(state)
        self._has_yielded = state["given"]


class WithoutErrors(Unary):
    """The elements that can be produced; those that fail are dropped."""

    __slots__ = ()

    def __next__(self) -> Element:
        while True:
            try:
                return next(self.input)
            except errors.CancelledError:
                raise
            except errors.OpError:
                continue


class Scanned(Applying):
    """A function from a state and each element to the next state and an element."""

    __slots__ = ("now",)
    saved_attributes: ClassVar = ("now",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.now: Element = dataset.values

    def __next__(self) -> Element:
        results = self._function(*self.now, *next(self.input))
        self.now = tuple(results[: len(self.now)])
        return tuple(results[len(self.now) :])


class Reduced(Applying):
    """The final state of a function of a state and each element."""

    __slots__ = ("done",)
    saved_attributes: ClassVar = ("done",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.done = False

    def __next__(self) -> Element:
        if self.done:
            raise StopIteration
        self.done = True
        state = self.dataset.values
        for element in self.input:
            state = self._function(*state, *element)
        return state


class Distinct(Unary):
    """The distinct elements, each at its first occurrence."""

    __slots__ = ("seen",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.seen: set[Any] = set()

    def __next__(self) -> Element:
        for element in self.input:
            key = element[0].tolist()
            if key not in self.seen:
                self.seen.add(key)
                return element
        raise StopIteration

    def state(self) -> Any:
        return {**super().state(), "seen": list(self.seen)}

    def restore(self, state: Position) -> None:
        super().restore(state)
        self.seen = set(state["seen"])


# An iteration that takes several elements at once (`take`) appends those before an error and then raises it. Callers
# count what was appended, not what was asked for, so that the position stays right when an error is ignored.

# -- several inputs ---------------------------------------------------------------------------------------------------


class Joined(Iteration):
    """Base class of iterations over several input datasets."""

    __slots__ = ("inputs",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.inputs = [parent.elements() for parent in dataset.parents]

    def state(self) -> Any:
        return {**super().state(), "inputs": [iteration.state() for iteration in self.inputs]}

    def restore(self, state: Position) -> None:
        super().restore(state)
        for iteration, saved in zip(self.inputs, state["inputs"], strict=True):
            iteration.restore(saved)

    def close(self) -> None:
        super().close()
        for iteration in self.inputs:
            iteration.close()


class Zipped(Joined):
    """Tuples of the elements of all inputs, until one of them ends."""

    __slots__ = ()

    def __next__(self) -> Element:
        result: list[Any] = []
        for iteration in self.inputs:
            result += next(iteration)
        return tuple(result)


class Concatenated(Joined):
    """The elements of one input after those of the other."""

    __slots__ = ("at",)
    saved_attributes: ClassVar = ("at",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.at = 0

    def __next__(self) -> Element:
        while self.at < len(self.inputs):
            for element in self.inputs[self.at]:
                return element
            self.at += 1
        raise StopIteration


class Chosen(Joined):
    """Elements of those inputs whose indices the first input yields; an exhausted input is skipped."""

    __slots__ = ("ended",)
    saved_attributes: ClassVar = ("ended",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.ended: list[int] = []

    def __next__(self) -> Element:
        count = len(self.inputs) - 1
        while len(self.ended) < count:
            index = int(next(self.inputs[0])[0])
            if not 0 <= index < count:
                raise invalid(f"Selector index out of range: {index} >= {count}")
            if index in self.ended:
                continue
            for element in self.inputs[1 + index]:
                return element
            self.ended.append(index)
        raise StopIteration
