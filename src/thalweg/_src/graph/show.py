"""Graphs as text, one line per node."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg._src.base.shapes import show
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ir.step_graph import StepGraph


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


def show_step(step: StepGraph, indent: str = "") -> str:
    """Returns the nodes of a step graph in execution order, one per line; loops with their condition and body."""
    lines = []
    for node in step.nodes:
        inputs = [f"{p.name}:{i}" if i else p.name for p, i in node.inputs] + [f"^{c.name}" for c in node.controls]
        outputs = [f"{dtype.name}{show(shape)}" for dtype, shape in zip(node.dtypes, node.shapes)]
        guards = [f"{'' if side else 'not '}{predicate.name}" for (predicate, _), side in node.guard]
        lines.append(
            indent + _line(node.name, node.type, inputs, outputs) + (f" if {' and '.join(guards)}" if guards else "")
        )
        if node.type == "_While":
            region = node.attrs["region"]
            for name, inner in (("condition", region.condition), ("body", region.body)):
                fetches = ", ".join(f"{p.name}:{i}" if i else p.name for p, i in inner.fetches)
                lines += [f"{indent}    {name}:", show_step(inner, indent + "    "), f"{indent}      return {fetches}"]
    return "\n".join(lines)


def _line(name: str, kind: str, inputs: list[str], outputs: list[str]) -> str:
    return f"  {name} = {kind}({', '.join(inputs)}) -> {', '.join(outputs) or 'nothing'}"
