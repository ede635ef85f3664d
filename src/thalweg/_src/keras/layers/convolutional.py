"""Convolution layers of Keras: over sequences, images and volumes, separable and depthwise ones."""

from __future__ import annotations

from typing import Any, ClassVar

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike, TensorShape, as_shape
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.ops.depthwise_convolution import depthwise_conv2d
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import activations, regularizers
from thalweg._src.keras.engine.base_layer import Layer
from thalweg._src.keras.layers.arguments import Window, channels_of, objects_of
from thalweg._src.keras.layers.core import weight_config
from thalweg._src.keras.serialization import Identifier
from thalweg._src.training.nn.layers import convolution, separable_convolution
from thalweg._src.training.nn.layers.windows import around, layout, padding_of, split_sizes

BY_KEYWORD = ("trainable", "name")  # parameters of all layers
_KERNEL: Any = {"kernel_initializer": "glorot_uniform", "bias_initializer": "zeros"}
_KERNELS: Any = {
    "depthwise_initializer": "glorot_uniform",
    "pointwise_initializer": "glorot_uniform",
    "bias_initializer": "zeros",
}


class Convolution:
    """A mixin of convolution layers, before the class that computes: what is given by name, and the configuration."""

    _settings: ClassVar[tuple[str, ...]] = ("kernel_size", "strides", "padding", "data_format", "dilation_rate")
    _weight_names: ClassVar[tuple[str, ...]] = ("kernel", "bias")

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**objects_of({**arguments, "data_format": channels_of(arguments["data_format"])}))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        this: Any = self
        return {
            **super().get_config(),  # type: ignore[misc]
            "filters": this.filters,
            **{name: getattr(self, name) for name in self._settings},
            "activation": activations.serialize(this.activation),
            "use_bias": this.use_bias,
            **weight_config(self, *self._weight_names),
            "activity_regularizer": regularizers.serialize(this.activity_regularizer),
        }


@export("keras.layers.Conv1D", "keras.layers.Convolution1D")
class Conv1D(Convolution, convolution.Conv1D, Layer):
    """A convolution layer over sequences.

    Args:
        padding: "valid", "same" or "causal", which pads before the sequence so that no output sees later inputs.
    """

    @parameters_of(convolution.Conv1D.__init__, without=BY_KEYWORD, **_KERNEL)
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)


@export("keras.layers.Conv2D", "keras.layers.Convolution2D")
class Conv2D(Convolution, convolution.Conv2D, Layer):
    """A convolution layer over images."""

    @parameters_of(
        convolution.Conv2D.__init__,
        without=BY_KEYWORD,
        strides=(1, 1),
        dilation_rate=(1, 1),
        data_format=None,
        **_KERNEL,
    )
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)


@export("keras.layers.Conv3D", "keras.layers.Convolution3D")
class Conv3D(Convolution, convolution.Conv3D, Layer):
    """A convolution layer over volumes."""

    @parameters_of(
        convolution.Conv3D.__init__,
        without=BY_KEYWORD,
        strides=(1, 1, 1),
        dilation_rate=(1, 1, 1),
        data_format=None,
        **_KERNEL,
    )
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)


class _Separable(Convolution):
    """A mixin of separable convolution layers."""

    _settings = (*Convolution._settings, "depth_multiplier")
    _weight_names = ("depthwise", "pointwise", "bias")


@export("keras.layers.SeparableConv1D", "keras.layers.SeparableConvolution1D")
class SeparableConv1D(_Separable, separable_convolution.SeparableConv1D, Layer):
    """A depthwise separable convolution layer over sequences.

    Args:
        padding: "valid", "same" or "causal", which pads before the sequence so that no output sees later inputs.
    """

    @parameters_of(separable_convolution.SeparableConv1D.__init__, without=BY_KEYWORD, data_format=None, **_KERNELS)
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)


@export("keras.layers.SeparableConv2D", "keras.layers.SeparableConvolution2D")
class SeparableConv2D(_Separable, separable_convolution.SeparableConv2D, Layer):
    """A depthwise separable convolution layer over images."""

    @parameters_of(
        separable_convolution.SeparableConv2D.__init__,
        without=BY_KEYWORD,
        strides=(1, 1),
        dilation_rate=(1, 1),
        data_format=None,
        **_KERNELS,
    )
    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)


@export("keras.layers.DepthwiseConv2D")
class DepthwiseConv2D(Convolution, convolution.Conv2D, Layer):
    """A convolution layer over images that convolves each channel with kernels of its own."""

    _settings = (*Convolution._settings, "depth_multiplier")
    _weight_names = ("depthwise", "bias")

    def __init__(
        self,
        kernel_size: Window,
        strides: Window = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Identifier = None,
        use_bias: bool = True,
        depthwise_initializer: Identifier = "glorot_uniform",
        bias_initializer: Identifier = "zeros",
        depthwise_regularizer: Identifier = None,
        bias_regularizer: Identifier = None,
        activity_regularizer: Identifier = None,
        depthwise_constraint: Identifier = None,
        bias_constraint: Identifier = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters=0,  # known when the channels of the inputs are
            kernel_size=kernel_size,
            strides=strides,
            padding=padding_of(padding),
            data_format=data_format,
            activation=activation,
            use_bias=use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        objects = objects_of(
            {
                "initializer": depthwise_initializer,
                "regularizer": depthwise_regularizer,
                "constraint": depthwise_constraint,
            }
        )
        self.depthwise_initializer = objects["initializer"]
        self.depthwise_regularizer = objects["regularizer"]
        self.depthwise_constraint = objects["constraint"]

    def build(self, input_shape: ShapeLike) -> None:
        """Creates kernel and bias."""
        channels = self._input_channels(input_shape)
        self.filters = channels * self.depth_multiplier
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            shape=[*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self._add_bias()
        self.built = True

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the convolutions, the bias and the activation."""
        outputs = depthwise_conv2d(
            inputs,
            self.depthwise_kernel,
            around(self.strides, self.data_format),
            self.padding.upper(),
            rate=list(self.dilation_rate),
            data_format=layout(self.data_format, 2),
        )
        return self._finished(self._biased(outputs))

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the output shape."""
        channels = split_sizes(as_shape(input_shape) or (), self.data_format)[1]
        sizes = list(as_shape(super().compute_output_shape(input_shape)) or ())
        sizes[1 if self.data_format == "channels_first" else -1] = channels and channels * self.depth_multiplier
        return TensorShape(sizes)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        config = super().get_config()
        del config["filters"]
        return config
