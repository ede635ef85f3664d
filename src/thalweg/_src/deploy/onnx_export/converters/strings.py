"""Converters of strings, of which ONNX has few."""

from __future__ import annotations

from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


@converter("StringLower", "StringUpper")
def change_case(w: GraphWriter, node: Node, x: str) -> str:
    """Changes the case of all strings in a row, which is the shape that ONNX takes."""
    action = "LOWER" if node.type == "StringLower" else "UPPER"
    locale = {} if node.attrs["encoding"] else {"locale": "C"}  # without an encoding, letters are those of ASCII
    row = w.add("StringNormalizer", w.reshape(x, [-1]), case_change_action=action, **locale)
    return w.reshape(row, w.dims(x))
