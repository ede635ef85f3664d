"""Segmentation: non-blocking nodes with the same set of blocking ancestors run together, as one function."""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph, waits


@dataclass(slots=True)
class Segment:
    """Nodes with the same blocking ancestors (`waits`), which run as one function."""

    index: int
    nodes: list[Node]
    waits: frozenset[Node]
    inputs: list[Output] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    after: set[int] = field(default_factory=set)  # segments that must have run


def split_into_segments(step: StepGraph) -> list[Segment]:
    """Returns the segments of a partition in topological order.

    A node's set of blocking ancestors is the union of its predecessors' sets, plus the blocking predecessors. Segments
    depend on each other only by inclusion of their sets, so they form no cycle.
    """
    waiting = set(filter(waits, step.nodes))
    sets: dict[Node, frozenset[Node]] = {}
    empty: frozenset[Node] = frozenset()
    shared: dict[frozenset[Node], frozenset[Node]] = {empty: empty}
    segments: dict[frozenset[Node], Segment] = {}
    for node in step.nodes:
        awaited = empty
        for producer in node.predecessors():
            before = sets[producer]
            if producer in waiting:
                before = before | {producer}
            if before is not awaited and not before <= awaited:
                awaited = awaited | before
        awaited = shared.setdefault(awaited, awaited)
        sets[node] = awaited
        if node not in waiting:
            if awaited not in segments:
                segments[awaited] = Segment(len(segments), [], awaited)
            segments[awaited].nodes.append(node)
    result = sorted(segments.values(), key=lambda segment: len(segment.waits))
    for index, segment in enumerate(result):
        segment.index = index
    _connect(step, result)
    return result


def _connect(step: StepGraph, segments: list[Segment]) -> None:
    """Finds the values that pass from one segment to another, to a blocking node, or to the caller."""
    segment_of = {node: segment for segment in segments for node in segment.nodes}
    wanted: dict[Output, None] = dict.fromkeys(step.fetches)
    entering: list[dict[Output, None]] = [{} for _ in segments]
    for node in step.nodes:
        segment = segment_of.get(node)
        for output in [*node.inputs, *(predicate for predicate, _ in node.guard)]:
            source = segment_of.get(output[0])
            if source is segment and segment is not None:
                continue
            wanted[output] = None
            if segment is not None:
                entering[segment.index][output] = None
                if source is not None:
                    segment.after.add(source.index)
        if segment is not None:
            for control in node.controls:
                source = segment_of.get(control)
                if source is not None and source is not segment:
                    segment.after.add(source.index)
    for segment, inputs in zip(segments, entering):
        segment.inputs = list(inputs)
    for output in wanted:
        segment = segment_of.get(output[0])
        if segment is not None:
            segment.outputs.append(output)
