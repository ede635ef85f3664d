"""Bound datasets and iterations: the executable form of datasets.

A `Definition` is a dataset in the graph, a `BoundDataset` is a definition whose parameters have values, and an
`Iteration` yields the elements of a bound dataset once: a chain of Python iterators, each of which pulls from its
input. Two optimizations cross the chain. Maps before a batch are deferred until the batch is complete and run once for
all its elements (`vectorize.py`); and iterations that only select or reorder elements (shuffle, take, repeat) handle
references instead of elements (`element_refs.py`). For both, `Batched` asks its input for the deferred maps and for an
iteration without them.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, ClassVar, TypeAlias

from thalweg._src.base import errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.runtime.executable import Executable
from thalweg._src.runtime.kernels.waiting import storable
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.thread_pool import computing
from thalweg._src.training.data.element_refs import ElementRefs
from thalweg._src.training.data.function import BoundFunction, Function
from thalweg._src.training.data.serial import decode, encode
from thalweg._src.training.data.structure import Structure, TensorSpec, flatten, signature_of
from thalweg._src.training.data.vectorize import decoded, vectorized

Element = tuple[Any, ...]
Position: TypeAlias = dict[str, Any]  # of an iteration: a tree of plain values, tensors and elements in memory
Cardinality = Callable[["BoundDataset", list[int]], int]  # of a dataset, from those of its parents

INFINITE, UNKNOWN = -1, -2  # numbers of elements
CARDINALITIES: dict[type[Iteration], Cardinality] = {}  # which thalweg._src.training.data.cardinality registers


class Definition:
    """A dataset in the graph: the type of its iterations, its structure, and the layout of its inputs."""

    def __init__(
        self,
        iteration_type: type[Iteration],
        structure: Structure,
        parents: int = 0,
        values: int = 0,
        functions: Sequence[Function] = (),
        options: dict[str, Any] | None = None,
    ) -> None:
        self.iteration_type = iteration_type
        self.structure = structure
        self.parents = parents
        self.values = values
        self.functions = tuple(functions)
        self.options = options or {}
        signature = signature_of(structure)
        self.types = tuple(dtype for dtype, _ in signature)
        self.shapes = tuple(shape for _, shape in signature)

    @functools.cached_property
    def vectorized(self) -> Function | None:
        """The vectorized function of a map, from batches to batches."""
        return vectorized(self.functions[0])

    @functools.cached_property
    def decoded(self) -> tuple[DType, Function] | None:
        """The vectorized function of a map that decodes a string, for batches of decoded numbers; and their dtype."""
        return decoded(self.functions[0])

    def bind(self, device: Device, constants: frozenset[int] = frozenset()) -> Callable[..., BoundDataset]:
        """Returns a function from the values of all inputs (parents, parameters, captured values) to a dataset."""
        compiled: dict[Function, Executable] = {}

        def make(*inputs: Any) -> BoundDataset:
            held = [value if i in constants else _retained(value) for i, value in enumerate(inputs)]
            return BoundDataset(self, tuple(held), device, compiled)

        return make


class BoundDataset:
    """A dataset that can be iterated any number of times."""

    def __init__(
        self, definition: Definition, inputs: Element, device: Device | None, compiled: dict[Function, Executable]
    ) -> None:
        self.definition = definition
        self.origin: BoundDataset | None = None  # the dataset that this is a copy of
        self._inputs = inputs
        self.options = definition.options
        self.types, self.shapes = definition.types, definition.shapes
        self.parents: tuple[BoundDataset, ...] = inputs[: definition.parents]
        start = definition.parents + definition.values
        self.values = inputs[definition.parents : start]
        self._captured = []
        for function in definition.functions:
            captured = inputs[start : start + len(function.captured)]
            self._captured.append(captured)
            start += len(captured)
        self._device = device
        self._compiled = compiled
        self._lock = threading.Lock()
        self.memory: Any = None  # shared by the iterations of an iterator: cached elements, the source of seeds
        self.is_ordered = True  # whether parallel calls keep the order of the elements

    @property
    def structure(self) -> Any:
        return self.definition.structure

    @property
    def leaves(self) -> list[Any]:
        return flatten(self.definition.structure)

    def integer(self, index: int, name: str, least: int | None = None) -> int:
        """Returns an integer parameter."""
        value = self.values[index]
        if value.ndim:
            raise invalid(f"{name} has shape {list(value.shape)}, expected a scalar")
        if least is not None and int(value) < least:
            raise invalid(f"{name} is {int(value)}, expected at least {least}")
        return int(value)

    def function(self, index: int = 0) -> BoundFunction:
        """Returns a function for one iteration; a stateless function is shared by all iterations."""
        return self._bound(self.definition.functions[index], index)

    def _bound(self, function: Function, index: int) -> BoundFunction:
        assert self._device is not None
        if function.is_stateful:
            return BoundFunction(function.compile(self._device), self._captured[index], True)
        with self._lock:
            if function not in self._compiled:
                self._compiled[function] = function.compile(self._device)
            return BoundFunction(self._compiled[function], self._captured[index], False)

    def elements(self) -> Iteration:
        """Starts an iteration."""
        return self.definition.iteration_type(self)

    def deferred_maps(self) -> list[BoundDataset]:
        """Returns the maps, first to last, that can be applied after elements are selected, to a batch at once."""
        iteration_type = self.definition.iteration_type
        if iteration_type.reorders:
            return self.parents[0].deferred_maps()
        if iteration_type.maps and self.definition.vectorized is not None:
            return [*self.parents[0].deferred_maps(), self]
        return []

    def batched_function(self) -> BoundFunction:
        """Returns the vectorized function of a deferred map."""
        function = self.definition.vectorized
        assert function is not None
        return self._bound(function, 0)

    def decoded_function(self) -> BoundFunction | None:
        """Returns the vectorized function of a deferred map for decoded strings, if there is one."""
        decoded = self.definition.decoded
        return None if decoded is None else self._bound(decoded[1], 0)

    def unmapped_elements(self, refs: ElementRefs) -> Iteration:
        """Starts an iteration without the deferred maps, over references to elements of the source."""
        iteration_type = self.definition.iteration_type
        if self._is_source():
            return iteration_type(self, refs) if refs.is_lazy else self.elements()  # type: ignore[call-arg]
        return iteration_type(self, refs) if iteration_type.reorders else self.parents[0].unmapped_elements(refs)  # type: ignore[call-arg]

    def element_refs(self) -> ElementRefs | None:
        """Returns the references of such an iteration, or None if it would yield the elements themselves."""
        # Records are stored as rows only if all of them reach a batch: the batch releases the rows that it has used,
        # and those of elements that are dropped on the way would never be reused.
        source, drops = self, False
        while not source._is_source():
            drops |= source.definition.iteration_type.drops
            source = source.parents[0]
        maps = self.deferred_maps()
        decoded = maps[0].definition.decoded if maps and not drops else None
        refs = source.definition.iteration_type.element_refs(source, None if decoded is None else decoded[0])
        return ElementRefs(source.leaves) if refs is None and maps else refs

    def _is_source(self) -> bool:
        iteration_type = self.definition.iteration_type
        return not (iteration_type.reorders or (iteration_type.maps and self.definition.vectorized is not None))

    def cardinality(self) -> int:
        """Returns how many elements an iteration yields: -1 if infinite, -2 if unknown."""
        rule = CARDINALITIES.get(self.definition.iteration_type)
        return UNKNOWN if rule is None else rule(self, [parent.cardinality() for parent in self.parents])

    def iterate(self) -> Iteration:
        """Starts an iteration for an iterator, which shares caches and sources of seeds with no other iterator.

        The previous iteration of an iterator that was moved to another position may still run, and then draws from its
        own source.
        """
        dataset = self._with_private_memory()
        if dataset._has_unordered():
            dataset.drop_order()
        return Outermost(dataset)

    def _has_unordered(self) -> bool:
        inputs = (value for value in self._inputs if isinstance(value, BoundDataset))
        return issubclass(self.definition.iteration_type, Unordered) or any(
            dataset._has_unordered() for dataset in inputs
        )

    def drop_order(self) -> None:
        """Lets parallel calls hand on elements as soon as they are ready, here and in all datasets below."""
        self.is_ordered = False
        for value in self._inputs:
            if isinstance(value, BoundDataset) and value.is_ordered:
                value.drop_order()

    def _with_private_memory(self) -> BoundDataset:
        """Returns a copy of the dataset with memory of its own wherever memory is used."""
        if issubclass(self.definition.iteration_type, InMemory):
            return self
        inputs = tuple(
            value._with_private_memory() if isinstance(value, BoundDataset) else value for value in self._inputs
        )
        copy = BoundDataset(self.definition, inputs, self._device, self._compiled)
        copy.origin = self.origin or self
        return copy


def _retained(value: object) -> Any:
    """Returns an input that outlives the step; handles and datasets need no copy."""
    return storable(value) if hasattr(value, "ndim") else value


class Iteration:
    """One iteration over a dataset: yields its elements in order, and can be saved in between.

    Subclasses list the attributes that make up the position. An attribute that is an iteration is saved recursively.
    """

    __slots__ = ("closed", "dataset")
    saved_attributes: ClassVar[tuple[str, ...]] = ()
    reorders: ClassVar[bool] = False  # yields elements of its input, whatever they are
    drops: ClassVar[bool] = False  # not all of them
    maps: ClassVar[bool] = False  # yields a function of each element of its input

    def __init__(self, dataset: BoundDataset) -> None:
        self.dataset = dataset
        self.closed = False

    def __iter__(self) -> Iteration:
        return self

    def __next__(self) -> Element:
        raise StopIteration

    def take(self, count: int, out: list[Any]) -> None:
        """Appends up to `count` elements to a list; on an error, those before it have been appended."""
        out.extend(islice(self, count))

    def reads_ahead(self) -> bool:
        """Returns whether elements may be taken before they are needed without a visible effect."""
        return False

    def prompt(self) -> bool:
        """Returns whether the next element is available without blocking, so that a step may produce it itself."""
        return False

    @classmethod
    def element_refs(cls, dataset: BoundDataset, dtype: DType | None) -> ElementRefs | None:
        """Returns the references to elements before a batch; dtype: of the numbers that strings are decoded to."""
        return None

    def state(self) -> Position:
        """Returns the position as plain values."""
        return {name: getattr(self, name) for name in self.saved_attributes}

    def restore(self, state: Position) -> None:
        """Restores a position in an iteration that has not started."""
        for name in self.saved_attributes:
            setattr(self, name, state[name])

    def close(self) -> None:
        """Stops background work: later requests for elements fail."""
        self.closed = True

    def end(self) -> Exception:
        """Returns the exception that ends the iteration."""
        if self.closed:
            return errors.CancelledError(None, None, "the iterator was reset or its session closed")
        return StopIteration()

    def saved(self, pending: Element | None) -> bytes:
        """Returns the serialized position, with an element that was produced but not taken."""
        return encode({"made": pending, "state": self.state()}, _tree_of)

    def load(self, saved: bytes) -> Element | None:
        """Restores a serialized position; returns the element that was produced but not taken."""
        tree = decode(saved, _from_tree)
        try:
            self.restore(tree["state"])
            pending = tree["made"]
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise invalid(f"the saved position does not fit this dataset: {type(error).__name__}: {error}") from None
        return None if pending is None else tuple(pending)


class Unary(Iteration):
    """Base class of iterations over one input dataset."""

    __slots__ = ("input", "refs")

    def __init__(self, dataset: BoundDataset, refs: ElementRefs | None = None) -> None:
        """Starts an iteration; with `refs`, over references to elements whose maps are deferred."""
        super().__init__(dataset)
        self.refs = refs
        self.input: Iteration = self.begin()

    def begin(self) -> Iteration:
        """Starts an iteration over the input."""
        parent = self.dataset.parents[0]
        return parent.elements() if self.refs is None else parent.unmapped_elements(self.refs)

    def state(self) -> Position:
        return {**super().state(), "input": self.input.state()}

    def restore(self, state: Position) -> None:
        super().restore(state)
        self.input.restore(state["input"])

    def close(self) -> None:
        super().close()
        self.input.close()


class Unordered(Unary):
    """The same elements, in a pipeline whose parallel calls need not keep their order."""

    __slots__ = ()
    reorders: ClassVar = True

    def __next__(self) -> Element:
        return next(self.input)

    def take(self, count: int, out: list[Any]) -> None:
        self.input.take(count, out)

    def reads_ahead(self) -> bool:
        return self.input.reads_ahead()

    def prompt(self) -> bool:
        return self.input.prompt()


class Outermost(Unary):
    """The outermost iteration, called by an iterator: sets its thread up to compute as steps do."""

    __slots__ = ()

    def __init__(self, dataset: BoundDataset) -> None:
        Iteration.__init__(self, dataset)
        self.input = dataset.elements()

    def __next__(self) -> Element:
        with computing():
            return next(self.input)

    def prompt(self) -> bool:
        return self.input.prompt()


class InMemory(Iteration):
    """An iteration over elements in memory."""

    __slots__ = ("at",)
    saved_attributes: ClassVar = ("at",)

    def __init__(self, dataset: BoundDataset) -> None:
        super().__init__(dataset)
        self.at = 0

    def __next__(self) -> Element:
        held = self.dataset.memory
        if self.at >= len(held):
            raise StopIteration
        self.at += 1
        return held[self.at - 1]  # type: ignore[no-any-return]


def in_memory_dataset(structure: Structure, elements: list[Element]) -> BoundDataset:
    """Returns a dataset of elements in memory."""
    dataset = BoundDataset(Definition(InMemory, structure), (), None, {})
    dataset.memory = elements
    return dataset


def _tree_of(value: object) -> Any:
    """Returns a tree for in-memory elements that are part of a position."""
    if not isinstance(value, BoundDataset) or not issubclass(value.definition.iteration_type, InMemory):
        raise errors.UnimplementedError(
            None, None, f"a position that holds a {type(value).__name__} cannot be saved, only tensors and windows can"
        )
    return [[dtype.name for dtype in value.types], list(value.shapes), value.memory]


def _from_tree(tree: Sequence[Any]) -> BoundDataset:
    types, shapes, held = tree
    return in_memory_dataset(tuple(map(TensorSpec, shapes, types)), held)
