"""Plans: datasets as they run. A definition is a dataset in the graph, a plan is one whose parameters have values."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, ClassVar

from thalweg._src import errors
from thalweg._src.data.function import BoundFunction, Function
from thalweg._src.data.serial import decode, encode
from thalweg._src.data.stand_ins import StandIns
from thalweg._src.data.structure import TensorSpec, flatten, signature_of
from thalweg._src.data.vectorize import decoded, vectorized
from thalweg._src.dtypes import DType
from thalweg._src.kernels.waiting import kept
from thalweg._src.resources.devices import Device
from thalweg._src.resources.thread_pool import computing
from thalweg._src.runtime.executable import Executable

Element = tuple[Any, ...]
Cardinality = Callable[["Plan", list[int]], int]  # of a plan, from those of its parents

INFINITE, UNKNOWN = -1, -2  # numbers of elements
CARDINALITIES: dict[type[Elements], Cardinality] = {}  # which thalweg._src.data.cardinality registers


class Definition:
    """What a dataset does: the class of its passes, its structure, and how its inputs are divided."""

    def __init__(
        self,
        kind: type[Elements],
        structure: Any,
        parents: int = 0,
        values: int = 0,
        functions: Sequence[Function] = (),
        options: dict[str, Any] | None = None,
    ) -> None:
        self.kind = kind
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
        """The function of a map as one of batches."""
        return vectorized(self.functions[0])

    @functools.cached_property
    def decoded(self) -> tuple[DType, Function] | None:
        """The function of a map that decodes a string, as one of batches of the numbers in it, and their type."""
        return decoded(self.functions[0])

    def bind(self, device: Any, constants: frozenset[int] = frozenset()) -> Callable[..., Plan]:
        """Returns what makes a plan of the values of all inputs: parents, parameters, captured values."""
        compiled: dict[Function, Executable] = {}

        def make(*inputs: Any) -> Plan:
            held = [value if i in constants else _kept(value) for i, value in enumerate(inputs)]
            return Plan(self, tuple(held), device, compiled)

        return make


class Plan:
    """A dataset ready to be iterated over, as often as one likes."""

    def __init__(
        self, definition: Definition, inputs: Element, device: Device | None, compiled: dict[Function, Executable]
    ) -> None:
        self.definition = definition
        self.origin: Plan | None = None  # what this is a copy of
        self._inputs = inputs
        self.options = definition.options
        self.types, self.shapes = definition.types, definition.shapes
        self.parents: tuple[Plan, ...] = inputs[: definition.parents]
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
        self.memory: Any = None  # what the passes of an iterator share: cached elements, the source of seeds

    @property
    def structure(self) -> Any:
        return self.definition.structure

    @property
    def leaves(self) -> list[Any]:
        return flatten(self.definition.structure)

    def integer(self, index: int, name: str, least: int | None = None) -> int:
        """Returns a parameter that is an integer."""
        value = self.values[index]
        if value.ndim:
            raise invalid(f"{name} has shape {list(value.shape)}, expected a scalar")
        if least is not None and int(value) < least:
            raise invalid(f"{name} is {int(value)}, expected at least {least}")
        return int(value)

    def function(self, index: int = 0) -> BoundFunction:
        """Returns a function for one pass: one without state is shared by all."""
        return self._bound(self.definition.functions[index], index)

    def _bound(self, function: Function, index: int) -> BoundFunction:
        assert self._device is not None
        if function.is_stateful:
            return BoundFunction(function.compile(self._device), self._captured[index], True)
        with self._lock:
            if function not in self._compiled:
                self._compiled[function] = function.compile(self._device)
            return BoundFunction(self._compiled[function], self._captured[index], False)

    def elements(self) -> Elements:
        """Begins a pass."""
        return self.definition.kind(self)

    def put_off(self) -> list[Plan]:
        """Returns the maps, from the first on, that can be done after elements were chosen, for a batch at once."""
        kind = self.definition.kind
        if kind.reorders:
            return self.parents[0].put_off()
        if kind.maps and self.definition.vectorized is not None:
            return [*self.parents[0].put_off(), self]
        return []

    def over_batches(self) -> BoundFunction:
        """Returns the function of a map that is put off."""
        function = self.definition.vectorized
        assert function is not None
        return self._bound(function, 0)

    def over_numbers(self) -> BoundFunction | None:
        """Returns the function of a map that is put off, for strings that are decoded already."""
        decoded = self.definition.decoded
        return None if decoded is None else self._bound(decoded[1], 0)

    def unmapped(self, stand_ins: StandIns) -> Elements:
        """Begins a pass without the maps that are put off, over what stands for elements of the source."""
        kind = self.definition.kind
        if self._is_source():
            return kind(self, stand_ins) if stand_ins.lighter else self.elements()  # type: ignore[call-arg]
        return kind(self, stand_ins) if kind.reorders else self.parents[0].unmapped(stand_ins)  # type: ignore[call-arg]

    def stand_ins(self) -> StandIns | None:
        """Returns what stands for elements in such a pass, or None if it would give the elements themselves."""
        source, drops = self, False
        while not source._is_source():
            drops |= source.definition.kind.drops
            source = source.parents[0]
        maps = self.put_off()
        decoded = maps[0].definition.decoded if maps and not drops else None
        found = source.definition.kind.stand_ins(source, None if decoded is None else decoded[0])
        return StandIns(source.leaves) if found is None and maps else found

    def _is_source(self) -> bool:
        kind = self.definition.kind
        return not (kind.reorders or (kind.maps and self.definition.vectorized is not None))

    def cardinality(self) -> int:
        """Returns how many elements a pass gives: -1 for no end, -2 if that is not known."""
        rule = CARDINALITIES.get(self.definition.kind)
        return UNKNOWN if rule is None else rule(self, [parent.cardinality() for parent in self.parents])

    def iterate(self) -> Elements:
        """Begins a pass for an iterator, which shares caches and sources of seeds with no other.

        What an iterator was at before it went to another position may still run, and draws from its own source then.
        """
        return Outermost(self._own())

    def _own(self) -> Plan:
        """Returns the same dataset with a memory of its own in each place where one is used."""
        if issubclass(self.definition.kind, Held):
            return self
        inputs = tuple(value._own() if isinstance(value, Plan) else value for value in self._inputs)
        own = Plan(self.definition, inputs, self._device, self._compiled)
        own.origin = self.origin or self
        return own


def _kept(value: Any) -> Any:
    """Returns an input that outlives the step; handles and datasets are no memory of it."""
    return kept(value) if hasattr(value, "ndim") else value


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


class Elements:
    """One pass over a dataset: gives its elements in order, and can be saved in between.

    Subclasses name the attributes that say where the pass is. An attribute that is a pass itself is saved as such.
    """

    __slots__ = ("closed", "plan")
    kept: ClassVar[tuple[str, ...]] = ()
    reorders: ClassVar[bool] = False  # gives elements of its input, whatever they are
    drops: ClassVar[bool] = False  # not all of them
    maps: ClassVar[bool] = False  # gives a function of each element of its input

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.closed = False

    def __iter__(self) -> Elements:
        return self

    def __next__(self) -> Element:
        raise StopIteration

    def take(self, count: int, out: Any) -> None:
        """Appends the next elements to a list: so many, or fewer at the end. Those before an error stay there."""
        out.extend(islice(self, count))

    def reads_ahead(self) -> bool:
        """Returns whether nobody sees it when elements are taken before they are needed."""
        return False

    def prompt(self) -> bool:
        """Returns whether the next element is at hand, so that a step may make it in its own thread."""
        return False

    @classmethod
    def stand_ins(cls, plan: Plan, dtype: DType | None) -> StandIns | None:
        """Returns what stands for elements before a batch; dtype: of the numbers that strings are decoded to."""
        return None

    def state(self) -> Any:
        """Returns the position as plain values."""
        return {name: getattr(self, name) for name in self.kept}

    def restore(self, state: Any) -> None:
        """Goes to a position; this pass has not begun."""
        for name in self.kept:
            setattr(self, name, state[name])

    def close(self) -> None:
        """Ends what goes on in the background: whoever still asks for elements gets an error."""
        self.closed = True

    def end(self) -> Exception:
        """Returns what is raised where no element follows."""
        if self.closed:
            return errors.CancelledError(None, None, "the iterator was reset or its session closed")
        return StopIteration()

    def saved(self, made: Element | None) -> bytes:
        """Returns the position as bytes, with an element that was made and not taken."""
        return encode({"made": made, "state": self.state()}, _tree_of)

    def load(self, saved: bytes) -> Element | None:
        """Goes to a position; returns the element that was made before and not taken."""
        tree = decode(saved, _from_tree)
        try:
            self.restore(tree["state"])
            made = tree["made"]
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise invalid(f"the saved position is not one of this dataset: {type(error).__name__}: {error}") from None
        return None if made is None else tuple(made)


class Unary(Elements):
    """A pass over a dataset that is made of one other."""

    __slots__ = ("input", "unmapped")

    def __init__(self, plan: Plan, unmapped: StandIns | None = None) -> None:
        """Begins a pass; unmapped: over what stands for elements whose maps are put off."""
        super().__init__(plan)
        self.unmapped = unmapped
        self.input: Elements = self.begin()

    def begin(self) -> Elements:
        """Begins a pass over the input."""
        parent = self.plan.parents[0]
        return parent.elements() if self.unmapped is None else parent.unmapped(self.unmapped)

    def state(self) -> Any:
        return {**super().state(), "input": self.input.state()}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self.input.restore(state["input"])

    def close(self) -> None:
        super().close()
        self.input.close()


class Outermost(Unary):
    """The pass that an iterator asks: its thread computes as steps do."""

    __slots__ = ()

    def __init__(self, plan: Plan) -> None:
        Elements.__init__(self, plan)
        self.input = plan.elements()

    def __next__(self) -> Element:
        with computing():
            return next(self.input)

    def prompt(self) -> bool:
        return self.input.prompt()


class Held(Elements):
    """Elements that are in memory."""

    __slots__ = ("at",)
    kept: ClassVar = ("at",)

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.at = 0

    def __next__(self) -> Element:
        held = self.plan.memory
        if self.at >= len(held):
            raise StopIteration
        self.at += 1
        return held[self.at - 1]  # type: ignore[no-any-return]


def held_plan(structure: Any, elements: list[Element]) -> Plan:
    """Returns elements in memory as a dataset."""
    plan = Plan(Definition(Held, structure), (), None, {})
    plan.memory = elements
    return plan


def _tree_of(value: Any) -> Any:
    """Returns elements in memory that are part of a position as a tree."""
    if not isinstance(value, Plan) or not issubclass(value.definition.kind, Held):
        raise errors.UnimplementedError(
            None, None, f"a position that holds a {type(value).__name__} cannot be saved, only tensors and windows can"
        )
    return [[dtype.name for dtype in value.types], list(value.shapes), value.memory]


def _from_tree(tree: Any) -> Plan:
    types, shapes, held = tree
    return held_plan(tuple(map(TensorSpec, shapes, types)), held)
