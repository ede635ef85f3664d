"""Freezing: variables of a session that only infers become constants, and batch normalization part of convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.compiler.optimize.match import Pattern, Uses, matches
from thalweg._src.graph.ir.rewrite import Rewrite
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

Array = np.ndarray[Any, Any]
_CONVOLUTION = Pattern("Conv2D|DepthwiseConv2dNative")
_NORMALIZED = Pattern("FusedBatchNorm|FusedBatchNormV2|FusedBatchNormV3", _CONVOLUTION)


def freeze(step: StepGraph, value_of: Callable[[Node], Array | None]) -> None:
    """Replaces reads of variables by their values, given the nodes of their handles, unless the step changes some."""
    # A step that writes variables must read them each time: constants would be stale, for itself and for later steps.
    if any(node.facts.writes for node in step.everything()):
        return
    rewrite = Rewrite(step)
    for node in step.nodes:
        value = value_of(node.inputs[0].node) if node.type == "ReadVariableOp" else None
        if value is not None:
            rewrite.replace(node, _constant(node, node.name, value))
    rewrite.apply()


def _constant(like: Node, name: str, value: Array) -> Node:
    dtype = like.dtypes[0]
    attrs = {"value": value, "dtype": dtype}
    return like.like("Const", [], attrs, name=name, dtypes=[dtype], shapes=[value.shape], controls=[])


def fold_batch_norms(step: StepGraph) -> None:
    """Makes batch normalization with constant moments part of the filter and the bias of the convolution before it."""
    uses, rewrite = Uses(step), Rewrite(step)
    for normalization, convolution in matches(step, _NORMALIZED):
        if normalization.attrs["is_training"] or normalization.controls or not uses.only(convolution, normalization):
            continue
        moments = [Output(normalization, index) for index in range(1, len(normalization.dtypes))]
        folded = None if any(map(uses.has, moments)) else _folded(convolution, normalization)
        if folded is not None:
            rewrite.replace(normalization, folded)
    rewrite.apply()


def per_channel(epsilon: float, gamma: Any, beta: Any, mean: Any, variance: Any) -> tuple[Array, Array]:
    """Returns by what batch normalization with constant moments multiplies each channel, and what it adds."""
    gamma, beta, mean, variance = (np.asarray(values, np.float64) for values in (gamma, beta, mean, variance))
    factors = gamma / np.sqrt(variance + epsilon)
    return factors, beta - mean * factors


def scaled_weights(product: str, weights: Array, factors: Array, transposed: bool = False) -> Array:
    """Returns the weights with which a convolution or matrix product has its channels multiplied by factors."""
    if product == "DepthwiseConv2dNative":
        factors = factors.reshape(weights.shape[2:])
    elif transposed:
        factors = factors[:, None]
    scaled: Array = (weights * factors).astype(np.float32)
    return scaled


def _folded(convolution: Node, normalization: Node) -> Node | None:
    """Returns the bias node that takes the place of a normalization."""
    if any(node.attrs["data_format"] != "NHWC" for node in (convolution, normalization)):
        return None
    if convolution.dtypes[0] is not dtypes.float32:
        return None
    # Normalization with constant moments is a linear function per channel, as the convolution is: y = conv(x, f) * a +
    # b is conv(x, f * a) + b. The factors are computed in double precision, so that the result differs by rounding
    # alone.
    filter, *moments = convolution.constant(1), *(normalization.constant(index) for index in range(1, 5))
    if filter is None or any(moment is None for moment in moments):
        return None
    factors, offsets = per_channel(normalization.attrs["epsilon"], *moments)
    scaled = scaled_weights(convolution.type, filter, factors)
    kernel = _constant(convolution, f"{convolution.name}/_folded_filter", scaled)
    bias = _constant(convolution, f"{convolution.name}/_folded_bias", offsets.astype(np.float32))
    product = convolution.like(
        convolution.type,
        [convolution.inputs[0], Output(kernel, 0)],
        convolution.attrs,
        controls=list(convolution.controls),
    )
    attrs = {"T": dtypes.float32, "data_format": "NHWC"}
    outputs = {"dtypes": normalization.dtypes[:1], "shapes": normalization.shapes[:1]}
    return normalization.like("BiasAdd", [Output(product, 0), Output(bias, 0)], attrs, **outputs)
