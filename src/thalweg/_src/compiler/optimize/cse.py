"""Common-subexpression elimination: merges nodes that compute the same value; stateful nodes are never merged."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.graph.ir.rewrite import Rewrite
from thalweg._src.graph.ir.step_graph import Node, StepGraph

_LIMIT = 1 << 12  # bytes of a constant that are compared


def eliminate_common_subexpressions(step: StepGraph) -> None:
    """Replaces each pure node by an earlier one with the same type, inputs, controls, attributes and device."""
    first: dict[Any, Node] = {}
    rewrite = Rewrite(step)
    outputs, nodes = rewrite.outputs, rewrite.nodes
    for node in step.nodes:
        node.inputs = [outputs.get(output, output) for output in node.inputs]
        if outputs and node.guard:
            node.guard = tuple((outputs.get(predicate, predicate), side) for predicate, side in node.guard)
        if nodes and node.controls:
            node.controls = list(dict.fromkeys(nodes.get(control, control) for control in node.controls))
        # Inputs, guards and control inputs are replaced before the key is made, in topological order: equal subgraphs
        # of any depth merge in one pass. Nodes with effects differ even if they look alike, and nodes that wait or run
        # under other conditions have different keys by their control inputs and guards.
        if node.definition.stateful or node.definition.waits or not node.dtypes or node.type == "Placeholder":
            continue
        key = _key(node)
        if key is None:
            continue
        if first.setdefault(key, node) is not node:
            rewrite.replace(node, first[key])
    rewrite.apply()


def _key(node: Node) -> Any:
    inputs = tuple(node.inputs)
    if node.definition.commutative:
        inputs = tuple(sorted(inputs, key=lambda output: (id(output.node), output.index)))
    attrs: list[Any] = []
    for name, value in node.attrs.items():
        if isinstance(value, np.ndarray):
            if value.nbytes > _LIMIT or value.dtype == object:
                return None
            # Comparing bytes distinguishes 0.0 from -0.0, and equal NaNs match, unlike with ==.
            value = (value.dtype.str, value.shape, value.tobytes())
        attrs.append((name, value))
    return (node.type, node.device, inputs, frozenset(node.controls), node.guard, tuple(attrs))
