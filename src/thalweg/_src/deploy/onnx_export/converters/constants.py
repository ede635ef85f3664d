"""Converters of values that are filled with one number."""

from __future__ import annotations

from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


@converter("Fill")
def fill(w: GraphWriter, node: Node, dims: str, value: str) -> str:
    return w.add("Expand", value, w.index(dims))
