"""Segmentation: non-blocking nodes with the same set of blocking ancestors run together, as one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, blocking_ancestors, waits


@dataclass(slots=True)
class Segment:
    """Nodes with the same blocking ancestors (`waits`), which run as one function."""

    index: int
    nodes: list[Node]
    inputs: list[Output] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    after: set[int] = field(default_factory=set)  # segments that must have run
    after_nodes: set[Node] = field(default_factory=set)  # blocking nodes that must have finished: direct predecessors
    ancestors: int = 0  # bits of blocking nodes
    blocking: Sequence[Node] = ()  # all blocking nodes of the partition, in the order of the bits

    @property
    def waits(self) -> frozenset[Node]:
        """All blocking ancestors of the nodes."""
        return frozenset(node for index, node in enumerate(self.blocking) if self.ancestors >> index & 1)


def split_into_segments(step: StepGraph) -> list[Segment]:
    """Returns the segments of a partition in topological order.

    A node's set of blocking ancestors is the union of its predecessors' sets, plus the blocking predecessors. Segments
    depend on each other only by inclusion of their sets, so they form no cycle.
    """
    # Why the segments form no cycle: a node's set of blocking ancestors includes the sets of its predecessors, so along
    # every path the sets only grow. A path from a segment back to itself would begin and end with the same set, hence
    # have it all along, and stay in the segment. The same argument shows that no segment waits for a blocking node that
    # it does not depend on, so that splitting adds no deadlock. Sorted by size, subsets come before their supersets:
    # the order is topological.
    segments: dict[int, Segment] = {}
    blocking = list(filter(waits, step.nodes))
    for node, awaited in blocking_ancestors(step).items():
        if not waits(node):
            if awaited not in segments:
                segments[awaited] = Segment(len(segments), [], ancestors=awaited, blocking=blocking)
            segments[awaited].nodes.append(node)
    result = sorted(segments.values(), key=lambda segment: segment.ancestors.bit_count())
    for index, segment in enumerate(result):
        segment.index = index
    _connect(step, result)
    return result


def _connect(step: StepGraph, segments: list[Segment]) -> None:
    """Finds the values that pass from one segment to another, to a blocking node, or to the caller."""
    # `leaving` is ordered like the uses, not a set, so that equal graphs generate equal code. Segments exchange only
    # what crosses a border: a value used where it is computed never becomes an output, and dies at its last use.
    segment_of = {node: segment for segment in segments for node in segment.nodes}
    leaving: dict[Output, None] = dict.fromkeys(step.fetches)
    entering: list[dict[Output, None]] = [{} for _ in segments]
    for node in step.nodes:
        segment = segment_of.get(node)
        for output in [*node.inputs, *(predicate for predicate, _ in node.guard)]:
            source = segment_of.get(output.node)
            if source is segment and segment is not None:
                continue
            leaving[output] = None
            if segment is not None:
                entering[segment.index][output] = None
        if segment is None:
            continue
        for producer in node.predecessors():
            source = segment_of.get(producer)
            if source is None:
                segment.after_nodes.add(producer)
            elif source is not segment:
                segment.after.add(source.index)
    for segment, inputs in zip(segments, entering):
        segment.inputs = list(inputs)
    for output in leaving:
        segment = segment_of.get(output.node)
        if segment is not None:
            segment.outputs.append(output)
