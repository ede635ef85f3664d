"""SimpleRNN, GRU and LSTM: recurrent layers with a cell of their own."""

from __future__ import annotations

import inspect
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.signatures import parameters_of
from thalweg._src.keras import regularizers
from thalweg._src.keras.layers import lookup
from thalweg._src.keras.layers.cell_base import WeightedCell, recurrent_parameters
from thalweg._src.keras.layers.cells import GRUCell, LSTMCell, SimpleRNNCell
from thalweg._src.keras.layers.recurrent import RNN
from thalweg._src.training.nn.layers.input_spec import InputSpec


class LayerOfCell(RNN):
    """A recurrent layer that makes its cell, and has its properties.

    arguments: those of the constructor, of which some are the cell's
    """

    def __init__(self, cell_class: type[WeightedCell], **arguments: Any) -> None:
        names = inspect.signature(cell_class.__init__).parameters
        of_cell = {name: arguments.pop(name) for name in names if name in arguments}
        cell = cell_class(**of_cell, dtype=arguments.get("dtype"), trainable=arguments.get("trainable", True))
        super().__init__(cell, **arguments)
        self.input_spec = [InputSpec(ndim=3)]

    units = ReadOnly[int]("The size of the output.", "cell.units")
    activation = ReadOnly[Any]("The function of the output.", "cell.activation")
    use_bias = ReadOnly[bool]("Whether a bias is added.", "cell.use_bias")
    kernel_initializer = ReadOnly[Any]("The initializer of the kernel.", "cell.kernel_initializer")
    recurrent_initializer = ReadOnly[Any]("The initializer of the recurrent kernel.", "cell.recurrent_initializer")
    bias_initializer = ReadOnly[Any]("The initializer of the bias.", "cell.bias_initializer")
    kernel_regularizer = ReadOnly[Any]("The penalty of the kernel.", "cell.kernel_regularizer")
    recurrent_regularizer = ReadOnly[Any]("The penalty of the recurrent kernel.", "cell.recurrent_regularizer")
    bias_regularizer = ReadOnly[Any]("The penalty of the bias.", "cell.bias_regularizer")
    kernel_constraint = ReadOnly[Any]("The constraint of the kernel.", "cell.kernel_constraint")
    recurrent_constraint = ReadOnly[Any]("The constraint of the recurrent kernel.", "cell.recurrent_constraint")
    bias_constraint = ReadOnly[Any]("The constraint of the bias.", "cell.bias_constraint")
    dropout = ReadOnly[float]("The fraction of the input that is dropped.", "cell.dropout")
    recurrent_dropout = ReadOnly[float]("The fraction of the state that is dropped.", "cell.recurrent_dropout")

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = {**super().get_config(), **self.cell.cell_config()}
        del config["cell"]
        return {**config, "activity_regularizer": regularizers.serialize(self.activity_regularizer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Returns a layer made from the result of `get_config`."""
        return cls(**config)


@export("keras.layers.SimpleRNN")
class SimpleRNN(LayerOfCell):
    """A fully connected recurrent layer, whose output is its next state.

    Args:
        units: Size of the output and of the state.
        dropout: Fraction of the input that is dropped in training, with one mask for all steps.
        return_sequences: Whether the outputs of all steps are returned, not the last one alone.
        return_state: Whether the last states are returned after the output.
        go_backwards: Whether the sequences are processed, and returned, from their ends.
        stateful: Whether each batch begins with the last states of the batch before.
        unroll: Whether the graph has each step of its own, not a loop; short sequences take less time so.
    """

    @parameters_of(recurrent_parameters, without=("recurrent_activation", "unit_forget_bias", "implementation"))
    def __init__(self, **arguments: Any) -> None:
        arguments.pop("implementation", None)  # that of older versions
        super().__init__(SimpleRNNCell, **arguments)


@export("keras.layers.GRU")
class GRU(LayerOfCell):
    """A layer of gated recurrent units.

    Args:
        units: Size of the output and of the state.
        dropout: Fraction of the input that is dropped in training, with one mask for all steps.
        implementation: 1 gives each gate dropout masks of its own; with 2, one mask is for all of them.
        return_sequences: Whether the outputs of all steps are returned, not the last one alone.
        return_state: Whether the last states are returned after the output.
        go_backwards: Whether the sequences are processed, and returned, from their ends.
        stateful: Whether each batch begins with the last states of the batch before.
        unroll: Whether the graph has each step of its own, not a loop; short sequences take less time so.
        reset_after: Whether the reset gate is applied after the product with the state, as cuDNN does.
    """

    @parameters_of(recurrent_parameters, without=("unit_forget_bias",), before="kwargs")
    def __init__(self, reset_after: bool = False, **arguments: Any) -> None:
        super().__init__(GRUCell, reset_after=reset_after, **arguments)

    recurrent_activation = ReadOnly[Any]("The function of the gates.", "cell.recurrent_activation")
    implementation = ReadOnly[int](
        "Whether gates have dropout masks of their own: 1, or share one: 2.", "cell.implementation"
    )
    reset_after = ReadOnly[bool]("Whether the reset follows the product with the state.", "cell.reset_after")


@export("keras.layers.LSTM")
class LSTM(LayerOfCell):
    """A layer of long short-term memories; its states are the output and the memory.

    Args:
        units: Size of the output and of the state.
        dropout: Fraction of the input that is dropped in training, with one mask for all steps.
        implementation: 1 gives each gate dropout masks of its own; with 2, one mask is for all of them.
        return_sequences: Whether the outputs of all steps are returned, not the last one alone.
        return_state: Whether the last states are returned after the output.
        go_backwards: Whether the sequences are processed, and returned, from their ends.
        stateful: Whether each batch begins with the last states of the batch before.
        unroll: Whether the graph has each step of its own, not a loop; short sequences take less time so.
    """

    @parameters_of(recurrent_parameters)
    def __init__(self, **arguments: Any) -> None:
        super().__init__(LSTMCell, **arguments)

    recurrent_activation = ReadOnly[Any]("The function of the gates.", "cell.recurrent_activation")
    implementation = ReadOnly[int](
        "Whether gates have dropout masks of their own: 1, or share one: 2.", "cell.implementation"
    )
    unit_forget_bias = ReadOnly[bool]("Whether the bias of the forget gate starts at one.", "cell.unit_forget_bias")


lookup.LAYERS.update({layer_class.__name__: layer_class for layer_class in (SimpleRNN, GRU, LSTM)})
