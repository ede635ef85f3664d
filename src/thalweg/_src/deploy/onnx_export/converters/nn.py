"""Converters of activations, biases and scores."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.converters.math import computed_as, widened
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import unsupported
from thalweg._src.graph.ir.step_graph import Node


def _activation(onnx_type: str, op: str) -> None:
    @converter(op)
    def convert(w: GraphWriter, node: Node, x: str) -> str:
        return widened(w, node, lambda wide: w.add(onnx_type, wide), x)


_activation("Relu", "Relu")
_activation("Elu", "Elu")
_activation("Selu", "Selu")
_activation("Softplus", "Softplus")
_activation("Softsign", "Softsign")


@converter("Relu6")
def relu6(w: GraphWriter, node: Node, x: str) -> str:
    dtype = computed_as(node.dtypes[0])
    return widened(w, node, lambda wide: w.add("Clip", wide, w.like(0, dtype), w.like(6, dtype)), x)


@converter("LeakyRelu")
def leaky_relu(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("LeakyRelu", x, alpha=float(node.attrs["alpha"]))


@converter("Softmax")
def softmax(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("Softmax", x, axis=-1)


@converter("LogSoftmax")
def log_softmax(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("LogSoftmax", x, axis=-1)


@converter("BiasAdd", "BiasAddV1")
def bias_add(w: GraphWriter, node: Node, x: str, bias: str) -> str:
    if node.attrs.get("data_format", "NHWC") == "NCHW":
        shape = node.input_shape(0)
        if shape is None:
            raise unsupported(node, "has an input of unknown rank", "give its placeholder a shape of known rank")
        bias = w.reshape(bias, [-1, *[1] * (len(shape) - 2)])
    return widened(w, node, lambda *wide: w.add("Add", *wide), x, bias)


@converter("L2Loss")
def l2_loss(w: GraphWriter, node: Node, x: str) -> str:
    return w.add("Mul", w.add("ReduceSumSquare", x, keepdims=0), w.like(0.5, node.dtypes[0]))


# -- cross entropy ----------------------------------------------------------------------------------------------------


@converter("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(w: GraphWriter, node: Node, logits: str, labels: str) -> list[str]:
    product = w.add("Mul", labels, w.add("LogSoftmax", logits, axis=-1))
    loss = w.add("Neg", w.add("ReduceSum", product, [-1], keepdims=0))
    return [loss, w.add("Sub", w.add("Softmax", logits, axis=-1), labels)]


@converter("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(w: GraphWriter, node: Node, logits: str, labels: str) -> list[Any]:
    index = w.add("Unsqueeze", w.index(labels), [-1])
    chosen = w.add("GatherElements", w.add("LogSoftmax", logits, axis=-1), index, axis=-1)
    return [w.add("Neg", w.add("Squeeze", chosen, [-1])), None]


# -- the largest elements ---------------------------------------------------------------------------------------------


@converter("TopKV2", "TopK")
def top_k(w: GraphWriter, node: Node, x: str, k: str | None = None) -> list[str]:
    count = w.vector(k) if k is not None else w.constant([node.attrs["k"]])
    source = node.dtypes[0]
    wide = w.cast(x, computed_as(source), source)
    values, indices = w.many("TopK", 2, wide, count, axis=-1, largest=1, sorted=int(node.attrs["sorted"]))
    return [w.cast(values, source, computed_as(source)), w.cast(indices, node.dtypes[1], dtypes.int64)]


@converter("InTopK", "InTopKV2")
def in_top_k(w: GraphWriter, node: Node, predictions: str, targets: str, k: str | None = None) -> str:
    """Compares the number of larger predictions with k."""
    index = w.add("Unsqueeze", w.index(targets), [-1])
    larger = w.add("Greater", predictions, w.add("GatherElements", predictions, index, axis=1))
    count = w.add("ReduceSum", w.cast(larger, dtypes.int64), [1], keepdims=0)
    return w.add("Less", count, w.index(k) if k is not None else w.like(node.attrs["k"], dtypes.int64))
