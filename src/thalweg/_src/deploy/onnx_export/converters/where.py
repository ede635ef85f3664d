"""Converters of selection and indices of elements."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.converters.math import computed_as
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


@converter("Where")
def where(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("Transpose", w.add("NonZero", w.cast(x, dtypes.bool, node.input_dtype(0))), perm=[1, 0])


@converter("Select", "SelectV2")
def select(w: GraphWriter, node: Node, condition: str, x: str, y: str) -> str:
    """Selects; a vector of conditions of the first version selects rows."""
    if node.type == "Select":
        shapes = node.input_shape(0), node.input_shape(1) or node.input_shape(2)
        if shapes[0] is None or (len(shapes[0]) == 1 and shapes[1] is None):
            raise unsupported(node, "has values of unknown rank", "use tf.where_v2, whose conditions are broadcast")
        if len(shapes[0]) == 1 and len(shapes[1] or ()) > 1:
            condition = w.add("Unsqueeze", condition, list(range(1, len(shapes[1] or ()))))
    return choose(w, node, condition, x, y)


def choose(w: GraphWriter, node: Node, condition: str, x: str, y: str) -> str:
    dtype = node.dtypes[0]
    wide = dtypes.int32 if dtype is dtypes.bool else computed_as(dtype)
    chosen = w.add("Where", condition, w.cast(x, wide, dtype), w.cast(y, wide, dtype))
    return w.cast(chosen, dtype, wide)


@converter("OneHot")
def one_hot(w: GraphWriter, node: Node, indices: str, depth: str, on: str, off: str) -> str:
    """Compares each index with all positions, so that negative ones match none, as in TensorFlow."""
    shape, axis = node.input_shape(0), int(node.attrs["axis"])
    if shape is None:
        raise unsupported(node, "has indices of unknown rank", "give placeholders shapes of known rank")
    axis = len(shape) if axis == -1 else axis
    static, zero, one = w.static_value(depth), w.like(0, dtypes.int64), w.like(1, dtypes.int64)
    places = w.constant(list(range(int(static)))) if static is not None else w.add("Range", zero, w.index(depth), one)
    places = w.reshape(places, [-1, *[1] * (len(shape) - axis)])
    match = w.add("Equal", w.add("Unsqueeze", w.index(indices), [axis]), places)
    return choose(w, node, match, on, off)


@converter("Unique", "UniqueWithCounts")
def unique(w: GraphWriter, node: Node, x: str) -> list[Any]:
    source = node.dtypes[0]
    wide = source if source is dtypes.string or source.is_floating else dtypes.int64
    values, _, index, counts = w.many("Unique", 4, w.cast(x, wide, source), sorted=0)
    results = [w.cast(values, source, wide), w.cast(index, node.dtypes[1], dtypes.int64)]
    return results + ([w.cast(counts, node.dtypes[2], dtypes.int64)] if len(node.dtypes) == 3 else [])
