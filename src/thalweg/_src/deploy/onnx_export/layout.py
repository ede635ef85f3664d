"""Layout: moves transposes towards the outputs, through nodes that do not care, until they meet and cancel.

Convolutions and pooling are written with a transpose before and one after. Between two of them nothing is left, also
not where elementwise nodes, sums of branches, concatenations, reductions and padding lie in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from thalweg._src.deploy.onnx_export.cleanup import remove_dead
from thalweg._src.deploy.onnx_export.graph_writer import Array, GraphWriter, OnnxNode
from thalweg._src.deploy.onnx_export.types import inverse

Permutation = tuple[int, ...]

_ALL = 1 << 10
# Nodes that compute each element of their output from the elements of their first inputs at its place: how many inputs.
_ELEMENTWISE = {
    **dict.fromkeys(("Relu", "Elu", "Selu", "LeakyRelu", "Sigmoid", "Tanh", "Softplus", "Softsign", "Clip"), 1),
    **dict.fromkeys(("Abs", "Neg", "Sign", "Exp", "Log", "Sqrt", "Reciprocal", "Floor", "Ceil"), 1),
    **dict.fromkeys(("Round", "Erf", "Sin", "Cos", "Cast", "Not", "IsNaN", "IsInf", "QuantizeLinear"), 1),
    "DequantizeLinear": 1,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "Equal", "Less", "Greater", "LessOrEqual"), 2),
    **dict.fromkeys(("GreaterOrEqual", "And", "Or"), 2),
    "Where": 3,
    **dict.fromkeys(("Max", "Min", "Sum"), _ALL),
}


def move_transposes(w: GraphWriter) -> None:
    """Moves the transposes of a graph, and of the graphs in it, and removes those that cancel."""
    for node in w.nodes:
        for graph in node.subgraphs():
            move_transposes(graph)
    _Movement(w).run()
    remove_dead(w)


class _Movement:
    """One walk over a graph, in order: `_turned` has the values that are transposes of others.

    The converters of convolutions and pools put a transpose before and behind each, since ONNX has channels first. The
    walk moves transposes down: where all inputs of a node are transposes by one permutation, or constants, which are
    transposed now, the node computes on the originals instead, and its result is transposed. A transpose of a
    transpose is composed with it, and one that changes nothing is an identity, so that the pairs between layers cancel.

    Each step keeps the meaning of the graph by itself: a value keeps its name and is still computed, as a transpose of
    the moved result, for nodes that cannot take the original. So the order of the walk, and rules that are
    missing, only decide how many transposes remain; those that nothing needs are removed at the end.
    """

    def __init__(self, w: GraphWriter) -> None:
        self._w = w
        self._turned: dict[str, tuple[str, Permutation]] = {}
        self._moved: list[OnnxNode] = []

    def run(self) -> None:
        for node in self._w.nodes:
            if node.type == "Transpose":
                self._compose(node)
            else:
                self._move(node)
        self._w.nodes = self._moved

    def _compose(self, node: OnnxNode) -> None:
        """Replaces a transpose of a transposed value by one of the original, or by nothing."""
        permutation: Permutation = tuple(node.attrs["perm"])
        source = node.inputs[0]
        if source in self._turned:
            source, first = self._turned[source]
            permutation = tuple(first[axis] for axis in permutation)
        self._add_turned(node.outputs[0], source, permutation)

    def _add_turned(self, name: str, source: str, permutation: Permutation) -> None:
        """Adds a value as the transpose of another."""
        if permutation == tuple(range(len(permutation))):
            self._moved.append(OnnxNode("Identity", name, [source], [name]))
            if source in self._turned:
                self._turned[name] = self._turned[source]
            return
        self._moved.append(OnnxNode("Transpose", name, [source], [name], {"perm": list(permutation)}))
        self._turned[name] = (source, permutation)

    def _move(self, node: OnnxNode) -> None:
        """Lets a node compute on the original values, and transposes its result."""
        permutations = {self._turned[name][1] for name in node.inputs if name in self._turned}
        rule = self._rule(node.type)
        if len(permutations) == 1 and rule is not None and not any(True for _ in node.subgraphs()):
            permutation = permutations.pop()
            moved = rule(node, permutation)
            if moved is not None:
                outputs = node.outputs
                node.outputs = [self._w.unique(f"{name}/turned") for name in outputs]
                self._moved.append(node)
                for name, inner in zip(outputs, node.outputs):
                    self._add_turned(name, inner, moved)
                return
        self._moved.append(node)

    def _rule(self, node_type: str) -> Callable[[OnnxNode, Permutation], Permutation | None] | None:
        if node_type in _ELEMENTWISE:
            return self._elementwise
        if node_type.startswith("Reduce"):
            return self._reduction
        return {"Concat": self._concat, "Split": self._split, "Pad": self._pad, "Squeeze": self._squeeze}.get(node_type)

    # -- rules: each changes the inputs and attributes of a node, or returns None if the node stays as it is -----------

    def _elementwise(self, node: OnnxNode, permutation: Permutation) -> Permutation | None:
        rank = len(permutation)
        inputs: list[str] = []
        whole = node.inputs[: _ELEMENTWISE[node.type]]
        for name in whole:
            constant = self._w.static_value(name)
            if name in self._turned:
                inputs.append(self._turned[name][0])
            elif constant is not None and constant.ndim <= rank:
                inputs.append(self._turned_constant(constant, permutation))
            else:
                return None
        if "axis" in node.attrs:
            scales = self._w.static_value(node.inputs[1])
            if scales is None or scales.ndim != 1:
                return None
            node.attrs["axis"] = permutation[node.attrs["axis"]]
        node.inputs = inputs + node.inputs[len(whole) :]
        return permutation

    def _turned_constant(self, constant: Array, permutation: Permutation) -> str:
        """Returns a constant that broadcasts with the original value as another did with its transpose."""
        if constant.size == 1 and constant.ndim == 0:
            return self._w.constant(constant)
        full = constant.reshape((1,) * (len(permutation) - constant.ndim) + constant.shape)
        self._w.scope = "layout"
        return self._w.constant(np.ascontiguousarray(full.transpose(inverse(permutation))))

    def _concat(self, node: OnnxNode, permutation: Permutation) -> Permutation | None:
        inputs: list[str] = []
        for name in node.inputs:
            constant = self._w.static_value(name)
            if name in self._turned:
                inputs.append(self._turned[name][0])
            elif constant is not None and constant.ndim == len(permutation):
                inputs.append(self._turned_constant(constant, permutation))
            else:
                return None
        node.inputs = inputs
        node.attrs["axis"] = permutation[node.attrs["axis"]]
        return permutation

    def _split(self, node: OnnxNode, permutation: Permutation) -> Permutation | None:
        node.inputs[0] = self._turned[node.inputs[0]][0]
        node.attrs["axis"] = permutation[node.attrs.get("axis", 0)]
        return permutation

    def _pad(self, node: OnnxNode, permutation: Permutation) -> Permutation | None:
        pads = self._w.static_value(node.inputs[1])
        if pads is None or len(node.inputs) > 3 or node.inputs[0] not in self._turned:
            return None
        order = inverse(permutation)
        both = pads.reshape(2, -1)[:, list(order)]
        node.inputs[:2] = [self._turned[node.inputs[0]][0], self._w.constant(both.ravel().tolist())]
        return permutation

    def _axes(self, node: OnnxNode, permutation: Permutation) -> list[int] | None:
        axes = self._w.static_value(node.inputs[1]) if len(node.inputs) == 2 else None
        if axes is None or axes.size == 0 or node.inputs[0] not in self._turned:
            return None
        return [int(axis) % len(permutation) for axis in axes.tolist()]

    def _reduction(self, node: OnnxNode, permutation: Permutation) -> Permutation | None:
        axes = self._axes(node, permutation)
        if axes is None:
            return None
        node.inputs = [self._turned[node.inputs[0]][0], self._w.constant([permutation[axis] for axis in axes])]
        return permutation if node.attrs.get("keepdims", 1) else _without(permutation, axes)

    def _squeeze(self, node: OnnxNode, permutation: Permutation) -> Permutation | None:
        axes = self._axes(node, permutation)
        if axes is None:
            return None
        node.inputs = [self._turned[node.inputs[0]][0], self._w.constant([permutation[axis] for axis in axes])]
        return _without(permutation, axes)


def _without(permutation: Permutation, axes: Sequence[int]) -> Permutation:
    """Returns the permutation of the axes that are left."""
    left = [place for axis, place in enumerate(permutation) if axis not in axes]
    return tuple(sorted(left).index(place) for place in left)
