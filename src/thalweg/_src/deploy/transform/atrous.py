"""Dilated convolutions between SpaceToBatchND and BatchToSpaceND, as one convolution with a filter full of holes."""

from __future__ import annotations

import numpy as np

from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.deploy.transform.nodes import (
    Array,
    Nodes,
    attr_of,
    constant_node,
    control_inputs,
    copied,
    used_by,
    with_nodes,
)
from thalweg._src.deploy.transform.registry import Context, transform


@transform("flatten_atrous_conv")
def flatten_atrous_conv(graph_def: GraphDef, context: Context) -> GraphDef:
    """Replaces SpaceToBatchND, a convolution and BatchToSpaceND by a convolution whose filter has zeros between."""
    nodes = Nodes(graph_def)
    flattened = [replacement for node in graph_def.node for replacement in _flattened(node, nodes, context) or [node]]
    return used_by(with_nodes(graph_def, flattened), context.outputs)


def _flattened(after: NodeDef, nodes: Nodes, context: Context) -> list[NodeDef] | None:
    """Returns what replaces BatchToSpaceND: a filter and a convolution; None where the pattern is another."""
    if after.op != "BatchToSpaceND":
        return None
    convolution = nodes[after.input[0]]
    before = nodes[convolution.input[0]] if convolution.op in ("Conv2D", "DepthwiseConv2dNative") else convolution
    inside = [convolution, before]
    if before.op != "SpaceToBatchND" or any(_is_used(node, nodes, context) for node in inside):
        return None
    texts = [convolution.input[1], *before.input[1:3], *after.input[1:3]]
    constants = [value for text in texts if (value := nodes.constant(text)) is not None]
    if len(constants) < len(texts):
        return None
    filters, rates, paddings, more_rates, crops = constants
    padding = _padding(filters, rates, paddings, crops)
    if padding is None or rates.size != 2 or not np.array_equal(rates, more_rates):
        return None
    if attr_of(convolution, "padding").s != b"VALID" or attr_of(convolution, "data_format").s not in (b"", b"NHWC"):
        return None
    return _convolution(after, before, convolution, _with_holes(filters, rates), padding)


def _is_used(node: NodeDef, nodes: Nodes, context: Context) -> bool:
    """Returns whether others than the pattern rely on a node."""
    return len(nodes.users[node.name]) != 1 or node.name in context.outputs or bool(control_inputs(node))


def _padding(filters: Array, rates: Array, paddings: Array, crops: Array) -> bytes | None:
    """Returns the padding that has the same effect, None if none has."""
    start, end = paddings[:, 0] - crops[:, 0], paddings[:, 1] - crops[:, 1]
    total = (np.array(filters.shape[:2]) - 1) * rates
    if np.array_equal(start, total // 2) and np.array_equal(start + end, total):
        return b"SAME"
    return None if np.any(start) or np.any(end) else b"VALID"


def _with_holes(filters: Array, rates: Array) -> Array:
    """Returns filters with rows and columns of zeros between their own."""
    height, width = ((np.array(filters.shape[:2]) - 1) * rates + 1).tolist()
    result = np.zeros((height, width, *filters.shape[2:]), filters.dtype)
    result[:: int(rates[0]), :: int(rates[1])] = filters
    return result


def _convolution(
    after: NodeDef, before: NodeDef, convolution: NodeDef, filters: Array, padding: bytes
) -> list[NodeDef]:
    constant = constant_node(f"{after.name}/filters", filters)
    constant.device = convolution.device
    dilated = copied(convolution)
    dilated.name = after.name
    dilated.input[:] = [before.input[0], constant.name, *control_inputs(after)]
    dilated.attr["padding"].s = padding
    return [constant, dilated]
