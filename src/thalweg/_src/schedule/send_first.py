"""Early: what costs nothing to have and others wait for is sent before the work begins.

A device runs its nodes in the order in which they were written. The second of two towers that share variables is
written last, and so are its reads: without this, their sends would come when the first tower is over.
"""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._src import dtypes
from thalweg._src.graph.ir.step_graph import Node

_EARLY = -5e8  # after the feeds, before all that anybody wrote


def send_early(sends: Iterable[Node], nodes: Iterable[Node]) -> None:
    """Puts sends of feeds, and of variables that nobody has written by then, at the beginning of a device's part."""
    written: dict[Node, float] = {}
    for node in nodes:
        if node.type != "ReadVariableOp":
            for producer, index in node.inputs:
                if producer.dtypes[index] is dtypes.resource:
                    written[producer] = min(node.order, written.get(producer, node.order))
    for send in sends:
        chain = [] if send.controls or send.guard else _chain(send.inputs[0][0], written)
        for node in [*chain, send] if chain else ():
            node.order = min(node.order, _EARLY + max(node.order, 0))  # in the order in which they were written


def _chain(node: Node, written: dict[Node, float]) -> list[Node]:
    """Returns what there is from the start of the step to a node, if nothing of it takes time."""
    if node.controls or node.guard:
        return []
    if node.facts.instant:
        return [node]
    if node.facts.forwards in ("", "chosen") or written.get(node.inputs[0][0], node.order) < node.order:
        return []
    chains = [_chain(producer, written) for producer, _ in node.inputs]
    return [*(member for chain in chains for member in chain), node] if all(chains) else []
