"""Relax: a node waits only for what has an effect.

Gradients are built in groups whose members wait for each other, and a pure operation may be waited for like any other.
Whether its value is there makes no difference to anybody but those who use it; what it waited for itself may.
"""

from __future__ import annotations

from thalweg._src.graph.ir.step_graph import Node, StepGraph
from thalweg._src.graph.order_hints import is_wished


def relax(step: StepGraph) -> None:
    """Drops the controls that no effect needs: those behind which there is none that is not waited for anyway."""
    if not any(node.controls for node in step.nodes):
        return
    roots = set(step.targets)
    after: dict[Node, int] = {}  # a bit for each node with an effect that has run when this one has
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
                if (after[control] & ~waited or is_wished(node, control)) and node not in roots:
                    kept.append(control)
                waited |= after[control]
            node.controls = kept
        if node.type != "_Arg" and (node.definition.stateful or node.definition.waits):
            waited |= 1 << effects
            effects += 1
        after[node] = waited
    step.settle()
