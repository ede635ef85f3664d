"""CuDNNGRU and CuDNNLSTM: recurrent layers with the weights of cuDNN, on any device.

cuDNN keeps the block of each gate of a kernel with the axes exchanged, and has a bias for the input and one for the
state. The computation is that of GRU and LSTM with other arrangements of the weights.
"""

from __future__ import annotations

from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.math import sigmoid, tanh
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.reshape import reshape, transpose
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.layers import lookup
from thalweg._src.keras.layers.cell_base import OF_LAYER, WeightedCell, recurrent_parameters
from thalweg._src.keras.layers.cells import DenseCell, lstm_step, unit_forget_bias_of
from thalweg._src.keras.layers.recurrent_layers import LayerOfCell
from thalweg._src.training.nn.rnn.sizes import NestedTensors

_FIXED: Any = {"activation": "tanh", "use_bias": True, "dropout": 0.0, "recurrent_dropout": 0.0}
_LACKING = (*_FIXED, "recurrent_activation", "implementation", "unroll")


class _CuDNNCell(DenseCell):
    """A cell whose weights are arranged once for all steps of a sequence."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments, **_FIXED)
        self._arranged: Any = None

    def _bias_shape(self) -> tuple[int, ...]:
        return (2 * self.gates * self.units,)

    def arrange(self) -> None:
        """Takes the weights as they are before the first step."""
        kernels = (_exchanged(layer_class, self.gates) for layer_class in (self.kernel, self.recurrent_kernel))
        self._arranged = (*kernels, *split(self.bias, 2, 0))

    def _gates(self, inputs: TensorLike, state: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the parts of all gates that come from the input and from the state."""
        kernel, recurrent, first, second = self._arranged
        return bias_add(matmul(inputs, kernel), first), bias_add(matmul(state, recurrent), second)

    def cell_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, without those of all layers."""
        return {key: value for key, value in super().cell_config().items() if key not in _FIXED}


def _exchanged(kernel: Any, gates: int) -> Tensor:
    """Returns a kernel for products from one in which the block of each gate has its axes exchanged."""
    rows, columns = kernel.shape.as_list()
    blocks = split(kernel, gates, 1)
    return concat([transpose(reshape(block, [columns // gates, rows])) for block in blocks], 1)


class _CuDNNGRUCell(_CuDNNCell):
    """A gated recurrent unit with the reset after the product with the state."""

    gates = 3

    @parameters_of(recurrent_parameters, without=(*OF_LAYER, *_LACKING, "unit_forget_bias"))
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)

    def call(self, inputs: TensorLike, states: NestedTensors) -> Any:
        """Returns the output and the state after a step."""
        before = states[0]
        (x_update, x_reset, x), (h_update, h_reset, h) = (
            split(layer_class, 3, 1) for layer_class in self._gates(inputs, before)
        )
        update, reset = sigmoid(x_update + h_update), sigmoid(x_reset + h_reset)
        output = update * before + (1 - update) * tanh(x + reset * h)
        return output, [output]


class _CuDNNLSTMCell(_CuDNNCell):
    """A long short-term memory with sigmoid gates."""

    gates = 4

    @parameters_of(recurrent_parameters, without=(*OF_LAYER, *_LACKING))
    def __init__(self, unit_forget_bias: bool, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.unit_forget_bias = unit_forget_bias
        self.state_size = [self.units, self.units]

    def _bias_start(self) -> Any:
        return self._unit_forget_bias if self.unit_forget_bias else self.bias_initializer

    def _unit_forget_bias(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Tensor:
        first = self.bias_initializer([4 * self.units], dtype=dtype)
        return concat([first, unit_forget_bias_of(self.bias_initializer, self.units, dtype)], 0)

    def call(self, inputs: TensorLike, states: NestedTensors) -> Any:
        """Returns the output, and the output and the memory as states."""
        x, h = self._gates(inputs, states[0])
        return lstm_step(split(x + h, 4, 1), states[1], tanh, sigmoid)

    def cell_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, without those of all layers."""
        return {**super().cell_config(), "unit_forget_bias": self.unit_forget_bias}


class _CuDNNLayer(LayerOfCell):
    """A recurrent layer that takes no masks."""

    def __init__(self, cell_class: type[WeightedCell], **arguments: Any) -> None:
        super().__init__(cell_class, **arguments)
        self.supports_masking = False

    def call(
        self,
        inputs: TensorLike,
        mask: TensorLike | None = None,
        training: TensorLike | None = None,
        initial_state: NestedTensors = None,
        constants: NestedTensors = None,
    ) -> Any:
        """Returns the last output, or all outputs, and the last states if they are asked for."""
        if mask is not None:
            raise ValueError("Masking is not supported for CuDNN RNNs.")
        self.cell.arrange()
        return super().call(inputs, None, training, initial_state, constants)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {key: value for key, value in super().get_config().items() if key != "unroll"}


@export("keras.layers.CuDNNGRU")
class CuDNNGRU(_CuDNNLayer):
    """A layer of gated recurrent units with the weights of cuDNN.

    Args:
        units: Size of the output and of the state.
        return_sequences: Whether the outputs of all steps are returned, not the last one alone.
        return_state: Whether the last states are returned after the output.
        go_backwards: Whether the sequences are processed, and returned, from their ends.
        stateful: Whether each batch begins with the last states of the batch before.
    """

    @parameters_of(recurrent_parameters, without=(*_LACKING, "unit_forget_bias"))
    def __init__(self, **arguments: Any) -> None:
        super().__init__(_CuDNNGRUCell, **arguments)


@export("keras.layers.CuDNNLSTM")
class CuDNNLSTM(_CuDNNLayer):
    """A layer of long short-term memories with the weights of cuDNN.

    Args:
        units: Size of the output and of the state.
        return_sequences: Whether the outputs of all steps are returned, not the last one alone.
        return_state: Whether the last states are returned after the output.
        go_backwards: Whether the sequences are processed, and returned, from their ends.
        stateful: Whether each batch begins with the last states of the batch before.
    """

    @parameters_of(recurrent_parameters, without=_LACKING)
    def __init__(self, **arguments: Any) -> None:
        super().__init__(_CuDNNLSTMCell, **arguments)

    unit_forget_bias = ReadOnly[bool]("Whether the bias of the forget gate starts at one.", "cell.unit_forget_bias")


lookup.LAYERS.update({layer_class.__name__: layer_class for layer_class in (CuDNNGRU, CuDNNLSTM)})
