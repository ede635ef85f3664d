"""Transforms of weights: eight bits instead of floats, or floats with few different values, which compress well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.deploy.transform.nodes import Array, attr_of, constant_node, new_node, with_nodes
from thalweg._src.deploy.transform.registry import Context, transform
from thalweg._src.graph.tensor_proto import constant_array

_FLOAT = dtypes.float32.as_datatype_enum


@transform("quantize_weights", "minimum_size")
def quantize_weights(graph_def: GraphDef, context: Context) -> GraphDef:
    """Stores float constants of at least `minimum_size` elements in eight bits, which Dequantize makes floats."""
    return _with_weights(graph_def, context.integer("minimum_size", 1024), _quantized)


@transform("round_weights", "num_steps")
def round_weights(graph_def: GraphDef, context: Context) -> GraphDef:
    """Rounds the elements of float constants to the centres of equal steps between the least and the greatest."""
    steps = context.integer("num_steps", 256)
    if steps < 1:
        raise ValueError(f"num_steps: expected at least 1, received {steps}")

    def rounded(name: str, weights: Array) -> list[NodeDef]:
        low, high = _range(weights)
        width = (high - low) / steps
        places = np.clip(np.floor((weights - low) / width), 0, steps - 1)
        return [constant_node(name, (low + width * (places + 0.5)).astype(np.float32))]

    return _with_weights(graph_def, 16, rounded)


def _with_weights(graph_def: GraphDef, least: int, replace: Callable[[str, Array], list[Any]]) -> GraphDef:
    """Replaces the large constants of a graph; the last node of a replacement has the constant's name."""
    nodes: list[NodeDef] = []
    for node in graph_def.node:
        weights = _large(node, least)
        replacements = [node] if weights is None else replace(node.name, weights)
        for one in replacements if weights is not None else ():
            one.device = node.device
            one.input.extend(text for text in node.input if text.startswith("^"))
        nodes += replacements
    return with_nodes(graph_def, nodes)


def _large(node: NodeDef, least: int) -> Array | None:
    if node.op != "Const" or attr_of(node, "dtype").type != _FLOAT:
        return None
    weights = constant_array(node.attr["value"].tensor)
    return weights if weights.size >= least and np.isfinite(weights).all() else None


def _range(weights: Array) -> tuple[float, float]:
    """Returns the least and the greatest element, or a range around the only one."""
    low, high = float(weights.min()), float(weights.max())
    if low == high:
        high = low + (abs(low) or 1.0)
    return low, high


def _quantized(name: str, weights: Array) -> list[NodeDef]:
    low, high = _range(weights)
    low, high = min(low, 0.0), max(high, 0.0)  # so that 0 is exact
    low, high = float(np.float32(low)), float(np.float32(high))
    scale = 255.0 / (high - low)
    start = _half_away(np.float64(low * scale))
    steps = np.clip(_half_away(weights.astype(np.float64) * scale) - start, 0, 255).astype(np.uint8)
    constants = {
        f"{name}_quantized_const": constant_node("", steps.view(dtypes.quint8.as_numpy_dtype), dtypes.quint8),
        f"{name}_quantized_min": constant_node("", np.array(low, np.float32)),
        f"{name}_quantized_max": constant_node("", np.array(high, np.float32)),
    }
    for key, constant in constants.items():
        constant.name = key
    return [*constants.values(), new_node("Dequantize", name, constants, T=dtypes.quint8, mode="MIN_FIRST")]


def _half_away(values: Any) -> Any:
    """Rounds to the nearest integer, halves away from zero."""
    return np.sign(values) * np.floor(np.abs(values) + 0.5)
