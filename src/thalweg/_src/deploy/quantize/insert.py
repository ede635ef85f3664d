"""Which tensors of a frozen graph are rounded, and the fake quantization that is inserted for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from thalweg._src.base.dtypes import float32
from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.deploy.quantize.ranges import weight_ends
from thalweg._src.deploy.transform.nodes import (
    Array,
    Nodes,
    attr_of,
    constant_node,
    copied,
    data_inputs,
    new_node,
    with_nodes,
)
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.session.freezing import source_of

_PRODUCTS = ("Conv2D", "DepthwiseConv2dNative", "MatMul")
_SUMS = ("Add", "AddV2", "BiasAdd")
_ACTIVATIONS = ("Relu", "Relu6")
_POOLS = ("MaxPool", "Pad", "MirrorPad")  # whose outputs are in the range of their inputs
_FLOAT = float32.as_datatype_enum


@dataclass(frozen=True, slots=True)
class Plan:
    """What is rounded: the products whose weights are, and the nodes whose first outputs are."""

    products: tuple[str, ...]
    activations: tuple[str, ...]


def plan(graph_def: GraphDef, outputs: set[str]) -> Plan:
    """Decides what is rounded: weights, inputs and outputs of products, and sums of outputs, but no output itself."""
    nodes = Nodes(graph_def)
    products = [node for node in graph_def.node if node.op in _PRODUCTS and _has_weights(node, nodes)]
    ends = {_end(node, nodes).name for node in products}
    rounded = dict.fromkeys(ends)
    rounded |= dict.fromkeys(_origin(node.input[0], nodes) for node in products)
    for node in graph_def.node:
        if node.op in _SUMS[:2] and _is_float(node) and _joins(node, nodes, set(rounded)):
            rounded[_activated(node, nodes).name] = None
    unrounded = outputs | {_origin(name, nodes) for name in outputs}
    order = [node.name for node in graph_def.node if node.name in rounded and node.name not in unrounded]
    return Plan(tuple(node.name for node in products), tuple(order))


def _has_weights(node: NodeDef, nodes: Nodes) -> bool:
    return _is_float(node) and nodes.constant(node.input[1]) is not None


def _is_float(node: NodeDef) -> bool:
    return bool(attr_of(node, "T").type == _FLOAT)


def _only_user(node: NodeDef, nodes: Nodes) -> NodeDef:
    users = nodes.users[node.name]
    return nodes[users[0]] if len(users) == 1 else nodes[""]


def _end(product: NodeDef, nodes: Nodes) -> NodeDef:
    """Returns the last node of a layer: the product, its bias or its activation."""
    return _activated(product if _bias(product, nodes) is None else _only_user(product, nodes), nodes)


def _bias(product: NodeDef, nodes: Nodes) -> Array | None:
    """Returns the constant that is added to a product."""
    following = _only_user(product, nodes)
    constants = [nodes.constant(text) for text in data_inputs(following)] if following.op in _SUMS else []
    return next((constant for constant in constants if constant is not None), None)


def _activated(node: NodeDef, nodes: Nodes) -> NodeDef:
    following = _only_user(node, nodes)
    return following if following.op in _ACTIVATIONS else node


def _origin(text: str, nodes: Nodes) -> str:
    """Returns the node that computes a value, which others may have forwarded, reshaped or pooled."""
    node = nodes[text]
    while node.op in _POOLS or (node.op in OPS and OPS.lookup(node.op).facts.forwards in ("same", "reshaped")):
        if attr_of(node, "T").type != _FLOAT or not node.input:
            break
        node = nodes[node.input[0]]
    return str(node.name)


def _joins(node: NodeDef, nodes: Nodes, rounded: set[str]) -> bool:
    """Returns whether a sum adds values that are rounded, and no constant."""
    texts = data_inputs(node)
    return all(nodes.constant(text) is None for text in texts) and any(_origin(t, nodes) in rounded for t in texts)


def insert(
    graph_def: GraphDef,
    chosen: Plan,
    ends: Mapping[str, tuple[float, float]],
    weight_bits: int,
    bits: int,
    per_channel: bool,
) -> GraphDef:
    """Returns the graph with weights and activations rounded; ends: the ranges of activations."""
    nodes = Nodes(graph_def)
    nodes_after = []
    for node in graph_def.node:
        if node.name in chosen.products:
            least = _least_range(node, nodes, ends.get(_origin(node.input[0], nodes)), weight_bits, bits)
            nodes_after += _rounded_weights(node, nodes, weight_bits, per_channel, least)
        else:
            nodes_after.append(copied(node))
    users = list(nodes_after)
    for name in chosen.activations:
        low, high = (np.array(end, np.float32) for end in _usable(*ends[name]))
        rounded = f"{name}/act_quant/FakeQuantWithMinMaxVars"
        nodes_after += _fake_quant(rounded, name, low, high, bits, nodes[name].device)
        for user in users:
            user.input[:] = [rounded if text in (name, f"{name}:0") else text for text in user.input]
    used = {source_of(text) for node in nodes_after for text in node.input}
    remaining = [n for n in nodes_after if n.op != "Const" or n.name in used or not nodes.users[n.name]]
    return with_nodes(graph_def, remaining)


def _usable(low: float, high: float) -> tuple[float, float]:
    """Returns a range that is not empty."""
    return (low, high) if high - low > 1e-6 else (low, low + 1e-6)


def _fake_quant(
    name: str, source: str, low: Array, high: Array, bits: int, device: str, narrow: bool = False
) -> list[NodeDef]:
    """Returns a node that rounds, with its range; a range of several values is one for each channel."""
    base = name.rpartition("/")[0]
    ends = [constant_node(f"{base}/{which}", end) for which, end in (("min", low), ("max", high))]
    op = "FakeQuantWithMinMaxVarsPerChannel" if low.ndim else "FakeQuantWithMinMaxVars"
    taken = [source, *(end.name for end in ends)]
    return [*ends, new_node(op, name, taken, device, num_bits=bits, narrow_range=narrow)]


def _least_range(
    product: NodeDef, nodes: Nodes, taken: tuple[float, float] | None, weight_bits: int, bits: int
) -> Array | float:
    """Returns the least range of weights with which the bias is a 32-bit integer, in the steps of the product.

    A kernel of integers adds the bias to sums of products, whose step is that of the activations times that of the
    weights, so the bias is rounded to the same step. A channel whose weights are nearly zero, as training leaves some,
    has steps so small that its bias would overflow 32 bits. A wider range for such weights costs nothing, since they
    add nearly nothing to the sum; 2**30 leaves room for the sum itself.

    taken: the range of what is multiplied by weights
    """
    bias = _bias(product, nodes)
    if bias is None or taken is None:
        return 0.0
    low, high = _usable(*taken)
    step = (high - low) / (2**bits - 1)
    return np.asarray(np.abs(bias).reshape(-1) * (2 ** (weight_bits - 1) - 1) / (step * 2**30))


def _rounded_weights(
    product: NodeDef, nodes: Nodes, bits: int, per_channel: bool, least: Array | float
) -> list[NodeDef]:
    """Returns a product whose weights are rounded: their channels are the last dimension."""
    weights = nodes.constant(product.input[1])
    assert weights is not None
    node, shape = copied(product), None
    if product.op == "MatMul" and attr_of(product, "transpose_b").b:
        weights = np.ascontiguousarray(weights.T)
        node.attr["transpose_b"].b = False
    elif product.op == "DepthwiseConv2dNative" and per_channel:
        shape = weights.shape
        weights = weights.reshape(*shape[:2], -1)
    low, high = weight_ends(weights, per_channel, least)
    base = f"{product.name}/weights_quant"
    op = "FakeQuantWithMinMaxVarsPerChannel" if per_channel else "FakeQuantWithMinMaxVars"
    constant = constant_node(f"{base}/weights", np.ascontiguousarray(weights))
    rounded = [constant, *_fake_quant(f"{base}/{op}", constant.name, low, high, bits, product.device, narrow=True)]
    if shape is not None:
        rounded.append(constant_node(f"{base}/shape", np.array(shape, np.int32)))
        taken = [rounded[-2].name, rounded[-1].name]
        rounded.append(new_node("Reshape", f"{base}/Reshape", taken, product.device, T=float32))
    node.input[1] = rounded[-1].name
    return [*rounded, node]
