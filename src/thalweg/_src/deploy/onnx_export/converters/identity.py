"""Converters of ops that forward their inputs, and of those that only matter in training or debugging."""

from __future__ import annotations

from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter
from thalweg._src.deploy.onnx_export.registry import converter
from thalweg._src.deploy.onnx_export.types import Value
from thalweg._src.graph.ir.step_graph import Node


@converter("Identity", "StopGradient", "PreventGradient", "EnsureShape", "CheckNumerics", "Snapshot")
def same(w: GraphWriter, node: Node, x: Value) -> Value:
    return x


@converter("IdentityN")
def all_same(w: GraphWriter, node: Node, *inputs: Value) -> Value:
    return list(inputs)


@converter("NoOp")
def nothing(w: GraphWriter, node: Node) -> Value:
    return []
