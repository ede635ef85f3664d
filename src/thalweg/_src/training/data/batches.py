"""Passes that combine and split elements: batches, windows, groups."""

from __future__ import annotations

from typing import Any, ClassVar

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid
from thalweg._src.runtime.kernels.elements import number, slice_sparse, slices, sparse_row, stack_padded, stack_sparse
from thalweg._src.training.data.element_refs import ElementRefs, stacker
from thalweg._src.training.data.iteration import BoundDataset, Element, Iteration, Position, Unary, in_memory_dataset
from thalweg._src.training.data.structure import SparseTensorSpec


class Batched(Unary):
    """Stacks a number of elements into one; the last batch may be smaller, or is dropped."""

    __slots__ = ("_batched_maps", "_drop", "_functions", "_size", "_stack")

    def __init__(self, dataset: BoundDataset) -> None:
        if dataset.parents[0].definition.iteration_type.maps:
            dataset.parents[0].is_ordered = True  # as in TensorFlow, where a map and a batch become one dataset
        super().__init__(dataset, dataset.parents[0].element_refs())
        maps = dataset.parents[0].deferred_maps()
        self._size = dataset.integer(0, "batch_size", 1)
        self._drop = bool(dataset.values[1])
        self._stack = stacker(dataset.leaves)
        self._functions = [bound_map.function() for bound_map in maps]
        self._batched_maps = None if self.refs is None else BatchedMaps(self.refs, maps)

    # Late materialization and map vectorization: the input yields references, which shuffle, take and repeat reorder
    # without touching the elements; the deferred maps then run once on the whole batch. That is the same as mapping
    # each element first, because deferred maps are stateless and have a batching rule for every operation, and because
    # what lies between them and the batch only selects elements. What cannot be computed so, elements of different
    # shapes or one that fails, falls back to one call per element for good: these raise the error of the element, at
    # its place. References are released in any case; a row that is not would never be reused.
    def __next__(self) -> Element:
        elements: list[Any] = []
        try:
            self.input.take(self._size, elements)
            if not elements or (self._drop and len(elements) < self._size):
                raise StopIteration
            return self._stack(elements) if self.refs is None else self._batch_of(self.refs, elements)
        finally:
            if self.refs is not None:
                self.refs.release(elements)

    def _batch_of(self, refs: ElementRefs, elements: list[Any]) -> Element:
        """Returns the batch of some element references."""
        if self._batched_maps is not None:
            result = self._batched_maps(elements)
            if result is not None:
                return result
            self._batched_maps = None  # elements of different shapes, or one that fails: now one by one
        elements = [element if type(element) is tuple else refs.materialize(element) for element in elements]
        for function in self._functions:
            elements = [function(*element) for element in elements]
        return self._stack(elements)

    def prompt(self) -> bool:
        return all(function.is_plain for function in self._functions) and self.input.prompt()


class BatchedMaps:
    """The deferred maps before a batch, applied to all its elements at once."""

    def __init__(self, refs: ElementRefs, maps: list[BoundDataset]) -> None:
        self._refs = refs
        self._functions = [bound_map.batched_function() for bound_map in maps]
        self._of_numbers = maps[0].decoded_function() if maps else None

    def __call__(self, elements: list[Any]) -> Element | None:
        """Returns a batch, or None if it cannot be computed in this way."""
        try:
            numbers = None if self._of_numbers is None else self._refs.numbers(elements)
            if numbers is None or self._of_numbers is None:
                values, functions = self._refs.batch(elements), self._functions
            else:
                values, functions = self._of_numbers(*numbers), self._functions[1:]
            for function in functions:
                values = function(*values)
        except (errors.OpError, RuntimeError, TypeError, ValueError):
            return None
        return values


class PaddedBatched(Unary):
    """Pads a number of elements to one shape and stacks them."""

    __slots__ = ("_drop", "_padding", "_shapes", "_size")

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._size = dataset.integer(0, "batch_size", 1)
        self._drop = bool(dataset.values[1])
        count = len(dataset.leaves)
        self._shapes = [value.tolist() for value in dataset.values[2 : 2 + count]]
        self._padding = dataset.values[2 + count :]
        for value in self._padding:
            if value.ndim:
                raise invalid(f"a padding value has shape {list(value.shape)}, expected a scalar")

    def __next__(self) -> Element:
        elements = []
        for element in self.input:
            elements.append(element)
            if len(elements) == self._size:
                break
        if not elements or (len(elements) < self._size and self._drop):
            raise StopIteration
        columns = zip(zip(*elements), self._shapes, self._padding)
        return tuple([stack_padded(column, shape, pad, i) for i, (column, shape, pad) in enumerate(columns)])


class SparseBatched(Unary):
    """Combines a number of elements of different sizes into one sparse tensor."""

    __slots__ = ("_rows", "_size")

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._size = dataset.integer(0, "batch_size", 1)
        self._rows = dataset.values[1].tolist()

    def __next__(self) -> Element:
        elements = []
        for element in self.input:
            elements.append(sparse_row(element[0], self._rows))
            if len(elements) == self._size:
                break
        if not elements:
            raise StopIteration
        return stack_sparse(elements)


class Unbatched(Unary):
    """The slices of each element along its first dimension."""

    __slots__ = ("at", "now")
    saved_attributes: ClassVar = ("at",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.at = 0
        self.now: list[Element] = []

    def __next__(self) -> Element:
        while self.at >= len(self.now):
            self.now = self._taken_apart(next(self.input))
            self.at = 0
        self.at += 1
        return self.now[self.at - 1]

    def _taken_apart(self, element: Element) -> list[Element]:
        values = iter(element)
        columns: list[Any] = []
        for leaf in self.dataset.leaves:
            if isinstance(leaf, SparseTensorSpec):
                sparse = next(values), next(values), next(values)
                columns += zip(*[slice_sparse(sparse, row) for row in range(int(sparse[2][0]))]) or [()] * 3
            else:
                value = next(values)
                if not value.ndim:
                    raise invalid("a scalar cannot be unbatched: expected a first dimension")
                columns.append(slices(value, 0, value.shape[0]))
        if len({len(column) for column in columns}) > 1:
            raise invalid(f"the components have different first dimensions: {[len(column) for column in columns]}")
        return list(zip(*columns))

    def state(self) -> Any:
        return {**super().state(), "now": self.now}

    def restore(self, state: Position) -> None:
        super().restore(state)
        self.now = state["now"]


# -- windows ----------------------------------------------------------------------------------------------------------


class Windowed(Unary):
    """Windows: datasets of consecutive elements, one dataset per component."""

    __slots__ = ("_drop", "_shift", "_size", "_stride", "buffer", "skip")
    saved_attributes: ClassVar = ("buffer", "skip")

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        names = ("size", "shift", "stride")
        self._size, self._shift, self._stride = (dataset.integer(i, name, 1) for i, name in enumerate(names))
        self._drop = bool(dataset.values[3])
        self.buffer: list[Element] = []
        self.skip = 0

    def __next__(self) -> Element:
        span = (self._size - 1) * self._stride + 1
        while self.skip:
            next(self.input)
            self.skip -= 1
        while len(self.buffer) < span:
            element = next(self.input, None)
            if element is None:
                break
            self.buffer.append(element)
        if not self.buffer or (self._drop and len(self.buffer) < span):
            self.buffer = []
            raise StopIteration
        window = self.buffer[: span : self._stride]
        self.skip = max(self._shift - len(self.buffer), 0)
        self.buffer = self.buffer[self._shift :]
        return self._datasets(window)

    def _datasets(self, window: list[Element]) -> Element:
        result, start = [], 0
        for leaf in self.dataset.leaves:
            spec = leaf.element_spec
            end = start + len(spec.tensors())
            result.append(in_memory_dataset(spec, [element[start:end] for element in window]))
            start = end
        return tuple(result)


class GroupedByWindow(Unary):
    """Groups elements by key, and passes each full group to a function as a dataset."""

    __slots__ = ("_inner", "_key", "_reduce", "_size", "ended", "groups")
    saved_attributes: ClassVar = ("ended",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self._key, self._reduce, self._size = (dataset.function(i) for i in range(3))
        self.groups: dict[int, list[Element]] = {}
        self._inner: tuple[int, list[Element], Iteration] | None = None
        self.ended = False

    def __next__(self) -> Element:
        while True:
            if self._inner is not None:
                for element in self._inner[2]:
                    return element
                self._inner = None
            if not self.ended:
                self._fill()
            elif self.groups:
                key = min(self.groups)
                self._begin(key, self.groups.pop(key))
            else:
                raise StopIteration

    def _fill(self) -> None:
        """Takes elements until a group is full or the input ends."""
        for element in self.input:
            key = int(self._key(*element)[0])
            group = self.groups.setdefault(key, [])
            group.append(element)
            size = int(self._size(number(key))[0])
            if size <= 0:
                raise invalid(f"Window size must be greater than zero, but got {size}.")
            if len(group) >= size:
                self._begin(key, self.groups.pop(key))
                return
        self.ended = True

    def _begin(self, key: int, group: list[Element]) -> None:
        window = in_memory_dataset(self.dataset.parents[0].structure, group)
        self._inner = key, group, self._reduce(number(key), window)[0].elements()

    def state(self) -> Any:
        inner = None if self._inner is None else [self._inner[0], self._inner[1], self._inner[2].state()]
        return {**super().state(), "groups": self.groups, "inner": inner}

    def restore(self, state: Position) -> None:
        super().restore(state)
        self.groups = state["groups"]
        if state["inner"] is not None:
            key, group, saved = state["inner"]
            self._begin(key, group)
            assert self._inner is not None
            self._inner[2].restore(saved)
