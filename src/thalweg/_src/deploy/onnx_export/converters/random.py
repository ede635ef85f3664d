"""Converters of random numbers, which are others in each run; seeds do not draw the same numbers elsewhere."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


def _drawn(onnx_type: str, op: str) -> None:
    @converter(op)
    def convert(w: GraphWriter, node: Node, shape: str) -> str:
        zeros = w.add("Expand", w.like(0, dtypes.float32), w.index(shape))
        return w.cast(w.add(onnx_type, zeros), node.dtypes[0], dtypes.float32)


_drawn("RandomUniformLike", "RandomUniform")
_drawn("RandomNormalLike", "RandomStandardNormal")
