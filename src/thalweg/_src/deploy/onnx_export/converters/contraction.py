"""Converters of products over named axes."""

from __future__ import annotations

from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


@converter("Einsum")
def einsum(w: GraphWriter, node: Node, *inputs: str) -> str:
    equation = node.attrs["equation"]
    return w.add("Einsum", *inputs, equation=equation.decode() if isinstance(equation, bytes) else equation)
