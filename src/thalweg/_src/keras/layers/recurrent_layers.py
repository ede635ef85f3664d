"""SimpleRNN, GRU and LSTM: recurrent layers with a cell of their own."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.keras import regularizers
from thalweg._src.keras.layers import lookup
from thalweg._src.keras.layers.cells import GRUCell, LSTMCell, SimpleRNNCell
from thalweg._src.keras.layers.recurrent import RNN
from thalweg._src.training.nn.layers.input_spec import InputSpec

_OF_LAYER = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "activity_regularizer")


class LayerOfCell(RNN):
    """A recurrent layer that makes its cell, and has its properties.

    given: the arguments of the constructor, of which some are the cell's
    """

    def __init__(self, cell: Any, given: dict[str, Any]) -> None:
        kwargs = given["kwargs"]
        of_cell = {key: given[key] for key in given if key not in ("self", "__class__", "kwargs", *_OF_LAYER)}
        made = cell(**of_cell, dtype=kwargs.get("dtype"), trainable=kwargs.get("trainable", True))
        super().__init__(made, **{key: given[key] for key in _OF_LAYER if key in given}, **kwargs)
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
        config = {**super().get_config(), **self.cell.own_config()}
        del config["cell"]
        return {**config, "activity_regularizer": regularizers.serialize(self.activity_regularizer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """Returns a layer made from the result of `get_config`."""
        return cls(**config)


@export("keras.layers.SimpleRNN")
class SimpleRNN(LayerOfCell):
    """A fully connected recurrent layer, whose output is its next state."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("implementation", None)  # that of older versions
        super().__init__(SimpleRNNCell, dict(locals()))


@export("keras.layers.GRU")
class GRU(LayerOfCell):
    """A layer of gated recurrent units."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(GRUCell, dict(locals()))

    recurrent_activation = ReadOnly[Any]("The function of the gates.", "cell.recurrent_activation")
    implementation = ReadOnly[int](
        "Whether gates have dropout masks of their own: 1, or share one: 2.", "cell.implementation"
    )
    reset_after = ReadOnly[bool]("Whether the reset follows the product with the state.", "cell.reset_after")


@export("keras.layers.LSTM")
class LSTM(LayerOfCell):
    """A layer of long short-term memories; its states are the output and the memory."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 1,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(LSTMCell, dict(locals()))

    recurrent_activation = ReadOnly[Any]("The function of the gates.", "cell.recurrent_activation")
    implementation = ReadOnly[int](
        "Whether gates have dropout masks of their own: 1, or share one: 2.", "cell.implementation"
    )
    unit_forget_bias = ReadOnly[bool]("Whether the bias of the forget gate starts at one.", "cell.unit_forget_bias")


lookup.LAYERS.update({each.__name__: each for each in (SimpleRNN, GRU, LSTM)})
