"""Converters of shapes and reshaping."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.shapes import Shape
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import Value, unsupported
from thalweg._src.graph.ir.step_graph import Node

_LARGE = 1 << 10  # elements of a constant that is better computed than stored


@converter("Shape")
def shape_of(w: GraphWriter, node: Node, x: str) -> str:
    return w.cast(w.dims(x), node.dtypes[0], dtypes.int64)


@converter("ShapeN")
def shapes_of(w: GraphWriter, node: Node, *inputs: str) -> list[str]:
    return [w.cast(w.dims(x), node.dtypes[0], dtypes.int64) for x in inputs]


@converter("Size")
def size(w: GraphWriter, node: Node, x: str) -> str:
    return w.cast(w.add("Size", x), node.dtypes[0], dtypes.int64)


@converter("Rank")
def rank(w: GraphWriter, node: Node, x: str) -> str:
    return w.cast(w.add("Size", w.dims(x)), node.dtypes[0], dtypes.int64)


def filled(w: GraphWriter, node: Node, value: float, shape: Shape, dims: Callable[[], str]) -> str:
    """Returns a value of a shape in which all elements are the same; dims: computes the shape as int64."""
    scalar = w.like(value, node.dtypes[0])
    sizes = [size for size in shape or () if size is not None]
    if shape is None or len(sizes) < len(shape):
        return w.add("Expand", scalar, dims())
    if prod(sizes) <= _LARGE:
        return w.constant(np.full(sizes, value, node.dtypes[0].as_numpy_dtype))
    return w.add("Expand", scalar, sizes)


@converter("ZerosLike", "OnesLike")
def like(w: GraphWriter, node: Node, x: Value) -> Value:
    if not isinstance(x, str):
        return x  # of an array or a list, whose gradient alone would differ
    return filled(w, node, int(node.type == "OnesLike"), node.shapes[0], lambda: w.dims(x))


@converter("Reshape")
def reshape(w: GraphWriter, node: Node, x: str, shape: str) -> str:
    """Reshapes to the static sizes if at most one of them is unknown."""
    static = node.shapes[0]
    if static is not None and static.count(None) <= 1 and not (0 in static and None in static):
        return w.reshape(x, [-1 if size is None else size for size in static])
    return w.reshape(x, w.index(shape))


@converter("ExpandDims")
def expand_dims(w: GraphWriter, node: Node, x: str, axis: str) -> str:
    return w.add("Unsqueeze", x, w.vector(axis))


@converter("Squeeze")
def squeeze(w: GraphWriter, node: Node, x: str) -> str:
    axes = list(node.attrs["squeeze_dims"])
    static = node.input_shape(0)
    if not axes and static is not None and None not in static:
        axes = [axis for axis, size in enumerate(static) if size == 1]
        return w.add("Squeeze", x, axes) if axes else x
    return w.add("Squeeze", x, axes or None)


@converter("Transpose")
def transpose(w: GraphWriter, node: Node, x: str, permutation: str) -> str:
    static_permutation = w.static_value(permutation)
    if static_permutation is None:
        raise unsupported(
            node, "has a permutation that is computed in the graph", "give its placeholder a shape of known rank"
        )
    return w.transpose(x, static_permutation.tolist())


@converter("InvertPermutation")
def invert_permutation(w: GraphWriter, node: Node, x: str) -> str:
    """Sorts the positions by the axes."""
    axes = w.index(x)
    _, order = w.many("TopK", 2, axes, w.dims(axes), largest=0, sorted=1)
    return w.cast(order, node.dtypes[0], dtypes.int64)


@converter("Bitcast")
def bitcast(w: GraphWriter, node: Node, x: str) -> str:
    if node.dtypes[0] is not node.input_dtype(0):
        raise unsupported(node, "reinterprets bits", "convert values with tf.cast")
    return x
