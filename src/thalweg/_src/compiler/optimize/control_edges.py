"""Removal of redundant control edges: a node waits only for nodes with an effect.

Control edges from pure nodes are redundant: their values matter only to their consumers. What a pure node itself waits
for may have an effect, so those edges are kept transitively.
"""

from __future__ import annotations

from thalweg._src.compiler.optimize.order_hints import is_hinted
from thalweg._src.graph.ir.step_graph import Node, StepGraph


def remove_control_edges(step: StepGraph) -> None:
    """Removes control edges that order no effect, or only effects that other edges order already."""
    if not any(node.controls for node in step.nodes):
        return
    # One pass in topological order. `after` holds, as bits, the effects that have happened when a node runs. A control
    # edge is redundant if its effects are among those that inputs, guards and earlier control edges imply: then every
    # execution order that the remaining edges allow has the same effects before the node. Targets keep their edges,
    # since they stand for what the client waits for.
    roots = set(step.targets)
    after: dict[Node, int] = {}  # one bit per node with an effect that runs before or at this node
    effects = 0
    for node in step.nodes:
        waited = 0
        for producer, _ in node.inputs:
            waited |= after[producer]
        for (predicate, _), _ in node.guard:
            waited |= after[predicate]
        if node.controls:
            needed = node.controls if node in roots else []
            for control in node.controls:
                if (after[control] & ~waited or is_hinted(node, control)) and node not in roots:
                    needed.append(control)
                waited |= after[control]
            node.controls = needed
        if node.type != "_Arg" and (node.facts.stateful or node.facts.waits):
            waited |= 1 << effects
            effects += 1
        after[node] = waited
    step.prune_and_sort()
