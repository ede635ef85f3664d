"""Human-readable dumps of graphs, one line per node."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ir.step_graph import StepGraph
from thalweg._src.shapes import show


def show_graph(graph: Graph, names: Iterable[str] | None = None) -> str:
    """Returns the operations of a graph, or the named ones, with their inputs and outputs."""
    chosen = graph.get_operations() if names is None else [graph.get_operation_by_name(name) for name in names]
    return "\n".join(
        _line(
            op.name,
            op.type,
            [t.name for t in op.inputs] + [f"^{c.name}" for c in op.control_inputs],
            [f"{t.dtype.name}{show(t.dims)}" for t in op.outputs],
        )
        for op in chosen
    )


def show_step(step: StepGraph) -> str:
    """Returns the nodes of a step graph in execution order."""
    return "\n".join(
        _line(
            node.name,
            node.type,
            [f"{p.name}:{i}" if i else p.name for p, i in node.inputs] + [f"^{c.name}" for c in node.controls],
            [f"{dtype.name}{show(shape)}" for dtype, shape in zip(node.dtypes, node.shapes)],
        )
        for node in step.nodes
    )


def _line(name: str, kind: str, inputs: list[str], outputs: list[str]) -> str:
    return f"  {name} = {kind}({', '.join(inputs)}) -> {', '.join(outputs) or 'nothing'}"
