"""Cells of recurrent layers: what one time step computes from its input and the states before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, as_shape
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph import nest
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.reshape import ones
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import activations
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.engine.tracking import NestedShapes
from thalweg._src.keras.layers import lookup
from thalweg._src.keras.layers.cell_base import OF_LAYER, WeightedCell, recurrent_parameters
from thalweg._src.keras.layers.stepping import build_cell, call_cell, output_size_of, zero_states
from thalweg._src.keras.places import entry
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.nn.rnn.sizes import NestedTensors


@export("keras.layers.AbstractRNNCell")
class AbstractRNNCell(Layer):
    """The base class of cells: `call` takes an input and states, and returns an output and the next states.

    Args:
        name: Name of the layer; by default one of the name of the class.
        dtype: Type of the variables or, of a state, its type if no inputs are given.
        **kwargs: Options of every layer: `name`, `dtype`, `trainable`, `input_shape` ...
    """

    def call(self, inputs: TensorLike, states: NestedTensors) -> Any:
        """Returns the output and the states after a step."""
        raise NotImplementedError(f"{type(self).__name__} defines no call")

    @property
    def state_size(self) -> Any:
        """The size or the shape of each state."""
        raise NotImplementedError(f"{type(self).__name__} defines no state_size")

    @property
    def output_size(self) -> Any:
        """The size or the shape of the output."""
        raise NotImplementedError(f"{type(self).__name__} defines no output_size")

    def get_initial_state(
        self, inputs: TensorLike | None = None, batch_size: TensorLike | None = None, dtype: DTypeLike | None = None
    ) -> Any:
        """Returns states of zeros for a batch."""
        return zero_states(self.state_size, inputs, batch_size, dtype)


class DenseCell(WeightedCell):
    """A cell whose input and state are multiplied by matrices, each for several gates.

    gates: their number
    """

    gates = 1

    def __init__(self, units: int, activation: Identifier, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.units = units
        self.activation = activations.get(activation)
        self.state_size: Any = units
        self.output_size = units

    def build(self, input_shape: NestedShapes) -> None:
        """Creates the kernels and the bias."""
        width, size = self.gates * self.units, (as_shape(input_shape) or (None,))[-1]
        self.add_weights((size, width), (self.units, width), self._bias_shape(), self._bias_start())
        self.built = True

    def _bias_shape(self) -> tuple[int, ...]:
        return (self.gates * self.units,)

    def _bias_start(self) -> Any:
        return self.bias_initializer

    def get_initial_state(
        self, inputs: TensorLike | None = None, batch_size: TensorLike | None = None, dtype: DTypeLike | None = None
    ) -> Any:
        """Returns states of zeros for a batch."""
        return zero_states(self.state_size, inputs, batch_size, dtype)

    def cell_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, without those of all layers."""
        return {
            "units": self.units,
            "activation": activations.serialize(self.activation),
            **super().cell_config(),
        }


def products(x: TensorLike, kernel: Tensor, masks: list[Tensor] | None) -> Tensor:
    """Returns x @ kernel, after dropout with one mask, or with one for each gate of the kernel."""
    if masks is None:
        return matmul(x, kernel)
    if len(masks) == 1:
        return matmul(multiply(x, masks[0]), kernel)
    gate_kernels = split(kernel, len(masks), 1)
    return concat([matmul(multiply(x, mask), gate_kernel) for mask, gate_kernel in zip(masks, gate_kernels)], 1)


@export("keras.layers.SimpleRNNCell")
class SimpleRNNCell(DenseCell):
    """A fully connected cell: its state, which is its output, is activation(x @ kernel + state @ recurrent + bias).

    Args:
        units: Size of the output and of the state.
        dropout: Fraction of the input that is dropped in training, with one mask for all steps.
    """

    @parameters_of(
        recurrent_parameters, without=(*OF_LAYER, "recurrent_activation", "unit_forget_bias", "implementation")
    )
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)

    def call(self, inputs: TensorLike, states: NestedTensors, training: TensorLike | None = None) -> Any:
        """Returns the output and the state after a step."""
        before = states[0]
        h = products(inputs, self.kernel, self.get_dropout_mask_for_cell(inputs, training))
        if self.bias is not None:
            h = bias_add(h, self.bias)
        masks = self.get_recurrent_dropout_mask_for_cell(before, training)
        output = self.activation(h + products(before, self.recurrent_kernel, masks))
        return output, [output]


class GatedCell(DenseCell):
    """A cell with gates.

    implementation: with 1, each gate has a dropout mask of its own
    """

    def __init__(self, recurrent_activation: Identifier, implementation: int, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.implementation = implementation

    def _masks(self, inputs: TensorLike, state: Tensor, training: TensorLike | None) -> tuple[Any, Any]:
        """Returns the dropout masks of the input and of the state."""
        count = self.gates if self.implementation == 1 else 1
        return (
            self.get_dropout_mask_for_cell(inputs, training, count),
            self.get_recurrent_dropout_mask_for_cell(state, training, count),
        )

    def cell_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, without those of all layers."""
        return {
            **super().cell_config(),
            "recurrent_activation": activations.serialize(self.recurrent_activation),
            "implementation": self.implementation,
        }


@export("keras.layers.GRUCell")
class GRUCell(GatedCell):
    """A gated recurrent unit: a gate mixes the state with a candidate, which sees what another gate leaves of it.

    Args:
        units: Size of the output and of the state.
        dropout: Fraction of the input that is dropped in training, with one mask for all steps.
        implementation: 1 gives each gate dropout masks of its own; with 2, one mask is for all of them.
        reset_after: Whether the reset gate is applied after the product with the state, as cuDNN does.
    """

    gates = 3

    @parameters_of(recurrent_parameters, without=(*OF_LAYER, "unit_forget_bias"), before="kwargs")
    def __init__(self, reset_after: bool = False, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.reset_after = reset_after

    def _bias_shape(self) -> tuple[int, ...]:
        """Returns one bias or, if the reset follows the product, one for the input and one for the state."""
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def call(self, inputs: TensorLike, states: NestedTensors, training: TensorLike | None = None) -> Any:
        """Returns the output and the state after a step."""
        before = states[0]
        masks, state_masks = self._masks(inputs, before, training)
        x = products(inputs, self.kernel, masks)
        bias = None if self.bias is None else convert_to_tensor(self.bias)
        if bias is not None:
            x = bias_add(x, bias[0] if self.reset_after else bias)
        if self.reset_after:
            inner = products(before, self.recurrent_kernel, state_masks)
            update, candidate = self._reset_after(x, inner if bias is None else bias_add(inner, bias[1]))
        else:
            update, candidate = self._reset_before(x, before, state_masks)
        output = update * before + (1 - update) * candidate
        return output, [output]

    def _reset_after(self, x: Tensor, inner: Tensor) -> tuple[Any, Any]:
        """Returns the update gate and the candidate, with the reset after the product with the state."""
        (x_gates, x_candidate), (gates, last) = (
            split(layer_class, [2 * self.units, self.units], 1) for layer_class in (x, inner)
        )
        update, reset = split(self.recurrent_activation(x_gates + gates), 2, 1)
        return update, self.activation(x_candidate + reset * last)

    def _reset_before(self, x: Tensor, before: Tensor, masks: list[Tensor] | None) -> tuple[Any, Any]:
        """Returns the update gate and the candidate, with the reset before the product with the state."""
        sizes = [2 * self.units, self.units]
        (x_gates, x_candidate), (gates, last) = split(x, sizes, 1), split(self.recurrent_kernel, sizes, 1)
        first, rest = (masks, masks) if masks is None or len(masks) == 1 else (masks[:2], masks[2:])
        update, reset = split(self.recurrent_activation(x_gates + products(before, gates, first)), 2, 1)
        return update, self.activation(x_candidate + products(reset * before, last, rest))

    def cell_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, without those of all layers."""
        return {**super().cell_config(), "reset_after": self.reset_after}


@export("keras.layers.LSTMCell")
class LSTMCell(GatedCell):
    """A long short-term memory: gates decide what its memory takes from the input, forgets, and shows as the output.

    Args:
        units: Size of the output and of the state.
        dropout: Fraction of the input that is dropped in training, with one mask for all steps.
        implementation: 1 gives each gate dropout masks of its own; with 2, one mask is for all of them.
    """

    gates = 4

    @parameters_of(recurrent_parameters, without=OF_LAYER)
    def __init__(self, unit_forget_bias: bool, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.unit_forget_bias = unit_forget_bias
        self.state_size = [self.units, self.units]

    def _bias_start(self) -> Any:
        return self._unit_forget_bias if self.unit_forget_bias else self.bias_initializer

    def _unit_forget_bias(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        """Returns the first bias: ones for the forget gate, so that the memory keeps what it has."""
        return unit_forget_bias_of(self.bias_initializer, self.units, dtype)

    def call(self, inputs: TensorLike, states: NestedTensors, training: TensorLike | None = None) -> Any:
        """Returns the output, and the output and the memory as states."""
        before, memory = states[0], states[1]
        masks, state_masks = self._masks(inputs, before, training)
        z = products(inputs, self.kernel, masks) + products(before, self.recurrent_kernel, state_masks)
        if self.bias is not None:
            z = bias_add(z, self.bias)
        return lstm_step(split(z, 4, 1), memory, self.activation, self.recurrent_activation)

    def cell_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, without those of all layers."""
        return {**super().cell_config(), "unit_forget_bias": self.unit_forget_bias}


def unit_forget_bias_of(initializer: Callable[..., Tensor], units: int, dtype: Any) -> Tensor:
    """Returns a bias of four gates with ones for the second one, the forget gate."""
    first, rest = initializer([units], dtype=dtype), initializer([2 * units], dtype=dtype)
    return concat([first, ones([units], dtype), rest], 0)


def lstm_step(
    gates: Sequence[Any], memory: Tensor, activation: Callable[..., Tensor], recurrent_activation: Callable[..., Tensor]
) -> tuple[Any, list[Any]]:
    """Returns the output and the states of a long short-term memory, from the inputs of its four gates."""
    taken, remembered, shown = (recurrent_activation(gates[index]) for index in (0, 1, 3))
    memory = remembered * memory + taken * activation(gates[2])
    output = shown * activation(memory)
    return output, [output, memory]


@export("keras.layers.StackedRNNCells")
class StackedRNNCells(Layer):
    """Several cells as one: each takes the output of the one before as its input.

    Args:
        cells: The cells, the one next to the input first.
    """

    def __init__(self, cells: Sequence[Any], **kwargs: Any) -> None:
        for cell in cells:
            for attribute in ("call", "state_size"):
                if not hasattr(cell, attribute):
                    raise ValueError(f"All cells must have `{attribute}`; received {cell!r}")
        self.reverse_state_order = kwargs.pop("reverse_state_order", False)
        super().__init__(**kwargs)
        self.cells = list(cells)

    @property
    def state_size(self) -> tuple[Any, ...]:
        """The sizes of the states of each cell."""
        return tuple(cell.state_size for cell in self._in_order(self.cells))

    @property
    def output_size(self) -> Any:
        """The size of the output of the last cell."""
        return output_size_of(self.cells[-1])

    def _in_order(self, values: Sequence[Any]) -> Sequence[Any]:
        """Returns what belongs to the cells in the order of the states, or the reverse."""
        return values[::-1] if self.reverse_state_order else values

    def get_initial_state(
        self, inputs: TensorLike | None = None, batch_size: TensorLike | None = None, dtype: DTypeLike | None = None
    ) -> Any:
        """Returns states of zeros, or what the cells begin with."""
        states = []
        for cell in self._in_order(self.cells):
            begin = getattr(cell, "get_initial_state", None)
            if begin is not None:
                states.append(begin(inputs=inputs, batch_size=batch_size, dtype=dtype))
            else:
                states.append(zero_states(cell.state_size, inputs, batch_size, dtype))
        return tuple(states)

    def build(self, input_shape: NestedShapes) -> None:
        """Creates the variables of the cells."""
        constants: list[Any] = []
        if isinstance(input_shape, list):
            input_shape, *constants = input_shape
        shape = tuple(as_shape(input_shape) or ())
        for cell in self.cells:
            build_cell(cell, shape, constants, self._dtype)
            shape = (shape[0], *(as_shape(output_size_of(cell)) or ()))
        self.built = True

    def call(
        self,
        inputs: TensorLike,
        states: NestedTensors,
        constants: NestedTensors = None,
        training: TensorLike | None = None,
        **kwargs: Any,
    ) -> Any:
        """Returns the output of the last cell, and the states of all cells."""
        next_states = []
        for cell, before in zip(self.cells, self._in_order(tuple(states))):
            inputs, after = call_cell(cell, inputs, before, training, constants)
            next_states.append(after)
        return inputs, nest.pack_sequence_as(self.state_size, nest.flatten(self._in_order(next_states)))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = {**super().get_config(), "cells": [lookup.serialize(cell) for cell in self.cells]}
        return {**config, "reverse_state_order": True} if self.reverse_state_order else config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Returns a cell made from the result of `get_config`."""
        config = dict(config)
        described = entry(config, "cells", (list, tuple))
        del config["cells"]
        return cls(
            [lookup.deserialize(layer_class, custom_objects=custom_objects) for layer_class in described], **config
        )


lookup.LAYERS.update(
    {layer_class.__name__: layer_class for layer_class in (SimpleRNNCell, GRUCell, LSTMCell, StackedRNNCells)}
)
