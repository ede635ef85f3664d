"""Convolutional LSTM cells over sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.convolution import conv1d, conv2d, conv3d
from thalweg._src.graph.ops.math import sigmoid, tanh
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.rnn.cells import LSTMStateTuple, RNNCell
from thalweg._src.training.variables.initializers import Zeros
from thalweg._src.training.variables.variable_scope import get_variable


@export("contrib.rnn.ConvLSTMCell")
class ConvLSTMCell(RNNCell):
    """A convolutional LSTM cell over `conv_ndims` spatial dimensions, after Shi et al."""

    output_size = ReadOnly[Any]("The size of the output.", "_output")

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Sequence[int],
        output_channels: int,
        kernel_shape: Sequence[int],
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: TensorLike = 1.0,
        initializers: Callable[..., Any] | None = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1 or conv_ndims not in (1, 2, 3):
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._ndims = conv_ndims
        self._output_channels = output_channels
        self._kernel_shape = list(kernel_shape)
        self._use_bias = use_bias
        self._skip_connection = skip_connection
        self._forget_bias = forget_bias
        *space, channels = input_shape
        self._state = TensorShape([*space, output_channels])
        self._output = TensorShape([*space, output_channels + channels * skip_connection])

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._state, self._state)

    def call(self, inputs: TensorLike, state: Any) -> Any:
        """Runs one step."""
        c, h = state
        i, j, f, o = split(self._gates(concat([inputs, h], -1)), 4, axis=self._ndims + 1)
        c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        h = tanh(c) * sigmoid(o)
        return concat([h, inputs], -1) if self._skip_connection else h, LSTMStateTuple(c, h)

    def _gates(self, x: Any) -> Any:
        width = 4 * self._output_channels
        kernel = get_variable("kernel", [*self._kernel_shape, x.shape[-1].value, width], x.dtype)
        if self._ndims == 1:
            result = conv1d(x, kernel, 1, padding="SAME")
        else:
            convolve = conv2d if self._ndims == 2 else conv3d
            result = convolve(x, kernel, [1] * (self._ndims + 2), padding="SAME")
        return result + get_variable("biases", [width], x.dtype, Zeros()) if self._use_bias else result


@export("contrib.rnn.Conv1DLSTMCell")
class Conv1DLSTMCell(ConvLSTMCell):
    """A convolutional LSTM cell over one spatial dimension.

    Args:
        **kwargs: Arguments of `ConvLSTMCell` other than `conv_ndims`.
    """

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


@export("contrib.rnn.Conv2DLSTMCell")
class Conv2DLSTMCell(ConvLSTMCell):
    """A convolutional LSTM cell over images.

    Args:
        **kwargs: Arguments of `ConvLSTMCell` other than `conv_ndims`.
    """

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


@export("contrib.rnn.Conv3DLSTMCell")
class Conv3DLSTMCell(ConvLSTMCell):
    """A convolutional LSTM cell over volumes.

    Args:
        **kwargs: Arguments of `ConvLSTMCell` other than `conv_ndims`.
    """

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
