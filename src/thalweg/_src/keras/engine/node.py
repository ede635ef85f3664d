"""Nodes: the calls of layers on symbolic tensors, of which models are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from thalweg._src.base.errors import wrong_kind
from thalweg._src.graph import nest
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.nn.rnn.sizes import NestedTensors

_HISTORY = "_keras_history"


class History(NamedTuple):
    """Where a symbolic tensor comes from: the output of a call of a layer."""

    layer: Any
    node_index: int
    tensor_index: int


class Node:
    """A call of a layer.

    inputs: in their structure
    arguments: the other arguments by name; tensors among them are inputs too
    """

    def __init__(self, layer: Any, inputs: NestedTensors, outputs: NestedTensors, arguments: dict[str, Any]) -> None:
        self.layer = layer
        self.outbound_layer = layer
        self.inputs = inputs
        self.outputs = outputs
        self.arguments = arguments
        self.input_tensors: list[Tensor] = [t for t in nest.flatten([inputs, arguments]) if has_history(t)]
        self.output_tensors: list[Tensor] = nest.flatten(outputs)
        index = len(layer._inbound_nodes)
        layer._inbound_nodes.append(self)
        for number, tensor in enumerate(self.output_tensors):
            tensor._keras_history = History(layer, index, number)  # type: ignore[attr-defined]
        for parent in self.inbound_layers:
            parent._outbound_nodes.append(self)

    @property
    def inbound_nodes(self) -> list[Node]:
        """The calls whose outputs are inputs of this one."""
        return [node_of(tensor) for tensor in self.input_tensors]

    @property
    def inbound_layers(self) -> list[Any]:
        """The layers whose outputs are inputs of this one."""
        return [history_of(tensor).layer for tensor in self.input_tensors]

    def with_inputs(self, values: dict[Tensor, Any]) -> tuple[Any, dict[str, Any]]:
        """Returns inputs and arguments for another call, with other values for symbolic tensors."""
        return nest.map_structure(  # type: ignore[no-any-return]
            lambda leaf: values.get(leaf, leaf) if isinstance(leaf, Tensor) else leaf, (self.inputs, self.arguments)
        )


def has_history(value: object) -> bool:
    """Returns whether a value is a tensor that a layer has returned."""
    return isinstance(value, Tensor) and _HISTORY in getattr(value, "__dict__", ())


def history_of(tensor: Any) -> History:
    """Returns where a symbolic tensor comes from."""
    if not hasattr(tensor, _HISTORY):
        raise wrong_kind("tensor", "a tensor that a Keras layer has returned", tensor)
    history: History = tensor._keras_history
    return history


def node_of(tensor: object) -> Node:
    """Returns the call that has returned a symbolic tensor."""
    layer, node_index, _ = history_of(tensor)
    node: Node = layer._inbound_nodes[node_index]
    return node


def all_have_history(values: Sequence[Any]) -> bool:
    """Returns whether all of some values are tensors that layers have returned."""
    return bool(values) and all(has_history(value) for value in values)
