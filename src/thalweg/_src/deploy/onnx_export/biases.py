"""Biases of quantized layers: 32-bit integers that a product takes, as runtimes expect them for an integer kernel."""

from __future__ import annotations

from collections import Counter

import numpy as np

from thalweg._src.deploy.onnx_export.graph_writer import Array, GraphWriter, OnnxNode

_CHANNELS = {"Conv": 0, "Gemm": 1}  # products, with the axis of weights that is the second one of the result
_FORWARDING = ("MaxPool", "Reshape", "Transpose")  # their outputs have the scale of their inputs


def quantize_biases(w: GraphWriter) -> None:
    """Makes constants that are added to products of quantized values inputs of the products."""
    producers: dict[str, OnnxNode] = {}
    uses = Counter([*w.outputs, *(name for node in w.everything() for name in node.inputs)])
    uses.update(name for node in w.everything() for graph in node.subgraphs() for name in graph.outputs)
    nodes, w.nodes = w.nodes, []
    for node in nodes:
        for graph in node.subgraphs():
            quantize_biases(graph)
        product, constant = _biased(w, node, producers)
        if product is not None and constant is not None and uses[product.outputs[0]] == 1:
            bias = _quantized(w, product, constant, producers)
            if bias is not None:
                w.scope = node.name
                product.inputs.append(w.add("DequantizeLinear", *bias, axis=0))
                w.nodes.remove(product)
                product.outputs, node = node.outputs, product
        w.nodes.append(node)
        producers.update(dict.fromkeys(node.outputs, node))


def _biased(w: GraphWriter, node: OnnxNode, producers: dict[str, OnnxNode]) -> tuple[OnnxNode | None, Array | None]:
    """Returns the product and the constant that a node adds."""
    if node.type == "Add":
        for name, other in (node.inputs, node.inputs[::-1]):
            product = producers.get(name)
            if product is not None and product.type in _CHANNELS and len(product.inputs) == 2:
                return product, w.static_value(other)
    return None, None


def _quantized(
    w: GraphWriter, product: OnnxNode, bias: Array, producers: dict[str, OnnxNode]
) -> tuple[Array, Array] | None:
    """Returns a bias as integers with their scales, which are those of the sums that the product computes."""
    weights, scale = w.model.quantized.get(product.inputs[1]), _scale(w, product.inputs[0], producers)
    if weights is None or scale is None:
        return None
    channels = _CHANNELS[product.type]
    count, rank = weights.values.shape[channels], weights.values.ndim
    sizes = (1,) * (rank - bias.ndim) + bias.shape
    if sizes != tuple(count if axis == 1 else 1 for axis in range(rank)) or weights.axes() not in ([], [channels]):
        return None
    scales = scale * np.moveaxis(weights.scales, channels, 0).reshape(count, -1)[:, 0]
    levels = np.rint(bias.reshape(-1).astype(np.float64) / scales)
    return (levels.astype(np.int32), scales) if np.abs(levels).max() < 1 << 31 else None


def _scale(w: GraphWriter, name: str, producers: dict[str, OnnxNode]) -> Array | None:
    """Returns the scale of a quantized value."""
    node = producers.get(name)
    while node is not None and node.type in _FORWARDING:
        node = producers.get(node.inputs[0])
    scale = w.static_value(node.inputs[1]) if node is not None and node.type == "DequantizeLinear" else None
    return scale if scale is not None and scale.ndim == 0 else None
