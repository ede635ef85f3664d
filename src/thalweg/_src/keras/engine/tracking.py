"""Tracking: what belongs to a layer and to the layers inside of it: weights, losses, updates and metrics."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from thalweg._src.base.errors import require_members
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, executing_eagerly_outside_functions, get_default_graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.keras.engine import call_context
from thalweg._src.training.nn.layers.base import Layer as PlainLayer, _depends
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.variables.distribution import current_mode
from thalweg._src.training.variables.variables import Variable

# The shape of a tensor, or lists and dictionaries of shapes in the form that the inputs of a layer have.
NestedShapes: TypeAlias = Any

# Attributes that refer to parts which are found by other names.
UNTRACKED = frozenset(
    (
        *("_trainable_weights", "_non_trainable_weights", "_losses", "_updates", "_calls", "_named_weights"),
        *("_layers", "_metrics", "_callable_losses", "_inbound_nodes", "_outbound_nodes", "_evaluated"),
        "compile_arguments",
        "_compiled_trainable",
    )
)


class Tracking:
    """What belongs to a layer; layers and variables become parts of it when they become its attributes."""

    name: str
    stateful: bool
    _trainable_weights: list[Any]
    _non_trainable_weights: list[Any]
    _losses: list[Any]
    _updates: list[Operation]
    _inbound_nodes: list[Any]
    _layers: list[Any]
    _metrics: list[Any]
    _callable_losses: list[Callable[[], Any]]
    _evaluated: weakref.WeakKeyDictionary[Any, dict[tuple[int, int | None], Any]]
    _trainable: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        layer = super().__new__(cls)
        layer._layers = []  # layers, and lists and dictionaries of them
        layer._metrics = []
        layer._callable_losses = []
        layer._evaluated = weakref.WeakKeyDictionary()  # by graph, the losses that functions have returned
        layer._trainable = True
        return layer

    def __setattr__(self, name: str, value: object) -> None:
        if name not in UNTRACKED and "_layers" in self.__dict__:
            self._forget(self.__dict__.get(name))
            self._track(value)
        super().__setattr__(name, value)

    def _forget(self, value: object) -> None:
        """Drops what was an attribute before."""
        if isinstance(value, PlainLayer | list | dict | tuple):
            self._layers[:] = [attribute for attribute in self._layers if attribute is not value]
            self._metrics[:] = [metric for metric in self._metrics if metric is not value]

    def _track(self, value: object) -> None:
        if isinstance(value, Variable):
            weights = self._trainable_weights if value.trainable else self._non_trainable_weights
            if not any(value is tracked for tracked in (*self._trainable_weights, *self._non_trainable_weights)):
                weights.append(value)
        elif getattr(value, "_is_metric", False):
            if not any(value is tracked for tracked in self._metrics):
                self._metrics.append(value)
        elif isinstance(value, PlainLayer) or (isinstance(value, list | dict | tuple) and any(_layers_in(value))):
            if not any(value is tracked for tracked in self._layers):
                self._layers.append(value)
        elif isinstance(value, list | dict) and not value:  # layers may be added to it later
            self._layers.append(value)

    @property
    def _nested(self) -> list[Any]:
        """The layers that are parts of this one, without their own parts."""
        layers: dict[int, Any] = {}
        for attribute in self._layers:
            for layer in _layers_in(attribute):
                layers.setdefault(id(layer), layer)
        return list(layers.values())

    # -- weights ------------------------------------------------------------------------------------------------------

    @property
    def trainable(self) -> bool:
        """Whether the variables are trained."""
        return bool(self._trainable)

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self._nested:
            layer.trainable = value

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""
        if not self.trainable:
            return []
        return distinct([*self._trainable_weights, *(w for layer in self._nested for w in layer.trainable_weights)])

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that are not trained."""
        if not self.trainable:
            direct = [*self._trainable_weights, *self._non_trainable_weights]
            return distinct([*direct, *(w for layer in self._nested for w in layer.weights)])
        return distinct(
            [*self._non_trainable_weights, *(w for layer in self._nested for w in layer.non_trainable_weights)]
        )

    def _trainable_state(self) -> list[tuple[Any, bool]]:
        """Returns this layer and all layers in it, each with whether it is trained."""
        nested = [state for layer in self._nested if isinstance(layer, Tracking) for state in layer._trainable_state()]
        return [(self, self._trainable), *nested]

    @property
    def weights(self) -> list[Any]:
        """All variables, the trainable ones first."""
        return distinct([*self.trainable_weights, *self.non_trainable_weights])

    trainable_variables = ReadOnly[list[Any]]("The variables that are trained.", "trainable_weights")
    non_trainable_variables = ReadOnly[list[Any]]("The variables that are not trained.", "non_trainable_weights")
    variables = ReadOnly[list[Any]]("All variables, the trainable ones first.", "weights")

    # -- losses -------------------------------------------------------------------------------------------------------

    def _begin_call(self) -> None:
        """Forgets the losses of the last call, in eager execution and functions."""
        if executing_eagerly_outside_functions() and not call_context.is_in_call():
            self._clear_losses()

    def _clear_losses(self) -> None:
        self._losses = []
        for layer in self._nested:
            if isinstance(layer, Tracking):
                layer._clear_losses()

    def add_loss(self, losses: NestedTensors, inputs: NestedTensors = None) -> None:
        """Adds losses: tensors, or functions that return one."""
        for loss in losses if isinstance(losses, list | tuple) else [losses]:
            if callable(loss):
                self._callable_losses.append(loss)
            elif loss is not None:
                self._losses.append(convert_to_tensor(loss))

    @property
    def losses(self) -> list[Tensor]:
        """The losses of this layer and the layers in it."""
        direct = [
            *self._losses,
            *(value for loss in self._callable_losses if (value := self._value_of(loss)) is not None),
        ]
        return [*direct, *(loss for layer in self._nested for loss in layer.losses)]

    def _value_of(self, loss: Callable[[], Any]) -> Any:
        """Returns the value of a function that returns a loss; a graph has it once for each replica of a strategy."""
        if executing_eagerly_outside_functions():
            return loss()
        values = self._evaluated.setdefault(get_default_graph(), {})
        mode = current_mode()
        key = id(loss), None if mode is None else mode.copy
        if key not in values:
            values[key] = loss()
        return values[key]

    def get_losses_for(self, inputs: NestedTensors) -> list[Tensor]:
        """Returns the losses that depend on the inputs; for None, those that depend on no input."""
        if executing_eagerly():
            return self.losses if inputs is None else []
        return [loss for loss in self.losses if self._is_for(loss.op, inputs)]

    # -- updates and metrics ------------------------------------------------------------------------------------------

    def add_update(self, updates: NestedTensors, inputs: NestedTensors = None) -> None:
        """Adds operations that run with each training step."""
        for update in updates if isinstance(updates, list | tuple) else [updates]:
            operation = update() if callable(update) else update
            if operation is not None and not executing_eagerly_outside_functions():
                self._updates.append(operation if isinstance(operation, Operation) else operation.op)

    @property
    def updates(self) -> list[Operation]:
        """The update operations of this layer and the layers in it."""
        if not self.trainable and not self.stateful:
            return []
        return [*self._updates, *(update for layer in self._nested for update in layer.updates)]

    def get_updates_for(self, inputs: NestedTensors) -> list[Operation]:
        """Returns the updates that depend on the inputs; for None, those that depend on no input."""
        return [update for update in self.updates if self._is_for(update, inputs)]

    def _is_for(self, operation: Operation, inputs: NestedTensors) -> bool:
        if inputs is not None:
            return _depends(operation, set(nest.flatten(inputs)))
        return not _depends(operation, self._call_inputs())

    def _call_inputs(self) -> set[Any]:
        """Returns the inputs of all calls of this layer and of the layers in it, such as a model inside of a model."""
        direct = {tensor for node in self._inbound_nodes for tensor in nest.flatten(node.inputs)}
        return direct.union(*(layer._call_inputs() for layer in self._nested if isinstance(layer, Tracking)))

    @property
    def metrics(self) -> list[Any]:
        """The metrics of this layer and the layers in it."""
        return [*self._metrics, *(m for layer in self._nested if isinstance(layer, Tracking) for m in layer.metrics)]

    # -- calls --------------------------------------------------------------------------------------------------------

    def _at(self, node_index: int, which: int, what: str) -> Any:
        nodes = self._inbound_nodes
        if not nodes:
            raise RuntimeError(f"The layer has never been called and thus has no defined {what}.")
        if not 0 <= node_index < len(nodes):
            raise ValueError(
                f"Asked to get {what} at node {node_index}, but the layer has only {len(nodes)} inbound nodes."
            )
        return nodes[node_index].outputs if which else nodes[node_index].inputs

    def _only(self, which: int, what: str) -> Any:
        nodes = self._inbound_nodes
        if not nodes:
            raise AttributeError(f"Layer {self.name} is not connected, no {what} to return.")
        if len(nodes) > 1:
            raise AttributeError(
                f'Layer {self.name} has multiple inbound nodes, hence the notion of "layer {what}" is ill-defined. '
                f"Use `get_{what}_at(node_index)` instead."
            )
        return nodes[0].outputs if which else nodes[0].inputs


def _layers_in(value: object) -> Iterator[Any]:
    """Yields the layers in a list or dictionary, or the layer itself."""
    if isinstance(value, PlainLayer):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _layers_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _layers_in(item)


def distinct(values: list[Any]) -> list[Any]:
    """Returns values in their order, each once."""
    return list({id(value): value for value in values}.values())


def is_shape(value: object) -> bool:
    """Returns whether a value is the shape of one tensor: sizes and None."""
    if isinstance(value, TensorShape):
        return True
    return isinstance(value, list | tuple) and all(size is None or isinstance(size, int) for size in value)


def map_shapes(function: Callable[[Any], Any], shapes: NestedShapes) -> Any:
    """Applies a function to each shape in a structure."""
    if is_shape(shapes):
        return function(TensorShape(shapes))
    if isinstance(shapes, dict):
        return {key: map_shapes(function, shape) for key, shape in shapes.items()}
    return type(shapes)(map_shapes(function, shape) for shape in shapes)


def shapes_of(tensors: NestedTensors) -> Any:
    """Returns the shapes of tensors, in their structure."""
    for tensor in nest.flatten(tensors):
        require_members("inputs", tensor, "tensors", "shape")
    return nest.map_structure(lambda tensor: tensor.shape, tensors)
