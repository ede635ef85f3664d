"""Removal of redundant control edges: a node waits only for nodes with an effect.

Gradients are built in groups whose members wait for each other, and a pure operation may be waited for like any other.
Whether a pure value exists matters only to its consumers; what it waited for itself may have an effect, and is kept.
"""

from __future__ import annotations

from thalweg._src.graph.ir.step_graph import Node, StepGraph
from thalweg._src.optimize.order_hints import is_hinted


def remove_control_edges(step: StepGraph) -> None:
    """Drops the control edges that order no effect, or only effects that are ordered by other edges already."""
    if not any(node.controls for node in step.nodes):
        return
    roots = set(step.targets)
    after: dict[Node, int] = {}  # one bit per node with an effect that has run when this node has
    effects = 0
    for node in step.nodes:
        waited = 0
        for producer, _ in node.inputs:
            waited |= after[producer]
        for (predicate, _), _ in node.guard:
            waited |= after[predicate]
        if node.controls:
            kept = node.controls if node in roots else []
            for control in node.controls:
                if (after[control] & ~waited or is_hinted(node, control)) and node not in roots:
                    kept.append(control)
                waited |= after[control]
            node.controls = kept
        if node.type != "_Arg" and (node.facts.stateful or node.facts.waits):
            waited |= 1 << effects
            effects += 1
        after[node] = waited
    step.prune_and_sort()
