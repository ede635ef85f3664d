"""RNN: a layer that applies a cell to each step of sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape, as_shape, compatible
from thalweg._src.graph import nest
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.comparison import logical_or, not_equal
from thalweg._src.graph.ops.reduction import reduce_any
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.rnn import rnn
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.backend.values import batch_set_value
from thalweg._src.keras.backend.variables import zeros as zero_variable
from thalweg._src.keras.engine import call_context, tracking
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.node import has_history
from thalweg._src.keras.engine.operation_layers import with_history
from thalweg._src.keras.engine.tracking import NestedShapes
from thalweg._src.keras.layers import lookup
from thalweg._src.keras.layers.cell_base import DropoutMasks
from thalweg._src.keras.layers.cells import StackedRNNCells
from thalweg._src.keras.layers.stepping import build_cell, call_cell, output_size_of, takes, zero_states
from thalweg._src.keras.places import entry
from thalweg._src.training.checkpoint.trackable import Child, attributes_of, children_of
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.rnn.sizes import NestedTensors

# What a checkpoint leaves out: the states of one batch.
_LEFT_OUT = tracking.UNTRACKED | {"_states"}


@export("keras.layers.RNN")
class RNN(Layer):
    """A recurrent layer: it applies a cell, or several on top of each other, to each step of sequences.

    Args:
        cell: The cell, or a list of cells, each of which takes the output of the one before.
        return_sequences: Whether the outputs of all steps are returned, not the last one alone.
        return_state: Whether the last states are returned after the output.
        go_backwards: Whether the sequences are processed, and returned, from their ends.
        stateful: Whether each batch begins with the last states of the batch before.
        unroll: Whether the graph has each step of its own, not a loop; short sequences take less time so.
        time_major: Whether inputs and outputs are [time, batch, features], not [batch, time, features].
    """

    _object_identifier = "_tf_keras_rnn_layer"

    def __init__(
        self,
        cell: Layer | Sequence[Layer],
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        cell = StackedRNNCells(cell) if isinstance(cell, list | tuple) else cell
        for attribute in ("call", "state_size"):
            if not hasattr(cell, attribute):
                raise ValueError(f"`cell` should have `{attribute}`; received {cell!r}")
        zero_output_for_mask, constants = kwargs.pop("zero_output_for_mask", False), kwargs.pop("num_constants", None)
        if "input_shape" not in kwargs and ("input_dim" in kwargs or "input_length" in kwargs):
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim", None))
        super().__init__(**kwargs)
        self.zero_output_for_mask = zero_output_for_mask
        self.cell: Any = cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.stateful = stateful
        self.unroll = unroll
        self.time_major = time_major
        self.supports_masking = True
        self._num_constants: int | None = constants
        self._constant_shapes: tuple[Any, ...] = ()
        self._states: Any = None

    # -- states -------------------------------------------------------------------------------------------------------

    @property
    def states(self) -> Any:
        """The states that a stateful layer keeps between batches; None for each state of another one."""
        if self._states is not None:
            return self._states
        none = nest.map_structure(lambda _: None, self.cell.state_size)
        return none if nest.is_nested(self.cell.state_size) else [none]

    @states.setter
    def states(self, states: NestedTensors) -> None:
        self._states = states

    @property
    def state_spec(self) -> Any:
        """The shape of each state."""
        return _as_list(nest.map_structure(lambda size: InputSpec(shape=[None, *_sizes(size)]), self.cell.state_size))

    def get_initial_state(self, inputs: NestedTensors) -> list[Any]:
        """Returns the states before the first step: zeros, or what the cell begins with."""
        first = convert_to_tensor(nest.flatten(inputs)[0])
        axis = 1 if self.time_major else 0
        batch = first.shape.as_list()[axis] or shape_of(first)[axis]
        begin = getattr(self.cell, "get_initial_state", None)
        if begin is not None:
            return _as_list(begin(inputs=None, batch_size=batch, dtype=first.dtype))
        return _as_list(zero_states(self.cell.state_size, None, batch, first.dtype))

    def reset_states(self, states: NestedTensors = None) -> None:
        """Sets the states that the layer keeps between batches to zeros, or to given arrays."""
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        batch = self._batch_size()
        if self._states is None:
            make = [zero_variable([batch, *sizes], self._dtype or floatx()) for sizes in self._state_sizes()]
            self._states = _as_list(self._packed(make))
        variables = nest.flatten(self._states)
        arrays = (
            [np.zeros(variable.shape.as_list()) for variable in variables] if states is None else nest.flatten(states)
        )
        if len(arrays) != len(variables):
            raise ValueError(
                f"Layer {self.name} expects {len(variables)} states, "
                f"but it received {len(arrays)} state values: {states}"
            )
        for index, (value, state) in enumerate(zip(arrays, variables)):
            if tuple(np.shape(value)) != tuple(state.shape.as_list()):
                raise ValueError(
                    f"State {index} is incompatible with layer {self.name}: expected shape={state.shape}, "
                    f"found shape={np.shape(value)}"
                )
        batch_set_value(list(zip(variables, arrays)))

    def _batch_size(self) -> int:
        """Returns the number of examples of the batches of a stateful layer."""
        spec = None if self.input_spec is None else nest.flatten(self.input_spec)[0]
        shape = None if spec is None or spec.shape is None else _sizes(spec.shape)
        batch = None if shape is None else shape[1 if self.time_major else 0]
        if batch is None:
            raise ValueError(
                "If a RNN is stateful, it needs to know its batch size: give `batch_input_shape` to the first layer of "
                "a Sequential model, or `batch_shape` to `Input`."
            )
        return int(batch)

    def _state_sizes(self) -> list[list[Any]]:
        """Returns the shapes of the states without the batch."""
        return [_sizes(size) for size in nest.flatten(self.cell.state_size)]

    def _packed(self, states: NestedTensors) -> Any:
        """Returns states in the structure of those of the cell."""
        return nest.pack_sequence_as(self.cell.state_size, nest.flatten(states))

    # -- calls --------------------------------------------------------------------------------------------------------

    def build(self, input_shape: NestedShapes) -> None:
        """Creates the variables of the cell."""
        sequence_shape = input_shape
        if isinstance(sequence_shape, list) and not tracking.is_shape(sequence_shape):
            sequence_shape = sequence_shape[0]  # the states follow
        specs = nest.flatten(tracking.map_shapes(self._input_spec_of, sequence_shape))
        extra = self.input_spec[len(specs) :] if isinstance(self.input_spec, list) else []
        self.input_spec = [*specs, *extra]
        step = tracking.map_shapes(lambda shape: self._step_shape(shape.as_list()), sequence_shape)
        build_cell(self.cell, step, self._constant_shapes, self._dtype)
        if self.stateful:
            self.reset_states()
        self.built = True

    def _input_spec_of(self, shape: TensorShape) -> InputSpec:
        sizes = shape.as_list()
        sizes[0 if self.time_major else 1] = None
        if not self.stateful:
            sizes[1 if self.time_major else 0] = None
        return InputSpec(shape=tuple(sizes))

    def _step_shape(self, sizes: list[Any]) -> tuple[Any, ...]:
        return (sizes[1 if self.time_major else 0], *sizes[2:])

    def __call__(
        self, inputs: NestedTensors, initial_state: NestedTensors = None, constants: NestedTensors = None, **kwargs: Any
    ) -> Any:
        """Applies the layer; states and constants that layers have returned become inputs of it."""
        inputs, initial_state, constants = separated(inputs, initial_state, constants, self._num_constants)
        if constants is not None:
            self._num_constants = len(constants)
            self._constant_shapes = tuple(tuple(_sizes(constant.shape)) for constant in constants)
        extra = nest.flatten([initial_state or [], constants or []])
        if not joins_graph(extra):
            recurrent_arguments = {"initial_state": initial_state, "constants": constants}
            return super().__call__(
                inputs, **kwargs, **{key: value for key, value in recurrent_arguments.items() if value is not None}
            )
        count = len(nest.flatten(inputs))
        specs = self.input_spec if isinstance(self.input_spec, list) else [self.input_spec] * count
        self.input_spec = [*specs[:count], *[None] * len(extra)]
        try:
            return super().__call__([inputs, *extra], **kwargs)
        finally:
            self.input_spec = self.input_spec[:count]

    def call(
        self,
        inputs: NestedTensors,
        mask: NestedTensors = None,
        training: TensorLike | None = None,
        initial_state: NestedTensors = None,
        constants: NestedTensors = None,
    ) -> Any:
        """Returns the last output, or all outputs, and the last states if they are asked for."""
        inputs, initial_state, constants = separated(inputs, initial_state, constants, self._num_constants)
        state = self._first_state(inputs, initial_state)
        reset_masks(self.cell)
        mask = None if mask is None else nest.flatten(mask)[0]
        if constants is not None and not takes(self.cell, "constants"):
            raise ValueError("RNN cell does not support constants")
        last, outputs, states = rnn(
            lambda x, states: self._step(x, states, len(constants or ()), training),
            inputs,
            state,
            go_backwards=self.go_backwards,
            mask=mask,
            constants=constants,
            unroll=self.unroll and self._is_unrolled(inputs),
            time_major=self.time_major,
            zero_output_for_mask=self.zero_output_for_mask,
        )
        if self.stateful:
            pairs = zip(nest.flatten(self._states), nest.flatten(states))
            self.add_update([variable.assign(value, read_value=False) for variable, value in pairs])
        output = outputs if self.return_sequences else last
        return [*(output if isinstance(output, list) else [output]), *states] if self.return_state else output

    def _step(
        self, x: TensorLike, states: tuple[Any, ...], num_constants: int, training: TensorLike | None
    ) -> tuple[Any, Any]:
        count = len(states) - num_constants
        return call_cell(self.cell, x, states[:count], training, states[count:] if num_constants else None)

    def _is_unrolled(self, inputs: NestedTensors) -> bool:
        first = nest.flatten(inputs)[0]
        if first.shape.as_list()[0 if self.time_major else 1] is None:
            raise ValueError(
                "Cannot unroll a RNN if the time dimension is undefined: give the number of steps in `input_shape` of "
                "the first layer of a Sequential model, or in `shape` of `Input`."
            )
        return True

    def _first_state(self, inputs: NestedTensors, initial_state: NestedTensors) -> list[Any]:
        """Returns the states before the first step: given ones, those of the last batch, or zeros."""
        if initial_state is None:
            return self._states if self.stateful else self.get_initial_state(inputs)
        states, sizes = [convert_to_tensor(tensor) for tensor in nest.flatten(initial_state)], self._state_sizes()
        if len(states) != len(sizes):
            raise ValueError(
                f"Layer has {len(sizes)} states but was passed {len(states)} initial states: {initial_state}"
            )
        for state, spec in zip(states, nest.flatten(self.state_spec)):
            if state.dims is not None and not compatible(state.dims, as_shape(spec.shape)):
                raise ValueError(
                    "An `initial_state` was passed that is not compatible with `cell.state_size`: expected shape "
                    f"{as_shape(spec.shape)}, received {state}"
                )
        if self.stateful:  # given states count for the first batch only
            last_states = [convert_to_tensor(tensor) for tensor in nest.flatten(self._states)]
            is_set = reduce(logical_or, [reduce_any(not_equal(tensor, 0)) for tensor in last_states])
            states = nest.flatten(cond(is_set, lambda: last_states, lambda: states))
        return _as_list(self._packed(states))

    def compute_mask(self, inputs: NestedTensors, mask: NestedTensors = None) -> Any:
        """Returns the mask of the outputs: that of the inputs if they are sequences, None for states."""
        output_mask = nest.flatten(mask)[0] if self.return_sequences else None
        return [output_mask, *(None for _ in nest.flatten(self.states))] if self.return_state else output_mask

    def compute_output_shape(self, input_shape: NestedShapes) -> Any:
        """Returns the shape of the outputs, and those of the states if they are asked for."""
        if isinstance(input_shape, list) and not tracking.is_shape(input_shape):
            input_shape = input_shape[0]
        leaves: list[Any] = []
        tracking.map_shapes(leaves.append, input_shape)
        sizes = leaves[0].as_list()
        batch, steps = (sizes[1], sizes[0]) if self.time_major else (sizes[0], sizes[1])
        ahead = ([steps, batch] if self.time_major else [batch, steps]) if self.return_sequences else [batch]
        output = nest.map_structure(lambda size: TensorShape([*ahead, *_sizes(size)]), output_size_of(self.cell))
        return (
            [output, *(TensorShape([batch, *state_sizes]) for state_sizes in self._state_sizes())]
            if self.return_state
            else output
        )

    # -- descriptions -------------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = {
            **super().get_config(),
            "return_sequences": self.return_sequences,
            "return_state": self.return_state,
            "go_backwards": self.go_backwards,
            "stateful": self.stateful,
            "unroll": self.unroll,
            "time_major": self.time_major,
            "cell": lookup.serialize(self.cell),
        }
        if self._num_constants is not None:
            config["num_constants"] = self._num_constants
        if self.zero_output_for_mask:
            config["zero_output_for_mask"] = True
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Returns a layer made from the result of `get_config`."""
        config = dict(config)
        cell = lookup.deserialize(entry(config, "cell"), custom_objects=custom_objects)
        del config["cell"]
        return cls(cell, **config)


def separated(
    inputs: NestedTensors, initial_state: NestedTensors, constants: NestedTensors, num_constants: int | None
) -> tuple[Any, Any, Any]:
    """Returns inputs, states and constants, which may be given as one list."""
    if isinstance(inputs, list):
        if initial_state is not None or constants is not None:
            raise ValueError("states and constants are given twice: in the list of inputs, and as arguments")
        if num_constants:
            inputs, constants = inputs[:-num_constants], inputs[-num_constants:]
        inputs, initial_state = inputs[0], inputs[1:]
    return inputs, _listed(initial_state), _listed(constants)


def _listed(values: NestedTensors) -> Any:
    if values is None or (isinstance(values, list | tuple) and not values):
        return None
    return list(values) if isinstance(values, list | tuple) else [values]


def joins_graph(tensors: list[Any]) -> bool:
    """Returns whether all of some tensors were returned by layers; raises ValueError if only some of them were."""
    if not call_context.is_in_call():
        with_history([tensor for tensor in tensors if isinstance(tensor, Tensor)])
    have_history = {has_history(tensor) for tensor in tensors}
    if len(have_history) > 1:
        raise ValueError(
            "The initial state or constants of a recurrent layer must all be results of layers, or none of them: "
            f"{tensors}"
        )
    return True in have_history


def reset_masks(cell: Layer) -> None:
    """Forgets the dropout masks of a cell and of the cells in it, so that a call makes new ones."""
    if isinstance(cell, DropoutMasks):
        cell.reset_dropout_mask()
        cell.reset_recurrent_dropout_mask()
    for nested in getattr(cell, "_nested", ()):
        reset_masks(nested)


def _sizes(size: Any) -> list[Any]:
    return list(as_shape(size) or ())


def _as_list(states: NestedTensors) -> list[Any]:
    return list(states) if nest.is_nested(states) else [states]


@children_of.register(RNN)
def _children(layer: Layer) -> Iterator[Child]:
    """Yields the attributes of a layer, without the states of a batch."""
    yield from attributes_of(layer, without=_LEFT_OUT)


lookup.LAYERS["RNN"] = RNN
