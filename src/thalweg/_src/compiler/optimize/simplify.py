"""Algebraic simplification: identities that hold for every value, NaN and infinity included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg._src.base.shapes import Shape
from thalweg._src.graph.ir.rewrite import Rewrite
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph

# A rule returns an existing output with the node's value, a replacement node, or None.
Rule = Callable[[Node], Output | Node | None]
_rules: dict[str, list[Rule]] = {}


def simplify(step: StepGraph) -> None:
    """Applies the rules in topological order, so that inputs are simplified first."""
    rewrite = Rewrite(step)
    # Control inputs that consumers inherit from a removed Identity, and from constants that a removed node took. A node
    # that is fetched, or that others wait for, has users that inherit nothing: it stays.
    waits: dict[Output, list[Node]] = {}
    awaited = {*step.roots(), *(control for node in step.nodes for control in node.controls)}
    for node in step.nodes:
        if waits:
            needed = [*node.inputs, *(predicate for predicate, _ in node.guard)]
            late = [control for output in needed for control in waits.get(output, ())]
            node.controls = list(dict.fromkeys([*node.controls, *late])) if late else node.controls
        node.inputs = [rewrite.outputs.get(output, output) for output in node.inputs]
        if node.controls and node.type == "Identity" and node not in awaited:
            output = Output(node, 0)
            rewrite.outputs[output], waits[output] = node.inputs[0], node.controls
            continue
        if node.controls:
            continue  # its order is observable
        rules = _rules.get(node.type, ())
        late = _awaited_by_constants(node) if rules else []
        if late and node in awaited:
            continue
        for rule in rules:
            result = rule(node)
            if result is not None:
                output = Output(result, 0) if isinstance(result, Node) else result
                rewrite.outputs[Output(node, 0)], rewrite.nodes[node] = output, output.node
                if late:
                    waits[Output(node, 0)] = late
                break
    rewrite.apply()


def rule(*types: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for name in types:
            _rules.setdefault(name, []).append(function)
        return function

    return register


def _awaited_by_constants(node: Node) -> list[Node]:
    return [control for output in node.inputs if output.node.type == "Const" for control in output.node.controls]


def _is_ordered(node: Node) -> bool:
    """Returns whether a node waits for others, itself or by a constant that it takes."""
    return bool(node.controls or _awaited_by_constants(node))


def _is_static(shape: Shape) -> bool:
    return shape is not None and None not in shape


def _same_shape(node: Node, index: int) -> bool:
    """Returns whether an input is known to have the output's shape."""
    return _is_static(node.shapes[0]) and node.input_shape(index) == node.shapes[0]


def _is_constant(node: Node, index: int, value: float) -> bool:
    constant = node.constant(index)
    return constant is not None and constant.dtype != object and constant.size > 0 and bool(np.all(constant == value))


@rule("Identity", "StopGradient", "PreventGradient", "Snapshot")
def same_value(node: Node) -> Output | None:
    return node.inputs[0]


@rule("Add", "AddV2")
def add_nothing(node: Node) -> Output | None:
    # -0.0 is the one number that x + 0.0 changes, so only integers may drop it; x + -0.0 is always x.
    for this, other in ((0, 1), (1, 0)):
        constant = node.constant(other)
        if _is_constant(node, other, 0) and _same_shape(node, this):
            assert constant is not None
            dtype = node.dtypes[0]
            if dtype.is_integer or (dtype.is_floating and bool(np.all(np.signbit(constant)))):
                return node.inputs[this]
    return None


@rule("Sub")
def subtract_nothing(node: Node) -> Output | None:
    constant = node.constant(1)
    if constant is None or not _is_constant(node, 1, 0) or not _same_shape(node, 0):
        return None
    positive = node.dtypes[0].is_integer or not bool(np.any(np.signbit(constant)))
    return node.inputs[0] if positive else None


@rule("Mul")
def multiply_by_one(node: Node) -> Output | None:
    for this, other in ((0, 1), (1, 0)):
        if _is_constant(node, other, 1) and _same_shape(node, this):
            return node.inputs[this]
    return None


@rule("Div", "RealDiv", "TruncateDiv", "FloorDiv", "Pow")
def by_one(node: Node) -> Output | None:
    if node.type in ("FloorDiv", "RealDiv") and node.dtypes[0].is_integer != (node.type == "FloorDiv"):
        return None  # FloorDiv rounds fractions, and RealDiv rejects integers
    return node.inputs[0] if _is_constant(node, 1, 1) and _same_shape(node, 0) else None


@rule("Pow")
def square(node: Node) -> Node | None:
    if _is_constant(node, 1, 2) and _same_shape(node, 0):
        return node.like("Square", node.inputs[:1], {"T": node.attrs["T"]})
    return None


@rule("Neg", "LogicalNot", "Conj", "InvertPermutation")
def undone(node: Node) -> Output | None:
    inner = node.inputs[0].node
    return inner.inputs[0] if inner.type == node.type and not _is_ordered(inner) else None


@rule("Cast")
def cast_to_same(node: Node) -> Output | None:
    return node.inputs[0] if node.attrs["SrcT"] is node.attrs["DstT"] else None


@rule("Reshape", "BroadcastTo", "Squeeze", "ExpandDims", "EnsureShape")
def reshape_to_same(node: Node) -> Output | None:
    # A shape that is computed in the step may be invalid, which the operation must report.
    decided = node.type not in ("Reshape", "BroadcastTo") or node.constant(1) is not None
    return node.inputs[0] if decided and _same_shape(node, 0) else None


@rule("Reshape")
def reshape_of_reshape(node: Node) -> Output | Node | None:
    inner = node.inputs[0].node
    if inner.type in ("Reshape", "Squeeze", "ExpandDims") and not _is_ordered(inner):
        if _is_static(node.shapes[0]) and inner.input_shape(0) == node.shapes[0]:
            return inner.inputs[0]
        return node.like(node.type, [inner.inputs[0], *node.inputs[1:]], node.attrs)
    return None


@rule("Transpose")
def transpose_back(node: Node) -> Output | None:
    permutation = node.constant(1)
    if permutation is None:
        return None
    if node.input_shape(0) is not None and permutation.tolist() == list(range(permutation.size)):
        return node.inputs[0]
    inner = node.inputs[0].node
    before = inner.constant(1) if inner.type == "Transpose" and not _is_ordered(inner) else None
    if before is not None and before[permutation].tolist() == list(range(permutation.size)):
        return inner.inputs[0]
    return None


@rule("Sum", "Mean", "Prod", "Max", "Min", "All", "Any")
def reduce_nothing(node: Node) -> Output | None:
    axes = node.constant(1)
    return node.inputs[0] if axes is not None and axes.size == 0 else None


@rule("AddN")
def one_of_one(node: Node) -> Output | None:
    return node.inputs[0] if node.attrs["N"] == 1 else None


@rule("Tile")
def tile_once(node: Node) -> Output | None:
    return node.inputs[0] if _is_constant(node, 1, 1) and node.input_shape(0) is not None else None


@rule("Select", "SelectV2")
def select_decided(node: Node) -> Output | None:
    for chosen, value in ((1, True), (2, False)):
        if _is_constant(node, 0, value) and _same_shape(node, chosen):
            return node.inputs[chosen]
    return None


@rule("MatMul", "BatchMatMulV2")
def absorb_transpose(node: Node) -> Node | None:
    """Sets the transpose attribute of a product instead of transposing its operand."""
    flags = ("transpose_a", "transpose_b") if node.type == "MatMul" else ("adj_x", "adj_y")
    inputs, attrs = list(node.inputs), dict(node.attrs)
    for index, flag in enumerate(flags):
        inner = node.inputs[index].node
        if (
            inner.type == "Transpose"
            and not _is_ordered(inner)
            and not node.dtypes[0].is_complex
            and _swaps_last(inner)
        ):
            inputs[index] = inner.inputs[0]
            attrs[flag] = not attrs[flag]
    return node.like(node.type, inputs, attrs) if inputs != node.inputs else None


def _swaps_last(node: Node) -> bool:
    permutation: Any = node.constant(1)
    if permutation is None or permutation.size < 2:
        return False
    rank = permutation.size
    return bool(permutation.tolist() == [*range(rank - 2), rank - 1, rank - 2])
