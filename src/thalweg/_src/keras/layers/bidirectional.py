"""Bidirectional: a recurrent layer that runs over sequences from both ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from thalweg._src.base.errors import wrong_kind
from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph import nest
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.pad_tile import reverse
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.engine import tracking
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.tracking import NestedShapes
from thalweg._src.keras.layers import lookup
from thalweg._src.keras.layers.recurrent import RNN, joins_graph, separated
from thalweg._src.keras.layers.stepping import build_within, takes
from thalweg._src.keras.layers.wrappers import Wrapper
from thalweg._src.keras.places import at, entry
from thalweg._src.training.checkpoint.trackable import Child, attributes_of, children_of
from thalweg._src.training.nn.rnn.sizes import NestedTensors

_MERGE: dict[str | None, Callable[[Any, Any], Any]] = {
    "sum": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "ave": lambda x, y: (x + y) / 2,
    "concat": lambda x, y: concat([x, y], -1),
    None: lambda x, y: [x, y],
}
# Parts that are found as those of the layers of both directions.
_LEFT_OUT = tracking.UNTRACKED | {"layer"}


@export("keras.layers.Bidirectional")
class Bidirectional(Wrapper):
    """Runs a recurrent layer over sequences forward, and another one backward, and merges their outputs.

    Args:
        layer: The layer that is applied.
        merge_mode: How both outputs are combined: "sum", "mul", "concat", "ave", or None to return both.
        weights: The first values of the weights, those of the forward layer first.
        backward_layer: The layer that runs backward; by default one with the configuration of the other.
    """

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        if merge_mode not in _MERGE:
            raise ValueError(f"Invalid merge mode {merge_mode!r}: expected one of sum, mul, ave, concat and None")
        constants = kwargs.pop("num_constants", None)
        super().__init__(layer, **kwargs)
        self._forget(layer)  # its weights are those of a layer made from it
        self.merge_mode = merge_mode
        self.forward_layer = _copy_of(layer)
        self.backward_layer: Any = _copy_of(layer, True) if backward_layer is None else backward_layer
        self._has_backward_argument = backward_layer is not None
        self._require_directions()
        for directed, direction in ((self.forward_layer, "forward"), (self.backward_layer, "backward")):
            directed._name = f"{direction}_{directed.name}"
            if isinstance(
                directed, RNN
            ):  # the last output of one direction says nothing about a masked step of the other
                directed.zero_output_for_mask = directed.return_sequences
        if weights:
            half = len(weights) // 2
            self.forward_layer._initial_weights = list(weights[:half])
            self.backward_layer._initial_weights = list(weights[half:])
        self.stateful = layer.stateful
        self.return_sequences = layer.return_sequences
        self.return_state = layer.return_state
        self.supports_masking = True
        self.input_spec = layer.input_spec
        self._num_constants: int | None = constants

    def _require_directions(self) -> None:
        """Raises ValueError if both layers run in one direction, or give results of different kinds."""
        forward, backward = self.forward_layer, self.backward_layer
        if not hasattr(backward, "go_backwards"):
            raise ValueError(f"backward_layer: expected a recurrent layer, received {backward!r}")
        if forward.go_backwards == backward.go_backwards:
            raise ValueError("Forward layer and backward layer should have different `go_backwards` value.")
        for key in ("stateful", "return_sequences", "return_state"):
            if getattr(forward, key) != getattr(backward, key):
                raise ValueError(f"Forward layer and backward layer are expected to have the same value for {key}")

    # -- calls --------------------------------------------------------------------------------------------------------

    def build(self, input_shape: NestedShapes = None) -> None:
        """Creates the variables of both layers."""
        for layer in (self.forward_layer, self.backward_layer):
            with name_scope(layer.name):
                build_within(layer, input_shape, self._dtype)
        self.built = True

    def __call__(
        self, inputs: NestedTensors, initial_state: NestedTensors = None, constants: NestedTensors = None, **kwargs: Any
    ) -> Any:
        """Applies the layer; states and constants that layers have returned become inputs of it."""
        inputs, initial_state, constants = separated(inputs, initial_state, constants, self._num_constants)
        if initial_state is not None and len(initial_state) % 2:
            raise ValueError(
                "When passing `initial_state` to a Bidirectional RNN, the state should be a list containing the states "
                f"of the underlying RNNs, those of the forward one first; received {initial_state}"
            )
        if constants is not None:
            self._num_constants = len(constants)
            for layer in (self.forward_layer, self.backward_layer):
                layer._num_constants = len(constants)
                layer._constant_shapes = tuple(tuple(constant.shape.as_list()) for constant in constants)
        extra = nest.flatten([initial_state or [], constants or []])
        if not joins_graph(extra):
            recurrent_arguments = {"initial_state": initial_state, "constants": constants}
            kwargs.update((key, value) for key, value in recurrent_arguments.items() if value is not None)
            return super().__call__(inputs, **kwargs)
        specs, self.input_spec = self.input_spec, None  # the layers themselves check their inputs
        try:
            return super().__call__([inputs, *extra], **kwargs)
        finally:
            self.input_spec = specs

    def call(
        self,
        inputs: NestedTensors,
        training: TensorLike | None = None,
        mask: NestedTensors = None,
        initial_state: NestedTensors = None,
        constants: NestedTensors = None,
    ) -> Any:
        """Returns the merged outputs of both layers, and the states of both if they are asked for."""
        inputs, initial_state, constants = separated(inputs, initial_state, constants, self._num_constants)
        half = 0 if initial_state is None else len(initial_state) // 2
        outputs: list[Any] = []
        for layer, layer_states in ((self.forward_layer, slice(0, half)), (self.backward_layer, slice(half, None))):
            arguments: dict[str, Any] = {"mask": mask if mask is None else nest.flatten(mask)[0]}
            arguments |= {"training": training} if takes(layer, "training") else {}
            arguments |= {"initial_state": initial_state[layer_states]} if initial_state is not None else {}
            arguments |= {"constants": constants} if constants is not None else {}
            outputs.append(layer(inputs, **{key: value for key, value in arguments.items() if value is not None}))
        forward, backward = outputs
        states = [*forward[1:], *backward[1:]] if self.return_state else []
        if self.return_state:
            forward, backward = forward[0], backward[0]
        if self.return_sequences:
            backward = reverse(backward, [0 if getattr(self.forward_layer, "time_major", False) else 1])
        output = _MERGE[self.merge_mode](forward, backward)
        if not self.return_state:
            return output
        return [*(output if self.merge_mode is None else [output]), *states]

    def reset_states(self, states: NestedTensors = None) -> None:
        """Resets the states of both layers to zeros, or to given arrays, those of the forward layer first."""
        half = 0 if states is None else len(states) // 2
        self.forward_layer.reset_states(None if states is None else states[:half])
        self.backward_layer.reset_states(None if states is None else states[half:])

    def compute_mask(self, inputs: NestedTensors, mask: NestedTensors = None) -> Any:
        """Returns the mask of the outputs: that of the inputs if they are sequences, None for states."""
        sequence_mask = nest.flatten(mask)[0] if self.return_sequences else None
        masks = [sequence_mask, sequence_mask] if self.merge_mode is None else [sequence_mask]
        if self.return_state:
            return [*masks, *(None for _ in 2 * nest.flatten(self.forward_layer.states))]
        return masks if self.merge_mode is None else sequence_mask

    def compute_output_shape(self, input_shape: NestedShapes) -> Any:
        """Returns the shape of the merged outputs, and those of the states if they are asked for."""
        first, second = (layer.compute_output_shape(input_shape) for layer in (self.forward_layer, self.backward_layer))
        states = [*first[1:], *second[1:]] if self.return_state else []
        if self.return_state:
            first, second = first[0], second[0]
        if self.merge_mode is None:
            return [first, second, *states]
        if self.merge_mode == "concat":
            first = TensorShape([*first.as_list()[:-1], first.as_list()[-1] + second.as_list()[-1]])
        return [first, *states] if self.return_state else first

    # -- descriptions -------------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = {**super().get_config(), "merge_mode": self.merge_mode}
        if self._num_constants is not None:
            config["num_constants"] = self._num_constants
        if self._has_backward_argument:
            config["backward_layer"] = lookup.serialize(self.backward_layer)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Returns a layer made from the result of `get_config`."""
        config = dict(config)
        backward = config.pop("backward_layer", None)
        if backward is not None:
            with at("backward_layer"):
                inner = entry(backward, "config", dict)
                with at("config"):
                    name = entry(inner, "name", str).removeprefix("backward_")
                backward = {**backward, "config": {**inner, "name": name}}
                config["backward_layer"] = lookup.deserialize(backward, custom_objects=custom_objects)
        return super().from_config(config, custom_objects)


def _copy_of(layer: Layer, backwards: bool = False) -> Any:
    """Returns a layer with the configuration of another one; optionally one that runs in the other direction."""
    config = layer.get_config()
    if backwards:
        if "go_backwards" not in config:
            raise wrong_kind("layer", "a recurrent layer, which can go backwards", layer)
        config["go_backwards"] = not config["go_backwards"]
    if isinstance(layer, RNN) and "cell" in config:
        custom = {type(cell).__name__: type(cell) for cell in (layer.cell, *getattr(layer.cell, "cells", ()))}
        return type(layer).from_config(config, custom_objects=custom)
    return type(layer).from_config(config)


@children_of.register(Bidirectional)
def _children(layer: Layer) -> Iterator[Child]:
    """Yields the attributes of a layer, without the one that those of both directions were made from."""
    yield from attributes_of(layer, without=_LEFT_OUT)


lookup.LAYERS["Bidirectional"] = Bidirectional
