"""Converters of concatenation, stacking and splitting."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.converters.reduction import constant_axis
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


@converter("ConcatV2")
def concat(w: GraphWriter, node: Node, *inputs: str) -> str:
    *values, axis = inputs
    return values[0] if len(values) == 1 else w.add("Concat", *values, axis=constant_axis(w, node, axis))


@converter("Pack")
def stack(w: GraphWriter, node: Node, *values: str) -> str:
    axis = int(node.attrs["axis"])
    grown = [w.add("Unsqueeze", value, [axis]) for value in values]
    return grown[0] if len(grown) == 1 else w.add("Concat", *grown, axis=axis)


@converter("Unpack")
def unstack(w: GraphWriter, node: Node, value: str) -> list[str]:
    axis, count = int(node.attrs["axis"]), len(node.dtypes)
    slices = [value] if count == 1 else w.many("Split", count, value, axis=axis, num_outputs=count)
    return [w.add("Squeeze", slice_, [axis]) for slice_ in slices[:count]]


@converter("Split")
def split(w: GraphWriter, node: Node, axis: str, value: str) -> list[str]:
    count = len(node.dtypes)
    if count == 1:
        return [value]
    return w.many("Split", count, value, axis=constant_axis(w, node, axis), num_outputs=count)


@converter("SplitV")
def split_to_sizes(w: GraphWriter, node: Node, value: str, sizes: str, axis: str) -> list[str]:
    """Splits; a size of -1 is what the others leave."""
    where, count = constant_axis(w, node, axis), len(node.dtypes)
    static = [None if shape is None else shape[where] for shape in node.shapes]
    if None not in static:
        return w.many("Split", count, value, [int(size or 0) for size in static], axis=where)
    size_vector = w.index(sizes)
    rest = w.add("Add", size_vector, w.like(1, dtypes.int64))  # 0 for the size that is left out
    total = w.add("ReduceSum", w.add("Gather", w.dims(value), [where]), keepdims=0)
    left = w.add("Sub", w.add("Sub", total, w.add("ReduceSum", size_vector, keepdims=0)), w.like(1, dtypes.int64))
    chosen = w.add("Where", w.add("Equal", rest, w.like(0, dtypes.int64)), left, size_vector)
    return w.many("Split", count, value, chosen, axis=where)


@converter("ConcatOffset")
def concat_offset(w: GraphWriter, node: Node, axis: str, *shapes: str) -> list[str]:
    """Returns where each value begins in a concatenation: the sum of the sizes before, in the axis alone."""
    where, vectors = constant_axis(w, node, axis), [w.index(shape) for shape in shapes]
    table = w.add("Concat", *(w.add("Unsqueeze", vector, [0]) for vector in vectors), axis=0)
    sums = w.add("CumSum", table, w.like(0, dtypes.int64), exclusive=1)
    places = w.add("Range", w.like(0, dtypes.int64), w.add("Size", vectors[0]), w.like(1, dtypes.int64))
    is_axis = w.cast(w.add("Equal", places, w.like(where, dtypes.int64)), dtypes.int64)
    rows = w.add("Mul", sums, is_axis)
    return [
        w.cast(w.add("Gather", rows, w.like(i, dtypes.int64), axis=0), node.dtypes[0], dtypes.int64)
        for i in range(len(shapes))
    ]
