"""Converters of reductions and cumulative sums."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.converters.math import computed_as, widened
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


def _reduce(w: GraphWriter, node: Node, onnx_type: str, x: str, axes: str) -> str:
    keep = int(node.attrs["keep_dims"])
    static = w.static_value(axes)
    listed = w.constant(static.ravel().tolist()) if static is not None else w.add("Reshape", w.index(axes), [-1])
    return w.add(onnx_type, x, listed, keepdims=keep, noop_with_empty_axes=1)


def _reduction(onnx_type: str, op: str) -> None:
    @converter(op)
    def convert(w: GraphWriter, node: Node, x: str, axes: str) -> str:
        return widened(w, node, lambda wide: _reduce(w, node, onnx_type, wide, axes), x)


@converter("Mean")
def mean(w: GraphWriter, node: Node, x: str, axes: str) -> str:
    """Averages; rounded images by a pool, for which runtimes have an integer kernel."""
    static_axes, shape, source = w.static_value(axes), node.input_shape(0), node.inputs[0].node
    of_images = shape is not None and len(shape) == 4 and source.type.startswith("FakeQuant")
    if of_images and static_axes is not None and sorted(axis % 4 for axis in static_axes.ravel().tolist()) == [1, 2]:
        pooled = w.channels_last(w.add("GlobalAveragePool", w.channels_first(x, 4)), 4)
        return pooled if node.attrs["keep_dims"] else w.add("Squeeze", pooled, [1, 2])
    return widened(w, node, lambda wide: _reduce(w, node, "ReduceMean", wide, axes), x)


_reduction("ReduceSum", "Sum")
_reduction("ReduceProd", "Prod")
_reduction("ReduceMax", "Max")
_reduction("ReduceMin", "Min")
_reduction("ReduceL2", "EuclideanNorm")


def _logical(onnx_type: str, op: str) -> None:
    @converter(op)
    def convert(w: GraphWriter, node: Node, x: str, axes: str) -> str:
        return w.cast(_reduce(w, node, onnx_type, w.cast(x, dtypes.int32), axes), dtypes.bool)


_logical("ReduceMin", "All")
_logical("ReduceMax", "Any")


def constant_axis(w: GraphWriter, node: Node, axis: str) -> int:
    """Returns an axis, which is an attribute in ONNX."""
    static_axis = w.static_value(axis)
    if static_axis is None:
        raise unsupported(node, "has an axis that is computed in the graph", "pass the axis as a Python number")
    return int(static_axis.reshape(()))


def _arg(onnx_type: str, op: str) -> None:
    @converter(op)
    def convert(w: GraphWriter, node: Node, x: str, axis: str) -> str:
        source = node.input_dtype(0)
        wide = w.cast(x, dtypes.float64 if source is dtypes.int64 else computed_as(source), source)
        index = w.add(onnx_type, wide, axis=constant_axis(w, node, axis), keepdims=0)
        return w.cast(index, node.dtypes[0], dtypes.int64)


_arg("ArgMax", "ArgMax")
_arg("ArgMin", "ArgMin")


@converter("Cumsum")
def cumsum(w: GraphWriter, node: Node, x: str, axis: str) -> str:
    flags = {key: int(node.attrs[key]) for key in ("exclusive", "reverse")}
    return widened(w, node, lambda wide: w.add("CumSum", wide, w.index(axis), **flags), x)
