"""Replacements in one graph, collected during a pass and applied together."""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph


@dataclass(slots=True, eq=False)
class Rewrite:
    """What stands for the replaced outputs and nodes of a graph; a replacement may be replaced in turn.

    outputs: what consumers take instead of each replaced output
    nodes: what control edges and targets refer to instead of each replaced node
    """

    graph: StepGraph
    outputs: dict[Output, Output] = field(default_factory=dict)
    nodes: dict[Node, Node] = field(default_factory=dict)

    def replace(self, old: Node, new: Node) -> None:
        """Replaces a node and its outputs by another node and the outputs with the same indices."""
        self.nodes[old] = new
        for index in range(min(len(old.dtypes), len(new.dtypes))):
            self.outputs[Output(old, index)] = Output(new, index)

    def apply(self) -> None:
        if self.outputs or self.nodes:
            self.graph.rewrite(self.outputs, self.nodes)
