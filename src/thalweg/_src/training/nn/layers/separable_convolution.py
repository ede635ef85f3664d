"""Separable convolution layers: a depthwise convolution followed by a pointwise one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.ops.depthwise_convolution import separable_conv2d as separable2d
from thalweg._src.graph.ops.nn import bias_add
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.reshape import expand_dims, squeeze
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.convolution import _Conv
from thalweg._src.training.nn.layers.functions import function_of
from thalweg._src.training.nn.layers.named import ZEROS, initializer_of
from thalweg._src.training.nn.layers.windows import around, layout


class _SeparableConv(_Conv):
    """The base class of separable convolution layers.

    Args:
        trainable: Whether the layer's variables are added to `TRAINABLE_VARIABLES`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        depth_multiplier: int = 1,
        activation: Callable[..., Any] | None = None,
        use_bias: bool = True,
        depthwise_initializer: str | Callable[..., Any] | None = None,
        pointwise_initializer: Callable[..., Any] | None = None,
        bias_initializer: str | Callable[..., Any] = ZEROS,
        depthwise_regularizer: Callable[..., Any] | None = None,
        pointwise_regularizer: Callable[..., Any] | None = None,
        bias_regularizer: Callable[..., Any] | None = None,
        activity_regularizer: Callable[..., Any] | None = None,
        depthwise_constraint: Callable[..., Any] | None = None,
        pointwise_constraint: Callable[..., Any] | None = None,
        bias_constraint: Callable[..., Any] | None = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializer_of(depthwise_initializer)
        self.pointwise_initializer = initializer_of(pointwise_initializer)
        self.depthwise_regularizer = depthwise_regularizer
        self.pointwise_regularizer = pointwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint

    def build(self, input_shape: ShapeLike) -> None:
        """Creates both kernels and the bias."""
        channels = self._input_channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            shape=[*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            shape=[*(1,) * self.rank, self.depth_multiplier * channels, self.filters],
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self._add_bias()
        self.built = True


@export("layers.SeparableConv1D")
class SeparableConv1D(_SeparableConv):
    """A depthwise separable convolution layer over sequences."""

    _rank = 1

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the convolutions to sequences, as images of height one."""
        form, padding = self.data_format, self.padding
        if padding == "causal":
            before = [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]
            inputs, padding = pad(inputs, around([before], form, [0, 0], [0, 0])), "valid"
        axis = 1 if form == "channels_last" else 2
        outputs = separable2d(
            expand_dims(inputs, axis),
            expand_dims(self.depthwise_kernel, 0),
            expand_dims(self.pointwise_kernel, 0),
            around(self.strides * 2, form),
            padding.upper(),
            rate=[1, *self.dilation_rate],
            data_format=layout(form, 2),
        )
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias, data_format=layout(form, 2))
        return self._finished(squeeze(outputs, [axis]))


@export("layers.SeparableConv2D")
class SeparableConv2D(_SeparableConv):
    """A depthwise separable convolution layer over images."""

    _rank = 2

    def call(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the convolutions, the bias and the activation."""
        outputs = separable2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            around(self.strides, self.data_format),
            self.padding.upper(),
            rate=list(self.dilation_rate),
            data_format=layout(self.data_format, 2),
        )
        return self._finished(self._biased(outputs))


separable_conv1d = export("layers.separable_conv1d")(function_of(SeparableConv1D))
separable_conv2d = export("layers.separable_conv2d")(function_of(SeparableConv2D))
