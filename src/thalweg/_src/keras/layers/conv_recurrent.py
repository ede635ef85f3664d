"""ConvLSTM2D: a long short-term memory whose inputs and states are images."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import ShapeLike, TensorShape
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.concat import concat, split
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.reshape import shape as shape_of, zeros
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import activations
from thalweg._src.keras.backend.convolution import conv2d
from thalweg._src.keras.backend.settings import image_data_format
from thalweg._src.keras.engine import tracking
from thalweg._src.keras.engine.tracking import NestedShapes
from thalweg._src.keras.layers import lookup
from thalweg._src.keras.layers.arguments import Window
from thalweg._src.keras.layers.cell_base import OF_LAYER, WeightedCell, recurrent_parameters
from thalweg._src.keras.layers.cells import lstm_step, unit_forget_bias_of
from thalweg._src.keras.layers.recurrent_layers import LayerOfCell
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.windows import (
    around,
    data_format_of,
    layout,
    padding_of,
    sizes_of,
    split_sizes,
    window_output,
)
from thalweg._src.training.nn.rnn.sizes import NestedTensors


class ConvLSTM2DCell(WeightedCell):
    """A long short-term memory in which convolutions take the place of products with matrices."""

    @parameters_of(recurrent_parameters, without=(*OF_LAYER, "units", "implementation"), before="activation")
    def __init__(
        self,
        filters: int,
        kernel_size: Window,
        strides: Window = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Window = (1, 1),
        *,
        activation: Identifier,
        recurrent_activation: Identifier,
        unit_forget_bias: bool,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.filters = filters
        self.kernel_size = sizes_of(kernel_size, 2, "kernel_size")
        self.strides = sizes_of(strides, 2, "strides")
        self.padding = padding_of(padding)
        self.data_format = data_format_of(data_format or image_data_format())
        self.dilation_rate = sizes_of(dilation_rate, 2, "dilation_rate")
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias = unit_forget_bias
        self.state_size = (filters, filters)

    def build(self, input_shape: NestedShapes) -> None:
        """Creates the kernels and the bias."""
        _, channels = split_sizes(TensorShape(input_shape).as_list(), self.data_format)
        width = 4 * self.filters
        start = self._unit_forget_bias if self.unit_forget_bias else self.bias_initializer
        recurrent = (*self.kernel_size, self.filters, width)
        self.add_weights((*self.kernel_size, channels, width), recurrent, (width,), start)
        self.built = True

    def _unit_forget_bias(self, shape: ShapeLike, dtype: DTypeLike | None = None, **kwargs: Any) -> Any:
        return unit_forget_bias_of(self.bias_initializer, self.filters, dtype)

    def call(self, inputs: TensorLike, states: NestedTensors, training: TensorLike | None = None) -> Any:
        """Returns the output, and the output and the memory as states."""
        before, memory = states[0], states[1]
        masks = self.get_dropout_mask_for_cell(inputs, training, 4)
        state_masks = self.get_recurrent_dropout_mask_for_cell(before, training, 4)
        x = self._convolved(inputs, self.kernel, masks, self.strides, self.padding, self.dilation_rate)
        if self.bias is not None:
            x = bias_add(x, self.bias, data_format=layout(self.data_format, 2))
        z = x + self._convolved(before, self.recurrent_kernel, state_masks, (1, 1), "same", (1, 1))
        return lstm_step(split(z, 4, self.channel_axis), memory, self.activation, self.recurrent_activation)

    @property
    def channel_axis(self) -> int:
        """The axis of the channels of images."""
        return 1 if self.data_format == "channels_first" else -1

    def _convolved(
        self, x: TensorLike, kernel: Tensor, masks: Any, strides: Any, padding: str, dilation_rate: Any
    ) -> Any:
        """Returns the convolution of images, after dropout with a mask for each gate of the kernel."""
        settings = (strides, padding, self.data_format, dilation_rate)
        if masks is None:
            return conv2d(x, kernel, *settings)
        gates = zip(masks, split(kernel, len(masks), 3))
        return concat(
            [conv2d(multiply(x, mask), gate_kernel, *settings) for mask, gate_kernel in gates], self.channel_axis
        )

    def output_sizes(self, spatial: list[Any]) -> list[Any]:
        """Returns the height and the width of the output for those of the input."""
        windows = zip(spatial, self.kernel_size, self.strides, self.dilation_rate)
        return [window_output(size, extent, self.padding, stride, rate) for size, extent, stride, rate in windows]

    def cell_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, without those of all layers."""
        names = ("filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "unit_forget_bias")
        return {
            **{name: getattr(self, name) for name in names},
            "activation": activations.serialize(self.activation),
            "recurrent_activation": activations.serialize(self.recurrent_activation),
            **super().cell_config(),
        }


@parameters_of(
    recurrent_parameters,
    without=("units", "dropout", "recurrent_dropout", "implementation", "unroll"),
    before="kwargs",
)
def _with_dropout_last(self: Any, dropout: float = 0.0, recurrent_dropout: float = 0.0, **arguments: Any) -> None:
    """The parameters of `LSTM` in the order of `ConvLSTM2D`, to which those of the convolution are added."""


@export("keras.layers.ConvLSTM2D")
class ConvLSTM2D(LayerOfCell):
    """A layer of long short-term memories for sequences of images.

    Args:
        return_sequences: Whether the outputs of all steps are returned, not the last one alone.
        return_state: Whether the last states are returned after the output.
        go_backwards: Whether the sequences are processed, and returned, from their ends.
        stateful: Whether each batch begins with the last states of the batch before.
        dropout: Fraction of the input that is dropped in training, with one mask for all steps.
    """

    @parameters_of(_with_dropout_last, before="activation")
    def __init__(
        self,
        filters: int,
        kernel_size: Window,
        strides: Window = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Window = (1, 1),
        **arguments: Any,
    ) -> None:
        super().__init__(
            ConvLSTM2DCell,
            filters=filters,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilation_rate=dilation_rate,
            **arguments,
        )
        if self.unroll or self.time_major:
            raise TypeError("ConvLSTM2D: unroll and time_major are not supported with convolutional recurrent layers")
        self.input_spec = [InputSpec(ndim=5)]

    filters = ReadOnly[int]("The number of channels of the output.", "cell.filters")
    kernel_size = ReadOnly[tuple[int, ...]]("Height and width of the kernel.", "cell.kernel_size")
    strides = ReadOnly[tuple[int, ...]]("The steps of the convolution of the input.", "cell.strides")
    padding = ReadOnly[str]("The padding of the convolution of the input.", "cell.padding")
    data_format = ReadOnly[str]("Where the channels are.", "cell.data_format")
    dilation_rate = ReadOnly[tuple[int, ...]]("The dilation of the kernel of the input.", "cell.dilation_rate")
    recurrent_activation = ReadOnly[Any]("The function of the gates.", "cell.recurrent_activation")
    unit_forget_bias = ReadOnly[bool]("Whether the bias of the forget gate starts at one.", "cell.unit_forget_bias")

    @property
    def state_spec(self) -> Any:
        """The shape of each state."""
        shape = around([None, None], self.data_format, None, self.filters)
        return [InputSpec(shape=shape), InputSpec(shape=shape)]

    def get_initial_state(self, inputs: TensorLike) -> list[Any]:
        """Returns the states before the first step: zeros."""
        x = convert_to_tensor(inputs)
        static, dynamic = x.shape.as_list(), shape_of(x)
        sizes = [dynamic[axis] if size is None else size for axis, size in enumerate(static)]
        del sizes[1]
        first = zeros(self._state_shape(sizes), x.dtype)
        return [first, first]

    def _state_shape(self, sizes: list[Any]) -> list[Any]:
        """Returns the shape of a state, for the shape of the input of a step."""
        spatial, _ = split_sizes(sizes, self.data_format)
        return around(self.cell.output_sizes(spatial), self.data_format, sizes[0], self.filters)

    def build(self, input_shape: NestedShapes) -> None:
        """Creates the variables of the cell."""
        sequence_shape = (
            input_shape[0] if isinstance(input_shape, list) and not tracking.is_shape(input_shape) else input_shape
        )
        self._step_sizes = tuple(self._step_shape(TensorShape(sequence_shape).as_list()))
        super().build(input_shape)

    def _input_spec_of(self, shape: TensorShape) -> InputSpec:
        sizes = shape.as_list()
        return InputSpec(shape=(sizes[0] if self.stateful else None, None, *sizes[2:]))

    def _state_sizes(self) -> list[list[Any]]:
        shape = self._state_shape(list(self._step_sizes))[1:]
        return [shape, shape]

    def compute_output_shape(self, input_shape: NestedShapes) -> Any:
        """Returns the shape of the outputs, and those of the states if they are asked for."""
        sequence_shape = (
            input_shape[0] if isinstance(input_shape, list) and not tracking.is_shape(input_shape) else input_shape
        )
        sizes = TensorShape(sequence_shape).as_list()
        state = self._state_shape(list(self._step_shape(sizes)))
        output = TensorShape([state[0], sizes[1], *state[1:]] if self.return_sequences else state)
        return [output, TensorShape(state), TensorShape(state)] if self.return_state else output


lookup.LAYERS["ConvLSTM2D"] = ConvLSTM2D
