"""StepGraph, the compiler's IR: a private copy of the subgraph of one step signature, which passes rewrite."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from thalweg._src.base.dtypes import DType
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.op_def import OPS, Facts, OpDef
from thalweg._src.graph.source_line import Stack
from thalweg._src.graph.walk import reachable

SHOWN = "_shown"  # attribute of nodes that passes add: the name that errors show, of an operation of the user


class Output(NamedTuple):
    """One output of a node."""

    node: Node
    index: int  # type: ignore[assignment]  # hides the method of tuples

    @property
    def dtype(self) -> DType:
        return self.node.dtypes[self.index]

    @property
    def shape(self) -> Shape:
        return self.node.shapes[self.index]


Guard = tuple[tuple[Output, bool], ...]  # predicates and the values that they must have, from outside in


class Node:
    """An operation in a step: what it runs, on what, after whom, and where."""

    __slots__ = (
        "attrs",
        "controls",
        "definition",
        "device",
        "dtypes",
        "guard",
        "inputs",
        "name",
        "order",
        "shapes",
        "stack",
        "type",
    )
    facts = ReadOnly[Facts]("What may be assumed of the op.", "definition.facts")

    def __init__(
        self,
        name: str,
        definition: OpDef,
        inputs: list[Output],
        attrs: dict[str, Any],
        dtypes: Sequence[DType],
        shapes: Sequence[Shape],
        *,
        controls: list[Node] | None = None,
        device: str = "",
        order: float = 0,
        stack: Stack = (),
        guard: Guard = (),
    ) -> None:
        self.name = name
        self.definition = definition
        self.type = definition.name
        self.inputs = inputs
        self.controls: list[Node] = controls if controls is not None else []
        self.attrs = attrs
        self.dtypes = dtypes
        self.shapes = shapes
        self.device = device
        self.order = order
        self.guard = guard
        self.stack = stack

    def constant(self, index: int) -> np.ndarray[Any, Any] | None:
        """Returns the value of an input that is a constant of the graph."""
        producer = self.inputs[index].node
        return producer.attrs["value"] if producer.definition.name == "Const" else None

    def input_shape(self, index: int) -> Shape:
        return self.inputs[index].shape

    def input_dtype(self, index: int) -> DType:
        return self.inputs[index].dtype

    def predecessors(self) -> Iterable[Node]:
        for output in self.inputs:
            yield output.node
        yield from self.controls
        for predicate, _ in self.guard:
            yield predicate.node

    def like(self, op_type: str, inputs: list[Output], attrs: dict[str, Any], **changes: Any) -> Node:
        """Returns a node of another type in this one's place: same name, outputs, device, order and user line."""
        fields: dict[str, Any] = {
            "dtypes": self.dtypes,
            "shapes": self.shapes,
            "controls": list(self.controls),
            "device": self.device,
            "order": self.order,
            "stack": self.stack,
            "guard": self.guard,
        }
        fields.update(changes)
        name = fields.pop("name", self.name)
        return Node(name, OPS.lookup(op_type), inputs, attrs, **fields)

    def __repr__(self) -> str:
        return f"<Node {self.name!r} {self.type}>"


@dataclass(slots=True)
class Region:
    """What a `_While` node repeats: `condition` gives one bool, `body` the values of the next iteration.

    Both are graphs over the same arguments: the variables, then the values of outside that never change.
    """

    condition: StepGraph
    body: StepGraph

    def graphs(self) -> tuple[StepGraph, StepGraph]:
        return self.condition, self.body


@dataclass(slots=True)
class StepGraph:
    """Nodes in an order that respects all dependencies, with what comes in and what must come out."""

    nodes: list[Node]
    feeds: list[Node]
    fetches: list[Output]
    targets: list[Node] = field(default_factory=list)
    positions: list[int] | None = None  # of the fetches among the whole step's, in a partition
    is_unstructured: bool = False  # control flow could not be structured; runs on the token engine, and may have cycles

    def waits(self) -> bool:
        """Returns whether a node of this graph may block."""
        return any(map(waits, self.nodes))

    def roots(self) -> Iterable[Node]:
        for node, _ in self.fetches:
            yield node
        yield from self.targets

    def regions(self) -> Iterable[Region]:
        """Yields the loops of this graph, not those inside of them."""
        for node in self.nodes:
            if node.type == "_While":
                yield node.attrs["region"]

    def everything(self) -> Iterable[Node]:
        """Yields the nodes of this graph and of all loops in it; arguments of loops come more than once."""
        for node in self.nodes:
            yield node
            if node.type == "_While":
                for graph in node.attrs["region"].graphs():
                    yield from graph.everything()

    def consumers(self) -> dict[Node, list[Node]]:
        """Returns the nodes that take each node's outputs or wait for it."""
        result: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for producer in node.predecessors():
                result[producer].append(node)
        return result

    def rewrite(self, replaced: dict[Output, Output], moved: dict[Node, Node] | None = None) -> None:
        """Points every use of a replaced output, and every control on a moved node, to its successor."""
        moved = moved or {}
        # Replacements are not in `nodes` yet, but their inputs may refer to what is replaced as well. A chain of
        # replacements is followed to its end, so that a pass may replace what it has added.
        successors = {node for node, _ in replaced.values()} | set(moved.values())
        for node in {*self.nodes, *successors}:
            if replaced:
                node.inputs = [_follow(replaced, output) for output in node.inputs]
                if node.guard:
                    node.guard = tuple((_follow(replaced, predicate), side) for predicate, side in node.guard)
            if moved and node.controls:
                node.controls = list(dict.fromkeys(_follow(moved, control) for control in node.controls))
        self.fetches = [_follow(replaced, output) for output in self.fetches]
        self.targets = list(dict.fromkeys(_follow(moved, target) for target in self.targets))
        self.prune_and_sort()

    def prune_and_sort(self) -> None:
        """Drops dead nodes, which no fetch or target needs, and sorts topologically, ties in program order."""
        # Feeds that nothing needs are dropped from `nodes` but stay in `feeds`: the caller passes a value for each of
        # them.
        needed = ancestors(self.roots())
        self.nodes = topological(needed)
        for region in self.regions():
            for graph in region.graphs():
                graph.prune_and_sort()


def blocking_ancestors(step: StepGraph) -> dict[Node, int]:
    """Returns the nodes that may block among the ancestors of each node, as bits: 1 << i is the i-th blocking node.

    A chain of blocking nodes has as many sets, each with all nodes before: as sets of objects they would take gigabytes
    for ten thousand nodes. Equal sets are one object.
    """
    # A node has the ancestors of its predecessors, plus those of them that wait themselves. The nodes are in
    # topological order, so that one pass is enough.
    number = {node: index for index, node in enumerate(filter(waits, step.nodes))}
    sets: dict[Node, int] = {}
    shared: dict[int, int] = {}
    for node in step.nodes:
        awaited = 0
        for producer in node.predecessors():
            awaited |= sets[producer]
            if producer in number:
                awaited |= 1 << number[producer]
        sets[node] = shared.setdefault(awaited, awaited)
    return sets


def waits(node: Node) -> bool:
    """Returns whether a node may block, itself or in a loop that it repeats."""
    if node.type == "_While":
        return any(graph.waits() for graph in node.attrs["region"].graphs())
    return node.definition.waits


def _follow(replaced: dict[Any, Any], item: Any) -> Any:
    while item in replaced:
        item = replaced[item]
    return item


def ancestors(roots: Iterable[Node]) -> set[Node]:
    """Returns the nodes that the roots depend on, themselves included."""
    return reachable(roots, Node.predecessors)


def descendants(nodes: Iterable[Node], consumers: Mapping[Node, Sequence[Node]]) -> set[Node]:
    """Returns the nodes that depend on some others."""
    return reachable(
        (consumer for node in nodes for consumer in consumers.get(node, ())), lambda n: consumers.get(n, ())
    )


def _is_ordered(nodes: list[Node]) -> bool:
    before: set[Node] = set()
    for node in nodes:
        for output in node.inputs:
            if output.node not in before:
                return False
        if (node.controls or node.guard) and not before.issuperset(node.predecessors()):
            return False
        before.add(node)
    return True


def topological(nodes: Iterable[Node]) -> list[Node]:
    """Returns the nodes so that each follows all it depends on, ties broken by the order they were written in."""
    nodes = sorted(nodes, key=attrgetter("order"))
    if _is_ordered(nodes):
        return nodes  # a user's graph is in order as it was written
    # Kahn's algorithm with a heap of positions instead of a queue: among all nodes that are ready, the first in program
    # order comes next.
    position = {node: i for i, node in enumerate(nodes)}
    waiting = {node: len(set(node.predecessors())) for node in nodes}
    followers: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in nodes:
        for producer in set(node.predecessors()):
            followers[producer].append(node)
    ready = [position[node] for node in nodes if waiting[node] == 0]
    heapq.heapify(ready)
    result: list[Node] = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        result.append(node)
        for follower in followers[node]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, position[follower])
    if len(result) < len(nodes):
        stuck = [node.name for node in nodes if waiting[node] > 0]
        raise ValueError(f"the graph has a cycle through {', '.join(stuck[:5])}")
    return result
