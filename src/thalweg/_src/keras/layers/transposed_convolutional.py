"""Transposed convolution layers of Keras: Conv2DTranspose, Conv3DTranspose."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape, as_shape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.convolution import conv2d_backprop_input
from thalweg._src.graph.ops.reshape import shape as shape_of
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.arguments import Window
from thalweg._src.keras.layers.convolutional import Convolution
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.nn.layers import transposed_convolution
from thalweg._src.training.nn.layers.windows import around, layout, padding_of, sizes_of, split_sizes, transposed_output


class _Transposed(Convolution):
    """A mixin of transposed convolution layers, whose output sizes may be chosen by `output_padding`."""

    _settings = (*Convolution._settings, "output_padding")

    def __init__(self, output_padding: Window | None = None, **arguments: Any) -> None:
        super().__init__(**{**arguments, "padding": padding_of(arguments["padding"])})
        this: Any = self
        self.output_padding: tuple[int, ...] | None = None
        if output_padding is not None:
            self.output_padding = sizes_of(output_padding, this.rank, "output_padding")
            for stride, extra in zip(this.strides, self.output_padding):
                if extra >= stride:
                    raise ValueError(f"Stride {this.strides} must be greater than output padding {self.output_padding}")

    def _output_sizes(self, sizes: Any) -> list[Any]:
        this: Any = self
        extents = [(size - 1) * rate + 1 for size, rate in zip(this.kernel_size, this.dilation_rate)]
        extra = self.output_padding or [None] * this.rank
        places = zip(split_sizes(sizes, this.data_format)[0], extents, this.strides, extra)
        spatial = [_output_size(size, extent, this.padding, stride, more) for size, extent, stride, more in places]
        return around(spatial, this.data_format, sizes[0], this.filters)


def _output_size(size: Any, extent: int, padding: str, stride: int, extra: int | None) -> Any:
    """Returns the output size along an axis, of an integer or of a tensor."""
    if size is None or extra is None:
        return transposed_output(size, extent, padding, stride)
    return (size - 1) * stride + extent - 2 * (extent // 2 if padding == "same" else 0) + extra


@export("keras.layers.Conv2DTranspose", "keras.layers.Convolution2DTranspose")
class Conv2DTranspose(_Transposed, transposed_convolution.Conv2DTranspose, Layer):
    """A transposed convolution layer over images.

    Args:
        padding: "valid" or "same".
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Window,
        strides: Window = (1, 1),
        padding: str = "valid",
        output_padding: Window | None = None,
        data_format: str | None = None,
        dilation_rate: Window = (1, 1),
        activation: Identifier = None,
        use_bias: bool = True,
        kernel_initializer: Identifier = "glorot_uniform",
        bias_initializer: Identifier = "zeros",
        kernel_regularizer: Identifier = None,
        bias_regularizer: Identifier = None,
        activity_regularizer: Identifier = None,
        kernel_constraint: Identifier = None,
        bias_constraint: Identifier = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters=filters,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            output_padding=output_padding,
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.dilation_rate = sizes_of(dilation_rate, self.rank, "dilation_rate")

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the transposed convolution, the bias and the activation."""
        if max(self.dilation_rate) == 1:
            return super().call(inputs, *args, **kwargs)
        x = convert_to_tensor(inputs)
        static, dynamic = as_shape(x.shape) or (), shape_of(x)
        sizes = self._output_sizes([dynamic[i] if size is None else size for i, size in enumerate(static)])
        outputs = conv2d_backprop_input(
            sizes,
            self.kernel,
            x,
            around(self.strides, self.data_format),
            self.padding.upper(),
            data_format=layout(self.data_format, 2),
            dilations=around(self.dilation_rate, self.data_format),
        )
        outputs.set_shape(TensorShape(self._output_sizes(static)))
        return self._finished(self._biased(outputs))


@export("keras.layers.Conv3DTranspose", "keras.layers.Convolution3DTranspose")
class Conv3DTranspose(_Transposed, transposed_convolution.Conv3DTranspose, Layer):
    """A transposed convolution layer over volumes.

    Args:
        padding: "valid" or "same".
    """

    _settings = ("kernel_size", "strides", "padding", "data_format", "output_padding")

    def __init__(
        self,
        filters: int,
        kernel_size: Window,
        strides: Window = (1, 1, 1),
        padding: str = "valid",
        output_padding: Window | None = None,
        data_format: str | None = None,
        activation: Identifier = None,
        use_bias: bool = True,
        kernel_initializer: Identifier = "glorot_uniform",
        bias_initializer: Identifier = "zeros",
        kernel_regularizer: Identifier = None,
        bias_regularizer: Identifier = None,
        activity_regularizer: Identifier = None,
        kernel_constraint: Identifier = None,
        bias_constraint: Identifier = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters=filters,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            output_padding=output_padding,
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            **kwargs,
        )
