"""Converters of pooling."""

from __future__ import annotations

from typing import Any

from thalweg._src.deploy.onnx_export.converters.convolution import around, padding, single, spatial
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


def _window(node: Node, rank: int) -> dict[str, Any]:
    """Returns ONNX's attributes of a window."""
    window, strides = spatial(node, "ksize", rank), spatial(node, "strides", rank)
    other = [size for size in node.attrs["ksize"] if size != 1]
    if sorted(other) != sorted(size for size in window if size != 1):
        raise unsupported(node, "pools over examples or channels", "reduce over a reshaped value, as tf.reduce_max")
    return {"kernel_shape": window, "strides": strides, **padding(node, node.input_shape(0), window, strides)}


@converter("MaxPool", "MaxPool3D")
def max_pool(w: GraphWriter, node: Node, x: str) -> str:
    rank = len(node.attrs["ksize"])
    attrs = _window(node, rank)
    return around(w, node, x, rank, lambda turned: w.add("MaxPool", turned, **attrs))


@converter("AvgPool", "AvgPool3D")
def avg_pool(w: GraphWriter, node: Node, x: str) -> str:
    """Averages over the pixels of the image alone, as TensorFlow does."""
    rank = len(node.attrs["ksize"])
    attrs = {**_window(node, rank), "count_include_pad": 0}
    dtype, inner = node.dtypes[0], single(node.dtypes[0])
    result = around(w, node, w.cast(x, inner, dtype), rank, lambda turned: w.add("AveragePool", turned, **attrs))
    return w.cast(result, dtype, inner)
