"""Converters of ranges of numbers."""

from __future__ import annotations

from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


@converter("Range")
def range_of(w: GraphWriter, node: Node, start: str, limit: str, delta: str) -> str:
    return w.add("Range", start, limit, delta)


@converter("LinSpace")
def lin_space(w: GraphWriter, node: Node, start: str, stop: str, num: str) -> str:
    dtype = node.dtypes[0]
    count = w.cast(num, dtype)
    places = w.add("Range", w.like(0, dtype), count, w.like(1, dtype))
    gaps = w.add("Max", w.add("Sub", count, w.like(1, dtype)), w.like(1, dtype))
    return w.add("Add", start, w.add("Mul", places, w.add("Div", w.add("Sub", stop, start), gaps)))
