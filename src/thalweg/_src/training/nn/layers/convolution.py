"""Convolution layers: Conv1D, Conv2D, Conv3D."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.graph.ops.convolution import convolution
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.base import Layer
from thalweg._src.training.nn.layers.functions import function_of
from thalweg._src.training.nn.layers.input_spec import InputSpec
from thalweg._src.training.nn.layers.named import ZEROS, activation_of, initializer_of
from thalweg._src.training.nn.layers.windows import (
    around,
    data_format_of,
    layout,
    padding_of,
    sizes_of,
    split_sizes,
    window_output,
)

_OP_NAMES = {1: "conv1d", 2: "Conv2D", 3: "Conv3D"}


class _Conv(Layer):
    """The base class of convolution layers.

    Args:
        trainable: Whether the layer's variables are added to `TRAINABLE_VARIABLES`.
    """

    _rank: ClassVar[int]

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: Callable[..., Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: str | Callable[..., Any] | None = None,
        bias_initializer: str | Callable[..., Any] = ZEROS,
        kernel_regularizer: Callable[..., Any] | None = None,
        bias_regularizer: Callable[..., Any] | None = None,
        activity_regularizer: Callable[..., Any] | None = None,
        kernel_constraint: Callable[..., Any] | None = None,
        bias_constraint: Callable[..., Any] | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        rank = self.rank = self._rank
        self.filters = int(filters)
        self.kernel_size = sizes_of(kernel_size, rank, "kernel_size")
        self.strides = sizes_of(strides, rank, "strides")
        self.padding = padding_of(padding, causal=rank == 1)
        self.data_format = data_format_of(data_format)
        self.dilation_rate = sizes_of(dilation_rate, rank, "dilation_rate")
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.bias_initializer = initializer_of(bias_initializer)
        self.kernel_regularizer = kernel_regularizer
        self.bias_regularizer = bias_regularizer
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.bias: Any = None
        self.input_spec = InputSpec(ndim=rank + 2)

    def build(self, input_shape: ShapeLike) -> None:
        """Creates kernel and bias."""
        self.kernel = self.add_weight(
            "kernel",
            shape=[*self.kernel_size, self._input_channels(input_shape), self.filters],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self._add_bias()
        self.built = True

    def _input_channels(self, input_shape: ShapeLike) -> int:
        """Returns the number of input channels, and requires it of later inputs."""
        sizes = as_shape(input_shape)
        assert sizes is not None
        channels = split_sizes(sizes, self.data_format)[1]
        if channels is None:
            problem = "The channel dimension of the inputs should be defined. Found `None`"
            raise ValueError(f"{problem} in shape {input_shape}.")
        axis = 1 if self.data_format == "channels_first" else -1
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
        return int(channels)

    def _add_bias(self) -> None:
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the convolution, the bias and the activation."""
        padding = self.padding
        if padding == "causal":
            before = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
            inputs, padding = pad(inputs, around([before], self.data_format, [0, 0], [0, 0])), "valid"
        outputs = convolution(
            inputs,
            self.kernel,
            padding.upper(),
            strides=self.strides,
            dilation_rate=self.dilation_rate,
            data_format=layout(self.data_format, self.rank),
            name=_OP_NAMES[self.rank],
        )
        return self._finished(self._biased(outputs))

    def _biased(self, outputs: Tensor) -> Tensor:
        if self.bias is None:
            return outputs
        first = self.data_format == "channels_first"
        if self.rank == 1 and first:
            return outputs + reshape(self.bias, [1, self.filters, 1])
        return bias_add(outputs, self.bias, data_format="NCHW" if first else "NHWC")

    def _finished(self, outputs: Tensor) -> Tensor:
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the output shape."""
        sizes = as_shape(input_shape)
        assert sizes is not None
        windows = zip(split_sizes(sizes, self.data_format)[0], self.kernel_size, self.strides, self.dilation_rate)
        places = [window_output(n, k, self.padding, s, rate) for n, k, s, rate in windows]
        return TensorShape(around(places, self.data_format, sizes[0], self.filters))


@export("layers.Conv1D")
class Conv1D(_Conv):
    """A convolution layer over sequences."""

    _rank = 1


@export("layers.Conv2D")
class Conv2D(_Conv):
    """A convolution layer over images."""

    _rank = 2


@export("layers.Conv3D")
class Conv3D(_Conv):
    """A convolution layer over volumes."""

    _rank = 3


conv1d = export("layers.conv1d")(function_of(Conv1D))
conv2d = export("layers.conv2d")(function_of(Conv2D))
conv3d = export("layers.conv3d")(function_of(Conv3D))
