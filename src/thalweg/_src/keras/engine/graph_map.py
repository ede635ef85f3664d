"""The graph of a model: the calls of layers between its inputs and its outputs, by depth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.engine.node import Node, has_history, node_of
from thalweg._src.training.nn.rnn.sizes import NestedTensors


class GraphModel(Protocol):
    """A model, whose graph is known if layers connect its inputs and outputs.

    graph_nodes: the calls of that graph, from the inputs to the outputs
    """

    inputs: list[Tensor]
    outputs: list[Tensor]
    input_names: list[str]
    output_names: list[str]
    graph_nodes: list[Node]
    _is_graph_network: bool

    @property
    def name(self) -> str:
        """The name of the model, which is a layer too."""

    @property
    def layers(self) -> list[Any]:
        """The layers of the model."""

    @property
    def weights(self) -> list[Any]:
        """All variables, layer by layer."""

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that are not trained."""

    @property
    def losses(self) -> list[Tensor]:
        """The losses that layers have added."""

    @property
    def metrics(self) -> list[Any]:
        """The metrics that layers have added."""

    def get_losses_for(self, inputs: NestedTensors) -> list[Tensor]:
        """Returns the losses that depend on the inputs; for None, those that depend on no input."""

    def get_config(self) -> dict[str, Any]:
        """Returns the description of the model."""


@dataclass(frozen=True, slots=True)
class GraphMap:
    """The calls of a model.

    nodes: from the inputs to the outputs
    layers: in the order of their depth, those that are farthest from the outputs first
    """

    nodes: Sequence[Node]
    layers: Sequence[Any]


def map_graph(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> GraphMap:
    """Returns the calls and layers between inputs and outputs."""
    ends = {node_of(tensor) for tensor in inputs}
    order, numbers = _visit(outputs, ends)
    depths = _depths(order, ends)
    layer_depths: dict[Any, int] = {}
    for node, depth in depths.items():
        layer_depths[node.layer] = max(depth, layer_depths.get(node.layer, 0))
    for tensor in inputs:  # an input that nothing uses
        layer_depths.setdefault(node_of(tensor).layer, 0)
        depths.setdefault(node_of(tensor), 0)
        numbers.setdefault(node_of(tensor).layer, len(numbers))
    layers = sorted(layer_depths, key=lambda layer: (-layer_depths[layer], numbers[layer]))
    nodes = sorted(depths, key=lambda node: -depths[node])
    _require_reachable(nodes, inputs, outputs)
    _require_names(layers)
    return GraphMap(nodes, layers)


def _visit(outputs: Sequence[Tensor], ends: set[Node]) -> tuple[list[Node], dict[Any, int]]:
    """Returns the calls that outputs depend on, each after those that it depends on, and the layers in their order."""
    order: list[Node] = []
    numbers: dict[Any, int] = {}
    done: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(node_of(tensor), False) for tensor in reversed(outputs)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            order.append(node)
        elif node not in done:
            done.add(node)
            numbers.setdefault(node.layer, len(numbers))
            stack.append((node, True))
            if node not in ends:
                stack += [(before, False) for before in reversed(node.inbound_nodes)]
    return order, numbers


def _depths(order: Sequence[Node], ends: set[Node]) -> dict[Node, int]:
    """Returns how far each call is from the outputs; all calls of a layer count as far as the farthest one."""
    depths: dict[Node, int] = {}
    layer_depths: dict[Any, int] = {}
    for node in reversed(order):
        depth = max(depths.get(node, 0), layer_depths.get(node.layer, 0))
        depths[node] = layer_depths[node.layer] = depth
        for before in node.inbound_nodes if node not in ends else ():
            depths[before] = max(depth + 1, depths.get(before, 0))
    return depths


def _require_reachable(nodes: Sequence[Node], inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
    reachable = set(inputs)
    for node in nodes:
        if all(tensor in reachable for tensor in node.output_tensors):
            continue
        for tensor in node.input_tensors:
            if tensor not in reachable:
                raise ValueError(
                    f"Graph disconnected: cannot obtain value for tensor {tensor} at layer {node.layer.name!r}. It "
                    "does not depend on the inputs of the model alone; add what it depends on to them."
                )
        if not node.input_tensors:
            raise ValueError(f"Graph disconnected: the input {node.layer.name!r} is not among the inputs of the model.")
        reachable.update(node.output_tensors)
    assert all(tensor in reachable for tensor in outputs)


def _require_names(layers: Sequence[Any]) -> None:
    seen: set[str] = set()
    for layer in layers:
        if layer.name in seen:
            raise ValueError(
                f"The name {layer.name!r} is used by several layers of the model. All layer names should be unique."
            )
        seen.add(layer.name)


def require_history(tensors: Sequence[Any], what: str) -> None:
    """Raises an error if a tensor was not returned by a layer."""
    for tensor in tensors:
        if not has_history(tensor):
            raise ValueError(
                f"{what} tensors to a Model must be the output of a layer (thus holding past layer metadata), or of "
                f"`tf.keras.Input`. Found: {tensor}"
            )
