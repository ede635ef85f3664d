"""Network: layers that form one layer, given by symbolic inputs and outputs or by a `call` of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.graph import nest
from thalweg._src.graph.default import executing_eagerly
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend import state
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.engine import tracking
from thalweg._src.keras.engine.base_layer import Layer, mask_of
from thalweg._src.keras.engine.graph_map import map_graph, require_history
from thalweg._src.keras.engine.node import Node, history_of, node_of
from thalweg._src.keras.engine.operation_layers import with_history
from thalweg._src.keras.engine.persistence import Persistence, children_of_network
from thalweg._src.keras.engine.summary import print_summary
from thalweg._src.keras.engine.tracking import NestedShapes
from thalweg._src.training.checkpoint.trackable import children_of
from thalweg._src.training.nn.layers.base import snake_case
from thalweg._src.training.nn.rnn.sizes import NestedTensors


class Network(Persistence, Layer):
    """A graph of layers, or a subclass whose attributes are layers and whose `call` uses them."""

    _object_identifier = "_tf_keras_model"

    def __init__(
        self, inputs: NestedTensors = None, outputs: NestedTensors = None, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.inputs: Any = None
        self.outputs: Any = None
        self.stop_training = False
        self.optimizer: Any = None
        if inputs is not None and outputs is not None:
            self._make_graph(inputs, outputs)

    def _unique_name(self) -> str:
        return state.unique_object_name(snake_case(type(self).__name__))

    # -- graphs of layers ---------------------------------------------------------------------------------------------

    def _make_graph(self, inputs: NestedTensors, outputs: NestedTensors) -> None:
        """Takes the layers between symbolic inputs and outputs."""
        with state.get_graph().as_default():
            outputs = with_history(outputs)
        self._nested_inputs, self._nested_outputs = inputs, outputs
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        require_history(self.inputs, "Input")
        require_history(self.outputs, "Output")
        if len({id(tensor) for tensor in self.inputs}) != len(self.inputs):
            raise ValueError(f"The list of inputs passed to the model is redundant: {self.inputs}")
        graph_map = map_graph(self.inputs, self.outputs)
        self.graph_nodes = list(graph_map.nodes)
        self._layers[:] = graph_map.layers
        self._is_graph_network = True
        self.built = True
        self.input_names = [history_of(tensor).layer.name for tensor in self.inputs]
        self.output_names = _unique([history_of(tensor).layer.name for tensor in self.outputs])
        self._inbound_nodes = []
        inputs_structure, outputs_structure = self._nested_inputs, self._nested_outputs
        histories = {tensor: history_of(tensor) for tensor in self.outputs}
        Node(self, inputs_structure, outputs_structure, {})
        for tensor, history in histories.items():
            tensor._keras_history = history  # they stay outputs of their own layers

    @property
    def weights(self) -> list[Any]:
        """All variables, layer by layer."""
        direct = [*self._trainable_weights, *self._non_trainable_weights]
        return tracking.distinct([*(weight for layer in self._nested for weight in layer.weights), *direct])

    @property
    def layers(self) -> list[Any]:
        """The layers of the model."""
        return self._nested

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """Returns a layer by its name or its index."""
        if index is not None:
            if index >= len(self.layers):
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model has {len(self.layers)} layers."
                )
            return self.layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    @property
    def input_shape(self) -> Any:
        """The shapes of the inputs."""
        return _single([tuple(tensor.shape.as_list()) for tensor in self._required("inputs")])

    @property
    def output_shape(self) -> Any:
        """The shapes of the outputs."""
        return _single([tuple(tensor.shape.as_list()) for tensor in self._required("outputs")])

    @property
    def input(self) -> Any:
        """The symbolic inputs."""
        return self._nested_inputs if self._is_graph_network else super().input

    @property
    def output(self) -> Any:
        """The symbolic outputs."""
        return self._nested_outputs if self._is_graph_network else super().output

    def _required(self, what: str) -> list[Any]:
        tensors = getattr(self, what)
        if tensors is None:
            raise AttributeError(f"Model {self.name!r} has no defined {what}: it was never called.")
        return list(tensors)

    # -- calls --------------------------------------------------------------------------------------------------------

    def build(self, input_shape: NestedShapes) -> None:
        """Creates the variables of the layers, given the shape of the inputs."""
        if self._is_graph_network or self.built:
            return
        if input_shape is None:
            raise ValueError("Input shape must be defined when calling build on a model subclass network.")
        self.built = True  # the call below does not come back
        graph = state.get_graph()
        kind = dtypes.as_dtype(self._dtype or floatx())
        with graph.as_default():
            make: Callable[[Any], Tensor] = lambda shape: graph.create_op(  # noqa: E731
                "Placeholder", [], attrs={"dtype": kind, "shape": shape.as_list()}
            ).outputs[0]
            symbols = tracking.map_shapes(make, input_shape)
            self.call(symbols, **{"training": False} if self.takes_argument("training") else {})

    def _build_for(self, inputs: NestedTensors, flat: list[Any]) -> None:
        """Notes that there are inputs: the layers of a subclass create their variables when they are called."""
        if self._dtype is None and flat and isinstance(flat[0], Tensor):
            self._dtype = flat[0].dtype.base_dtype.name
        if type(self).build is not Network.build:
            super()._build_for(inputs, flat)
        self.built = True

    def call(self, inputs: NestedTensors, training: TensorLike | None = None, mask: NestedTensors = None) -> Any:
        """Calls the layers of the graph with other inputs."""
        if not self._is_graph_network:
            raise NotImplementedError(f"{type(self).__name__} is a model without a graph: it needs a method `call`")
        flat = nest.flatten(inputs)
        if isinstance(inputs, dict) and not isinstance(self._nested_inputs, dict):
            flat = [inputs[name] for name in self.input_names]
        if len(flat) != len(self.inputs):
            raise ValueError(f"Model {self.name!r} expects {len(self.inputs)} inputs, received {len(flat)}")
        values: dict[Tensor, Any] = dict(zip(self.inputs, flat))
        for tensor, tensor_mask in zip(flat, nest.flatten(mask) if mask is not None else ()):
            tensor._keras_mask = tensor_mask
        for node in self.graph_nodes:
            if all(tensor in values for tensor in node.output_tensors):
                continue
            node_inputs, arguments = node.with_inputs(values)
            if node.layer.takes_argument("training"):
                arguments.setdefault("training", training)
            outputs = nest.flatten(node.layer(node_inputs, **arguments))
            values.update(zip(node.output_tensors, outputs))
        return nest.map_structure(lambda tensor: values[tensor], self._nested_outputs)

    def compute_mask(self, inputs: NestedTensors, mask: NestedTensors = None) -> Any:
        """Returns the masks that the layers of the graph have set."""
        return None if not self._is_graph_network else [mask_of(tensor) for tensor in self.outputs]

    def _set_masks(
        self, inputs: NestedTensors, flat: list[Any], outputs: NestedTensors, arguments: dict[str, Any]
    ) -> None:
        """Leaves the masks as the layers have set them."""

    # -- state --------------------------------------------------------------------------------------------------------

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        """Whether a layer keeps state between batches."""
        return any(getattr(layer, "stateful", False) for layer in self._nested)

    def reset_states(self) -> None:
        """Resets the state of layers that keep it between batches."""
        for layer in self._nested:
            if getattr(layer, "stateful", False) and hasattr(layer, "reset_states"):
                layer.reset_states()

    @property
    def state_updates(self) -> list[Any]:
        """The updates of layers that keep state between batches."""
        return [update for layer in self._nested if getattr(layer, "stateful", False) for update in layer.updates]

    def add_loss(self, losses: NestedTensors, inputs: NestedTensors = None) -> None:
        """Adds losses: tensors, or functions that return one; a symbolic tensor becomes a part of the graph."""
        if executing_eagerly() and self._is_graph_network:
            for loss in losses if isinstance(losses, list | tuple) else [losses]:
                if isinstance(loss, Tensor) and not loss.is_eager:
                    self._add_symbolic_loss(loss)
                else:
                    super().add_loss(loss)
            return
        super().add_loss(losses, inputs)

    def _add_symbolic_loss(self, loss: Tensor) -> None:
        layer = _AddLoss()
        layer(loss)
        self.graph_nodes = [*self.graph_nodes, *_missing(layer._inbound_nodes[0], self.graph_nodes, set(self.inputs))]
        self._layers += [
            node.layer for node in self.graph_nodes if not any(node.layer is other for other in self._layers)
        ]

    def summary(
        self,
        line_length: int | None = None,
        positions: Sequence[float] | None = None,
        print_fn: Callable[[str], Any] | None = None,
    ) -> None:
        """Prints the layers with their output shapes and numbers of parameters."""
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or calling `fit()` with "
                "some data, or specify an `input_shape` argument in the first layer(s) for automatic build."
            )
        print_summary(self, line_length, positions, print_fn)


children_of.register(Network)(children_of_network)


class _AddLoss(Layer):
    """Adds its input to the losses of the model."""

    def call(self, inputs: NestedTensors, *args: Any, **kwargs: Any) -> Any:
        self.add_loss(inputs)
        return inputs


def _missing(node: Node, nodes: list[Node], inputs: set[Tensor]) -> list[Node]:
    """Returns the calls that one depends on and that a model does not have, and that call itself."""
    if any(node is other for other in nodes):
        return []
    before = [
        ancestor
        for tensor in node.input_tensors
        if tensor not in inputs
        for ancestor in _missing(node_of(tensor), nodes, inputs)
    ]
    return [*before, node]


def _single(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _unique(names: list[str]) -> list[str]:
    """Returns names in which repeated ones have a number."""
    counts: dict[str, int] = {}
    unique_names = []
    for name in names:
        unique_names.append(f"{name}_{counts[name]}" if name in counts else name)
        counts[name] = counts.get(name, 0) + 1
    return unique_names
