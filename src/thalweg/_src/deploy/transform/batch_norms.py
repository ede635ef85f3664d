"""Batch normalization, folded into the weights of the convolution or the matrix product before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.compiler.optimize.freeze import per_channel, scaled_weights
from thalweg._src.deploy.transform.nodes import (
    Array,
    Nodes,
    attr_of,
    constant_node,
    control_inputs,
    copied,
    new_node,
    used_by,
    with_nodes,
)
from thalweg._src.deploy.transform.registry import Context, transform
from thalweg._src.runtime.session.freezing import source_of

_PRODUCTS = ("Conv2D", "MatMul", "DepthwiseConv2dNative")
_FUSED = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_OLD = "BatchNormWithGlobalNormalization"


@dataclass(frozen=True, slots=True)
class _Product:
    """A convolution or matrix product with constant weights, and the bias that is added to it, if any."""

    node: NodeDef
    weights: Array
    bias: Array | None = None


@transform("fold_batch_norms")
def fold_batch_norms(graph_def: GraphDef, context: Context) -> GraphDef:
    """Multiplies weights by the constant that multiplies the channels of their product."""
    return _folded(graph_def, context, _fold_multiplication)


@transform("fold_old_batch_norms")
def fold_old_batch_norms(graph_def: GraphDef, context: Context) -> GraphDef:
    """Replaces batch normalization after a product by other weights and a bias."""
    return _folded(graph_def, context, _fold_normalization)


def _folded(graph_def: GraphDef, context: Context, fold: Any) -> GraphDef:
    """Applies a rewrite of a node to all nodes, and removes what is not used any more."""
    nodes = Nodes(graph_def)
    replaced: dict[str, list[NodeDef]] = {}
    for node in graph_def.node:
        replacements = fold(node, nodes, context)
        if replacements is not None:
            replaced[node.name] = replacements
    folded = [replacement for node in graph_def.node for replacement in replaced.get(node.name, [node])]
    return used_by(with_nodes(graph_def, folded), context.outputs)


def _fold_multiplication(node: NodeDef, nodes: Nodes, context: Context) -> list[NodeDef] | None:
    if node.op != "Mul":
        return None
    for first, second in (node.input[:2], reversed(node.input[:2])):
        product, scale = _product(first, nodes, context), nodes.constant(second)
        if product is None or scale is None or product.bias is not None or scale.ndim > 1:
            continue
        if scale.size == _channels(product) and not _channels_first(product.node):
            return _scaled(product, scale.reshape(-1), node.name, control_inputs(node))
    return None


def _product(text: str, nodes: Nodes, context: Context) -> _Product | None:
    """Returns the product that an input names, if nothing else uses it and its weights are constant."""
    node = nodes[text]
    if len(nodes.users[node.name]) != 1 or node.name in context.outputs or control_inputs(node):
        return None
    if node.op == "BiasAdd":
        product, bias = _product(node.input[0], nodes, context), nodes.constant(node.input[1])
        return None if product is None or bias is None else _Product(product.node, product.weights, bias)
    weights = nodes.constant(node.input[1]) if node.op in _PRODUCTS else None
    return None if weights is None or weights.dtype != np.float32 else _Product(node, weights)


def _channels(product: _Product) -> int:
    """Returns the number of channels of a product."""
    shape = product.weights.shape
    if product.node.op == "MatMul":
        return int(shape[0 if attr_of(product.node, "transpose_b").b else 1])
    return int(shape[2] * shape[3] if product.node.op.startswith("Depthwise") else shape[-1])


def _channels_first(node: NodeDef) -> bool:
    return bool(attr_of(node, "data_format").s == b"NCHW")


def _scaled(product: _Product, scale: Array, name: str, controls: list[str]) -> list[NodeDef]:
    """Returns a product, under another name, whose weights are scaled by channel."""
    transposed = product.node.op == "MatMul" and attr_of(product.node, "transpose_b").b
    weights = scaled_weights(product.node.op, product.weights, scale, transposed)
    constant = constant_node(f"{name}/weights", weights)
    constant.device = product.node.device
    scaled = copied(product.node)
    scaled.name, scaled.input[1] = name, constant.name
    scaled.input.extend(controls)
    return [constant, scaled]


def _fold_normalization(node: NodeDef, nodes: Nodes, context: Context) -> list[NodeDef] | None:
    if node.op not in (*_FUSED, _OLD) or not _is_inference(node, nodes):
        return None
    values = [nodes.constant(text) for text in node.input[1:5]]
    product = _product(node.input[0], nodes, context)
    if product is None or product.node.op == "MatMul" or any(value is None for value in values):
        return None
    scale, offset = _per_channel(node, values)
    if scale.size != _channels(product):
        return None
    if product.bias is not None:
        offset = offset + product.bias * scale
    scaled = _scaled(product, scale, f"{node.name}/{product.node.op}", [])
    bias = constant_node(f"{node.name}/bias", offset.astype(np.float32))
    bias.device = node.device
    added = new_node("BiasAdd", node.name, [scaled[-1].name, bias.name, *control_inputs(node)], node.device)
    added.attr["T"].CopyFrom(product.node.attr["T"])
    if "data_format" in product.node.attr:
        added.attr["data_format"].CopyFrom(product.node.attr["data_format"])
    return [*scaled, bias, added]


def _is_inference(node: NodeDef, nodes: Nodes) -> bool:
    """Returns whether statistics come from the inputs, and only the normalized values are used."""
    if node.op == _OLD:
        return True
    others = {text for user in nodes.users[node.name] for text in nodes[user].input if source_of(text) == node.name}
    trains = "is_training" not in node.attr or attr_of(node, "is_training").b  # by default it does
    return not trains and others <= {node.name, f"{node.name}:0"}


def _per_channel(node: NodeDef, values: list[Any]) -> tuple[Array, Array]:
    """Returns by what normalization multiplies each channel, and what it adds."""
    if node.op != _OLD:
        epsilon = attr_of(node, "epsilon").f if "epsilon" in node.attr else 1e-4
        return per_channel(epsilon, *values)
    mean, variance, beta, gamma = values
    if not attr_of(node, "scale_after_normalization").b:
        gamma = np.ones_like(gamma)
    return per_channel(attr_of(node, "variance_epsilon").f, gamma, beta, mean, variance)
