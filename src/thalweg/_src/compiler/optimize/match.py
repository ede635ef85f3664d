"""Pattern matching: finds the nodes of a graph that a rewrite applies to, and tells who else uses their values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

ANY = None  # an input that may be any value


class Pattern:
    """A node of certain types, such as "MatMul|Conv2D", whose first inputs are outputs of nodes that match patterns."""

    __slots__ = ("inputs", "types")

    def __init__(self, types: str, *inputs: Pattern | None) -> None:
        self.types = frozenset(types.split("|"))
        self.inputs = inputs


def match(node: Node, pattern: Pattern) -> tuple[Node, ...] | None:
    """Returns the nodes that a pattern names, from a node on, in the order in which they stand in the pattern."""
    if node.type not in pattern.types or len(node.inputs) < len(pattern.inputs):
        return None
    nodes: tuple[Node, ...] = (node,)
    for output, inner in zip(node.inputs, pattern.inputs):
        if inner is not ANY:
            below = match(output.node, inner)
            if below is None:
                return None
            nodes += below
    return nodes


def matches(step: StepGraph, pattern: Pattern) -> Iterator[tuple[Node, ...]]:
    """Yields the nodes of each match of a pattern in a graph, in the order of the graph."""
    for node in step.nodes:
        nodes = match(node, pattern)
        if nodes is not None:
            yield nodes


class Uses:
    """The uses of the nodes of a graph, as they are when the first of them is asked for."""

    def __init__(self, step: StepGraph) -> None:
        self._step = step

    @cached_property
    def consumers(self) -> dict[Node, list[Node]]:
        return self._step.consumers()

    @cached_property
    def _fetches(self) -> set[Output]:
        return set(self._step.fetches)

    def only(self, node: Node, consumer: Node) -> bool:
        """Returns whether a node of one output has one consumer: it is not fetched, and nothing else waits for it."""
        return self.consumers[node] == [consumer] and Output(node, 0) not in self._fetches

    def has(self, output: Output) -> bool:
        """Returns whether an output is consumed or fetched."""
        return output in self._fetches or any(output in consumer.inputs for consumer in self.consumers[output.node])
