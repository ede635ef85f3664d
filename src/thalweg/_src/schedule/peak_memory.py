"""Peak memory: a liveness-based estimate of the memory that a device holds while it runs its partition.

A tensor lives from the node that makes it to the last one that takes it, or to the end if it is fetched; a view is the
tensor that it looks at; feeds are the caller's and live throughout. Variables and constants are held between steps.
What a kernel takes for itself while it runs is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from thalweg._src.errors import format_bytes
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.source_line import made_at
from thalweg._src.place.cost import CostModel
from thalweg._src.place.groups import device_type
from thalweg._src.place.trip_count import trip_count
from thalweg._src.shapes import is_fully_defined, show

Until = Mapping[Node, Node | None]

_FEW = 5  # tensors that are named
_APPENDING = {"TensorListPushBack": (1, 0), "TensorArrayWriteV3": (2, 3)}  # the inputs: what is added, and to what


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor that is in memory, and its bytes."""

    node: Node
    index: int
    size: int

    def __str__(self) -> str:
        line = made_at(self.node.stack)
        text = (
            f"'{self.node.name}:{self.index}' {self.node.dtypes[self.index].name}{show(self.node.shapes[self.index])}"
        )
        return f"{text}, {format_bytes(self.size)}" + (f", made at {line}" if line else "")


@dataclass(frozen=True, slots=True)
class Forecast:
    """The most bytes that a device holds at once.

    kept: those of variables and constants, which are there between steps too
    node: the one that runs when there are most; None if there is never more than what is kept
    held: the tensors that are there then, the largest first
    """

    peak: int
    kept: int
    node: Node | None
    held: list[Held]

    def __str__(self) -> str:
        text = f"at most {format_bytes(self.peak)}"
        if self.node is not None:
            text += f" while '{self.node.name}' runs"
        return text + f", {format_bytes(self.kept)} of it variables and constants"

    def largest(self) -> str:
        """Returns the largest tensors at the peak, a line each."""
        lines = [str(held) for held in self.held[:_FEW]]
        rest = self.held[_FEW:]
        return "\n".join(lines + ([f"{len(rest)} others, {format_bytes(sum(h.size for h in rest))}"] if rest else []))


class Buffers:
    """The memory behind the values of a part: which nodes make each buffer, and which take it.

    gives, takes: the buffers of each node; `leaves`, of a loop, those that it lets go before it makes its own
    readers: the nodes that take each buffer; `stays` are those that are never released
    extra: what a loop needs while it runs, beside what it takes and gives
    """

    def __init__(self, part: StepGraph, device: str, costs: CostModel, *, inside: bool = False) -> None:
        self.costs = costs
        self.sizes: list[int] = []
        self.makers: list[Output] = []
        self.readers: list[list[Node]] = []
        self.gives: dict[Node, list[int]] = {}
        self.takes: dict[Node, list[int]] = {}
        self.leaves: dict[Node, set[int]] = {}
        self.extra: dict[Node, int] = {}
        self.kept = 0
        self._on_host = device_type(device) == "CPU"
        self._inside = inside
        self._of: dict[Output, int] = {}
        for node in part.nodes:
            self._add(node, device)
        self.stays = {self._of[output] for output in part.fetches if output in self._of}
        if not inside:
            self.stays |= {buffer for node in part.nodes if node.type == "_Arg" for buffer in self.gives[node]}

    def _add(self, node: Node, device: str) -> None:
        needed = [*node.inputs, *(predicate for predicate, _ in node.guard)]
        self.takes[node] = list(dict.fromkeys(self._of[output] for output in needed if output in self._of))
        for buffer in self.takes[node]:
            self.readers[buffer].append(node)
        self.gives[node] = []
        if node.type in ("Const", "VarHandleOp"):
            sizes = self.costs.sizes
            self.kept += (
                sizes.outputs(node) if node.type == "Const" and self._counts(node, 0) else sizes.persistent(node)
            )
            return
        if node.type == "_While":
            self._add_loop(node, device)
        viewed = _viewed(node)
        if viewed is not None:
            seen = [self._of[output] for output in viewed if output in self._of]
            if seen:  # else it looks at what is not counted: a variable, a constant
                buffer = max(seen, key=self.sizes.__getitem__)
                self._of.update(((node, index), buffer) for index in range(len(node.dtypes)))
                maker, output = self.makers[buffer]
                if node.facts.is_alias and not is_fully_defined(maker.shapes[output]):
                    self.sizes[buffer] = max(self.sizes[buffer], self.costs.bytes(node, 0))  # it may know its shape
            return
        if node.type == "_Arg" and self._inside:
            return  # a variable of a loop is what the loop gives, or was given
        for index in range(len(node.dtypes)):
            size = self._size(node, index)
            if size and self._counts(node, index):
                self._of[node, index] = len(self.sizes)
                self.gives[node].append(len(self.sizes))
                self.sizes.append(size)
                self.makers.append((node, index))
                self.readers.append([])

    def _add_loop(self, loop: Node, device: str) -> None:
        parts = loop.attrs["region"].parts()
        inner = [Buffers(part, device, self.costs, inside=True) for part in parts]
        self.extra[loop] = max(buffers.forecast(part.nodes).peak for buffers, part in zip(inner, parts))
        count = len(loop.dtypes)
        captured = {self._of[output] for output in loop.inputs[count:] if output in self._of}
        self.leaves[loop] = {self._of[o] for o in loop.inputs[:count] if o in self._of} - captured

    def _size(self, node: Node, index: int) -> int:
        saved = _saved(node, index, self.costs) if node.type == "_While" else 0
        return saved or self.costs.bytes(node, index)

    def _counts(self, node: Node, index: int) -> bool:
        """Returns whether an output is in the memory of the device, not in that of its host."""
        if self._on_host:
            return True
        if "_host" in node.attrs or node.type in ("_Arg", "_CopyToHost"):
            return False
        host = node.definition.host
        names = [arg.name for arg in node.definition.outputs]
        return not host or len(names) != len(node.dtypes) or names[index] not in host

    def needed(self) -> list[int]:
        """Returns for each buffer how many are still to take it; what stays is never let go."""
        return [len(readers) + (buffer in self.stays) for buffer, readers in enumerate(self.readers)]

    def forecast(self, order: Sequence[Node], until: Until | None = None) -> Forecast:
        """Adds up what is held at each node in some order.

        until: of nodes that hand a tensor to another device, the node that starts when it has got there
        """
        sizes = self.sizes
        held, most, at = 0, 0, -1
        for position, (node, before, after) in enumerate(self._lives(order, until or {})):
            for buffer in self.gives[node]:
                held += sizes[buffer]
            for buffer in before:
                held -= sizes[buffer]
            running = held + self.extra.get(node, 0)
            if running > most:
                most, at = running, position
            for buffer in after:
                held -= sizes[buffer]
        if at < 0:
            return Forecast(self.kept, self.kept, None, [])
        tensors = [Held(*self.makers[buffer], sizes[buffer]) for buffer in self._live(order, until or {}, at)]
        tensors.sort(key=lambda tensor: -tensor.size)
        return Forecast(self.kept + most, self.kept, order[at], tensors)

    def _live(self, order: Sequence[Node], until: Until, at: int) -> Iterable[int]:
        """Returns the buffers that are there while the node at some place runs."""
        live: dict[int, None] = {}
        gone: list[int] = []
        for node, before, after in self._lives(order[: at + 1], until):
            for buffer in gone:
                live.pop(buffer, None)
            live.update(dict.fromkeys(self.gives[node]))
            for buffer in before:
                live.pop(buffer, None)
            gone = after
        return live

    def _lives(self, order: Sequence[Node], until: Until) -> Iterator[tuple[Node, list[int], list[int]]]:
        """Yields each node with the buffers that are let go before it runs, and those after."""
        left = self.needed()
        arriving: dict[Node, list[int]] = {}
        for node in order:
            before: list[int] = []
            after: list[int] = []
            for buffer in arriving.pop(node, ()):
                left[buffer] -= 1
                if not left[buffer]:
                    before.append(buffer)
            if node in until:
                arrival = until[node]
                if arrival is not None:
                    arriving.setdefault(arrival, []).extend(self.takes[node])
            else:
                leaves = self.leaves.get(node, ())
                for buffer in self.takes[node]:
                    left[buffer] -= 1
                    if not left[buffer]:
                        (before if buffer in leaves else after).append(buffer)
            after += [buffer for buffer in self.gives[node] if not left[buffer]]
            yield node, before, after


def _viewed(node: Node) -> list[Output] | None:
    """Returns what a node's outputs may be views of; None if they are memory of their own."""
    if node.facts.view:
        names = [arg.name for arg in node.definition.inputs]
        return node.inputs[names.index(node.facts.view) :][:1]
    if not node.facts.is_alias:
        return None
    if node.type == "ReadVariableOp":
        return []
    if node.type == "_Choose":
        return node.inputs[1:]
    return node.inputs[-1:] if node.type == "_Alive" else node.inputs[:1]


def _saved(loop: Node, index: int, costs: CostModel) -> int:
    """Returns the memory of what a loop appends in every turn to a list or an array that it carries."""
    node, _ = loop.attrs["region"].body.fetches[index]
    size = 0
    while node.type in _APPENDING:
        value, following = _APPENDING[node.type]
        size += costs.bytes(*node.inputs[value])
        node = node.inputs[following][0]
    return size * trip_count(loop, costs.iterations) if size else 0
