"""Converters of sums over segments: rows are added at the indices of their segments."""

from __future__ import annotations

from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


def _sum(w: GraphWriter, node: Node, x: str, segments: str, count: str) -> str:
    """Adds rows up; count: the number of segments, as a vector."""
    shape = node.input_shape(1)
    if shape is None:
        raise unsupported(node, "has segments of unknown rank", "give placeholders shapes of known rank")
    index = w.add("Unsqueeze", w.index(segments), [-1])
    zeros = w.add("Expand", w.like(0, node.dtypes[0]), w.join(count, w.dims(x, len(shape))))
    return w.add("ScatterND", zeros, index, x, reduction="add")


@converter("UnsortedSegmentSum")
def unsorted_segment_sum(w: GraphWriter, node: Node, x: str, segments: str, count: str) -> str:
    return _sum(w, node, x, segments, w.vector(count))


def _last(w: GraphWriter, segments: str) -> str:
    """Returns the number of segments whose indices are sorted."""
    return w.add("Add", w.add("Slice", w.index(segments), [-1], [1 << 62]), [1])


@converter("SegmentSum")
def segment_sum(w: GraphWriter, node: Node, x: str, segments: str) -> str:
    return _sum(w, node, x, segments, _last(w, segments))


@converter("SegmentMean")
def segment_mean(w: GraphWriter, node: Node, x: str, segments: str) -> str:
    ones = w.add("Expand", w.like(1, node.dtypes[0]), w.dims(x))
    count = _last(w, segments)
    numbers = w.add("Max", _sum(w, node, ones, segments, count), w.like(1, node.dtypes[0]))
    return w.add("Div", _sum(w, node, x, segments, count), numbers)
