"""Sends first: sends of feeds and unmodified variables are hoisted to the start of the partition.

A device runs its nodes in program order. Of two towers that share variables, the second one comes last, and so do its
reads: without this pass they would be sent only after the first tower has run.
"""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, StepGraph

_FIRST = -5e8  # position after the feeds and before all operations of the graph


def send_first(graph: StepGraph) -> None:
    """Moves sends of feeds, and of variables that are not written before, to the start of a partition."""
    # A node only moves together with all its ancestors, and only if these take no time: feeds, handles, and reads of
    # variables that nothing writes before the read in program order. Then each of them returns the same at the start.
    written: dict[Node, float] = {}
    for node in graph.nodes:
        if node.type != "ReadVariableOp":
            for producer, index in node.inputs:
                if producer.dtypes[index] is dtypes.resource:
                    written[producer] = min(node.order, written.get(producer, node.order))
    moved = False
    for send in [node for node in graph.nodes if node.type == "_Send"]:
        chain = [] if send.controls or send.guard else _chain(send.inputs[0].node, written)
        for node in [*chain, send] if chain else ():
            node.order = min(node.order, _FIRST + max(node.order, 0))  # in program order among themselves
            moved = True
    if moved:
        graph.prune_and_sort()
    for region in graph.regions():
        for inner in region.graphs():
            send_first(inner)


def _chain(node: Node, written: dict[Node, float]) -> list[Node]:
    """Returns a node and all its ancestors, if none of them takes time; otherwise nothing."""
    if node.controls or node.guard:
        return []
    if node.facts.instant:
        return [node]
    if node.facts.forwards in ("", "chosen") or written.get(node.inputs[0].node, node.order) < node.order:
        return []
    chains = [_chain(producer, written) for producer, _ in node.inputs]
    return [*(member for chain in chains for member in chain), node] if all(chains) else []
