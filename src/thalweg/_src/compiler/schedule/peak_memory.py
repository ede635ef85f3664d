"""Peak memory: a liveness-based estimate of the memory that a device holds while it runs its partition.

A tensor is live from its producer to its last consumer, or to the end of the step if it is fetched; a view shares the
buffer of its base; feeds belong to the caller and are live throughout. Variables and constants persist between steps.
Workspaces that kernels allocate while they run are not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from thalweg._src.base.errors import format_bytes
from thalweg._src.base.shapes import is_fully_defined, show
from thalweg._src.compiler.place.cost import CostModel
from thalweg._src.compiler.place.groups import device_type
from thalweg._src.compiler.place.trip_count import trip_count
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.source_line import made_at

Until = Mapping[Node, Node | None]

_FEW = 5  # tensors that an error lists
_APPENDING = {"TensorListPushBack": (1, 0), "TensorArrayWriteV3": (2, 3)}  # inputs: element, list or flow


@dataclass(frozen=True, slots=True)
class Held:
    """A live tensor and its size in bytes."""

    node: Node
    index: int
    size: int

    def __str__(self) -> str:
        line = made_at(self.node.stack)
        text = (
            f"'{self.node.name}:{self.index}' {self.node.dtypes[self.index].name}{show(self.node.shapes[self.index])}"
        )
        return f"{text}, {format_bytes(self.size)}" + (f", defined at {line}" if line else "")


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The estimated peak memory of a device in bytes.

    persistent: variables and constants, which persist between steps
    node: the node that runs at the peak; None if there is never more than what persists
    held: the live tensors at the peak, the largest first
    """

    peak: int
    persistent: int
    node: Node | None
    held: list[Held]

    def __str__(self) -> str:
        text = f"at most {format_bytes(self.peak)}"
        if self.node is not None:
            text += f" while '{self.node.name}' runs"
        return text + f", {format_bytes(self.persistent)} of it variables and constants"

    def largest(self) -> str:
        """Returns the largest tensors at the peak, one per line."""
        lines = [str(held) for held in self.held[:_FEW]]
        rest = self.held[_FEW:]
        return "\n".join(lines + ([f"{len(rest)} others, {format_bytes(sum(h.size for h in rest))}"] if rest else []))


class Buffers:
    """The buffers of a partition, with the nodes that produce and read each of them.

    gives, takes: the buffers that each node produces and reads; `leaves`: those that a loop releases first
    readers: the nodes that read each buffer; `stays`: the buffers that are never released
    extra: bytes that a loop needs while it runs, in addition to its inputs and outputs
    """

    def __init__(self, graph: StepGraph, device: str, costs: CostModel, *, inside: bool = False) -> None:
        self.costs = costs
        self.sizes: list[int] = []
        self.makers: list[Output] = []
        self.readers: list[list[Node]] = []
        self.gives: dict[Node, list[int]] = {}
        self.takes: dict[Node, list[int]] = {}
        self.leaves: dict[Node, set[int]] = {}
        self.extra: dict[Node, int] = {}
        self.persistent = 0
        self._on_host = device_type(device) == "CPU"
        self._inside = inside
        self._of: dict[Output, int] = {}
        for node in graph.nodes:
            self._add(node, device)
        self.stays = {self._of[output] for output in graph.fetches if output in self._of}
        if not inside:
            self.stays |= {buffer for node in graph.nodes if node.type == "_Arg" for buffer in self.gives[node]}

    def _add(self, node: Node, device: str) -> None:
        # Buffers are reference-counted as the runtime does: a value lives until its last reader has run. A view has no
        # buffer of its own but keeps that of its base alive, so that readers of the view are readers of the base.
        needed = [*node.inputs, *(predicate for predicate, _ in node.guard)]
        self.takes[node] = list(dict.fromkeys(self._of[output] for output in needed if output in self._of))
        for buffer in self.takes[node]:
            self.readers[buffer].append(node)
        self.gives[node] = []
        if node.type in ("Const", "VarHandleOp"):
            sizes = self.costs.sizes
            self.persistent += (
                sizes.outputs(node) if node.type == "Const" and self._counts(node, 0) else sizes.persistent(node)
            )
            return
        if node.type == "_While":
            self._add_loop(node, device)
        viewed = _viewed(node)
        if viewed is not None:
            seen = [self._of[output] for output in viewed if output in self._of]
            if seen:  # otherwise a view of a variable or a constant, which are counted as persistent
                buffer = max(seen, key=self.sizes.__getitem__)
                self._of.update((Output(node, index), buffer) for index in range(len(node.dtypes)))
                maker, output = self.makers[buffer]
                if node.facts.is_alias and not is_fully_defined(maker.shapes[output]):
                    self.sizes[buffer] = max(self.sizes[buffer], self.costs.bytes(node, 0))  # static shape known
            return
        if node.type == "_Arg" and self._inside:
            return  # a loop variable is counted as an input or output of the loop
        for index in range(len(node.dtypes)):
            size = self._size(node, index)
            if size and self._counts(node, index):
                self._of[Output(node, index)] = len(self.sizes)
                self.gives[node].append(len(self.sizes))
                self.sizes.append(size)
                self.makers.append(Output(node, index))
                self.readers.append([])

    def _add_loop(self, loop: Node, device: str) -> None:
        # While a loop runs it needs what its body needs at most, in addition to what it carries. The initial values are
        # released by the first iteration already; captured values stay until the end.
        graphs = loop.attrs["region"].graphs()
        inner = [Buffers(graph, device, self.costs, inside=True) for graph in graphs]
        self.extra[loop] = max(buffers.estimate(graph.nodes).peak for buffers, graph in zip(inner, graphs))
        count = len(loop.dtypes)
        captured = {self._of[output] for output in loop.inputs[count:] if output in self._of}
        self.leaves[loop] = {self._of[o] for o in loop.inputs[:count] if o in self._of} - captured

    def _size(self, node: Node, index: int) -> int:
        saved = _saved(node, index, self.costs) if node.type == "_While" else 0
        return saved or self.costs.bytes(node, index)

    def _counts(self, node: Node, index: int) -> bool:
        """Returns whether an output is in device memory, not in host memory."""
        if self._on_host:
            return True
        if "_host" in node.attrs or node.type in ("_Arg", "_CopyToHost"):
            return False
        host = node.definition.host
        names = [arg.name for arg in node.definition.outputs]
        return not host or len(names) != len(node.dtypes) or names[index] not in host

    def needed(self) -> list[int]:
        """Returns the reference count of each buffer at the start; a buffer that stays has one more."""
        return [len(readers) + (buffer in self.stays) for buffer, readers in enumerate(self.readers)]

    def estimate(self, order: Sequence[Node], until: Until | None = None) -> MemoryEstimate:
        """Returns the peak memory for an execution order.

        until: for each Send, the node that starts when the tensor has arrived on the other device
        """
        # Two passes: the first finds the peak with additions alone, for orders are estimated by the hundred; only the
        # order that is reported has its live tensors collected.
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
            return MemoryEstimate(self.persistent, self.persistent, None, [])
        tensors = [Held(*self.makers[buffer], sizes[buffer]) for buffer in self._live(order, until or {}, at)]
        tensors.sort(key=lambda tensor: -tensor.size)
        return MemoryEstimate(self.persistent + most, self.persistent, order[at], tensors)

    def _live(self, order: Sequence[Node], until: Until, at: int) -> Iterable[int]:
        """Returns the live buffers while the node at a position runs."""
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
        """Yields each node with the buffers that are released before it runs, and those released after."""
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
    """Returns the values that a node's outputs may be views of; None if they have their own buffers."""
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
    """Returns the bytes that all iterations of a loop append to a list or a TensorArray that it carries."""
    node, _ = loop.attrs["region"].body.fetches[index]
    size = 0
    while node.type in _APPENDING:
        value, following = _APPENDING[node.type]
        size += costs.bytes(*node.inputs[value])
        node = node.inputs[following][0]
    return size * trip_count(loop, costs.iterations) if size else 0
