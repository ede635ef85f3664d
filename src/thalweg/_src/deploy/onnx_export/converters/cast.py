"""Converters of conversions between element types."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


@converter("Cast")
def cast(w: GraphWriter, node: Node, x: str) -> str:
    return w.cast(x, node.dtypes[0])


@converter("AsString")
def as_string(w: GraphWriter, node: Node, x: str) -> str:
    """Prints integers; ONNX prints real numbers in another way."""
    if not node.input_dtype(0).is_integer or any(node.attrs.get(key) for key in ("scientific", "shortest", "fill")):
        raise unsupported(node, f"prints {node.input_dtype(0).name}", "print integers, or return the numbers")
    return w.cast(x, dtypes.string)


@converter("StringToNumber")
def string_to_number(w: GraphWriter, node: Node, x: str) -> str:
    return w.cast(x, node.dtypes[0])
