"""Converters of batch and local response normalization."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.converters.convolution import around, is_channels_last
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.graph.ir.step_graph import Node


@converter("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(
    w: GraphWriter, node: Node, x: str, scale: str, offset: str, mean: str, variance: str
) -> list[Any]:
    """Normalizes with given statistics, or with those of the batch."""
    rank = len(node.input_shape(0) or (None,) * 4)
    epsilon = float(node.attrs["epsilon"])
    dtype = node.dtypes[0]
    x = w.cast(x, dtypes.float32, dtype)
    batch: list[Any] = [mean, variance]
    if node.attrs["is_training"]:
        mean, variance, batch = _statistics(w, node, x, rank)
    parameters = (scale, offset, mean, variance)
    y = around(w, node, x, rank, lambda t: w.add("BatchNormalization", t, *parameters, epsilon=epsilon))
    return [w.cast(y, dtype, dtypes.float32), *batch]


def _statistics(w: GraphWriter, node: Node, x: str, rank: int) -> tuple[str, str, list[Any]]:
    """Returns mean and variance of a batch, and what the op returns: the unbiased variance."""
    axes = list(range(rank - 1)) if is_channels_last(node) else [0, *range(2, rank)]
    mean = w.add("ReduceMean", x, axes, keepdims=1)
    difference = w.add("Sub", x, mean)
    variance = w.add("ReduceMean", w.add("Mul", difference, difference), axes, keepdims=0)
    count = w.add("ReduceProd", w.add("Gather", w.dims(x), axes), keepdims=0)
    others = w.add("Max", w.add("Sub", count, w.like(1, dtypes.int64)), w.like(1, dtypes.int64))
    factor = w.add("Div", w.cast(count, dtypes.float32), w.cast(others, dtypes.float32))
    flat = w.add("Squeeze", mean, axes)
    return flat, variance, [flat, w.add("Mul", variance, factor)]


@converter("LRN")
def local_response(w: GraphWriter, node: Node, x: str) -> str:
    size = 2 * int(node.attrs["depth_radius"]) + 1
    attrs = {"alpha": float(node.attrs["alpha"]) * size, "beta": float(node.attrs["beta"])}
    attrs |= {"bias": float(node.attrs["bias"])}
    return w.channels_last(w.add("LRN", w.channels_first(x, 4), size=size, **attrs), 4)
