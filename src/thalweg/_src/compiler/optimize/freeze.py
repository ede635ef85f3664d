"""Freezing: variables of a session that only infers become constants, and batch normalization part of convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

Array = np.ndarray[Any, Any]
_NORMALIZATIONS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")


def freeze(step: StepGraph, value_of: Callable[[Node], Array | None]) -> None:
    """Replaces reads of variables by their values, given the nodes of their handles, unless the step changes some."""
    if any(node.facts.writes for node in step.everything()):
        return
    replaced: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}
    for node in step.nodes:
        value = value_of(node.inputs[0].node) if node.type == "ReadVariableOp" else None
        if value is not None:
            moved[node] = _constant(node, node.name, value)
            replaced[Output(node, 0)] = Output(moved[node], 0)
    if replaced:
        step.rewrite(replaced, moved)


def _constant(like: Node, name: str, value: Array) -> Node:
    dtype = like.dtypes[0]
    attrs = {"value": value, "dtype": dtype}
    return like.like("Const", [], attrs, name=name, dtypes=[dtype], shapes=[value.shape], controls=[])


def fold_batch_norms(step: StepGraph) -> None:
    """Makes batch normalization with constant moments part of the filter and the bias of the convolution before it."""
    consumers = step.consumers()
    kept = {output for node in step.nodes for output in node.inputs} | set(step.fetches)
    replaced: dict[Output, Output] = {}
    moved: dict[Node, Node] = {}
    for node in step.nodes:
        if node.type not in _NORMALIZATIONS or node.attrs["is_training"] or node.controls:
            continue
        convolution = node.inputs[0].node
        only = consumers[convolution] == [node] and Output(convolution, 0) not in step.fetches
        if only and not any(Output(node, index) in kept for index in range(1, len(node.dtypes))):
            folded = _folded(convolution, node)
            if folded is not None:
                moved[node] = folded
                replaced[Output(node, 0)] = Output(folded, 0)
    if replaced:
        step.rewrite(replaced, moved)


def _folded(convolution: Node, normalization: Node) -> Node | None:
    """Returns the bias node that takes the place of a normalization."""
    if convolution.type not in _CONVOLUTIONS or convolution.attrs["data_format"] != "NHWC":
        return None
    if normalization.attrs["data_format"] != "NHWC" or convolution.dtypes[0] is not dtypes.float32:
        return None
    filter, *moments = convolution.constant(1), *(normalization.constant(index) for index in range(1, 5))
    if filter is None or any(each is None for each in moments):
        return None
    scale, offset, mean, variance = (np.asarray(each, np.float64) for each in moments)
    factor = scale / np.sqrt(variance + normalization.attrs["epsilon"])
    is_depthwise = convolution.type == "DepthwiseConv2dNative"
    scaled = filter * factor.reshape(filter.shape[-2:] if is_depthwise else -1)
    kernel = _constant(convolution, f"{convolution.name}/_folded_filter", scaled.astype(np.float32))
    bias = _constant(convolution, f"{convolution.name}/_folded_bias", (offset - mean * factor).astype(np.float32))
    product = convolution.like(
        convolution.type,
        [convolution.inputs[0], Output(kernel, 0)],
        convolution.attrs,
        controls=list(convolution.controls),
    )
    attrs = {"T": dtypes.float32, "data_format": "NHWC"}
    outputs = {"dtypes": normalization.dtypes[:1], "shapes": normalization.shapes[:1]}
    return normalization.like("BiasAdd", [Output(product, 0), Output(bias, 0)], attrs, **outputs)
