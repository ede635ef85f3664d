"""Refinement of shapes: repeats shape inference over a step graph, whose inputs may have more specific shapes now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import Shape, compatible, merge
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph


class _Source:
    """An output of a node as shape functions see tensors; `op` has what evaluates it."""

    __slots__ = ("_node", "_refinement", "dims", "dtype", "static_value")

    def __init__(self, refinement: _Refinement, node: Node, index: int) -> None:
        self._refinement = refinement
        self._node = node
        self.dims = node.shapes[index]
        self.dtype = node.dtypes[index]
        self.static_value: Any = node.attrs["value"] if node.type == "Const" else False

    @property
    def op(self) -> _Source:
        return self

    definition = property(lambda self: self._node.definition)
    attrs = property(lambda self: self._node.attrs)

    @property
    def inputs(self) -> list[_Source]:
        return [self._refinement.source(output) for output in self._node.inputs]


class _Refinement:
    """The static knowledge about one graph."""

    def __init__(self) -> None:
        self._sources: dict[Output, _Source] = {}

    def source(self, output: Output) -> _Source:
        if output not in self._sources:
            self._sources[output] = _Source(self, *output)
        return self._sources[output]

    def shapes_of(self, node: Node) -> Sequence[Shape]:
        """Returns the shapes of a node's outputs: what was known, and what follows from the inputs."""
        sources = [self.source(output) for output in node.inputs]
        try:
            inferred = node.definition.infer(Inference(node.definition, node.attrs, sources, len(node.dtypes)))
        except Exception:
            return node.shapes  # the values in a branch that is never taken may be inconsistent
        pairs = list(zip(node.shapes, inferred))
        return [merge(*pair) if compatible(*pair) else pair[0] for pair in pairs]


def refine(step: StepGraph) -> None:
    """Gives the nodes of a graph, and of its loops, the most specific shapes that follow from those of its inputs."""
    refinement = _Refinement()
    for node in step.nodes:
        if node.type == "_While":
            _refine_loop(node)
        elif node.inputs:
            node.shapes = refinement.shapes_of(node)


def _refine_loop(loop: Node) -> None:
    """Refines what the body takes from outside; variables keep the shapes that they have in every iteration."""
    count = len(loop.dtypes)
    region = loop.attrs["region"]
    for graph in region.graphs():
        for index, argument in enumerate(graph.feeds):
            shape = loop.input_shape(index) if index >= count else argument.shapes[0]
            argument.shapes = [merge(argument.shapes[0], shape) if compatible(argument.shapes[0], shape) else shape]
        refine(graph)
