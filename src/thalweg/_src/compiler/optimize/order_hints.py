"""Order hints as control edges: a hint from `after` holds in every step that runs both operations."""

from __future__ import annotations

from thalweg._src.graph.ir.step_graph import Node, StepGraph
from thalweg._src.graph.order_hints import ORDER_HINTS


def apply_order_hints(step: StepGraph) -> None:
    """Turns ordering hints into control edges, where both operations are in the step."""
    hinted = [node for node in step.nodes if ORDER_HINTS in node.attrs]
    if hinted and not step.is_unstructured:
        by_name = {node.name: node for node in step.nodes}
        for node in hinted:
            earlier = [by_name[name] for name in node.attrs[ORDER_HINTS] if name in by_name]
            node.controls = list(dict.fromkeys([*node.controls, *earlier]))
        step.prune_and_sort()
    for region in step.regions():
        for graph in region.graphs():
            apply_order_hints(graph)


def is_hinted(node: Node, control: Node) -> bool:
    """Returns whether a control edge comes from an order hint."""
    return control.name in node.attrs.get(ORDER_HINTS, ())
