"""Convolutions of each channel by itself: depthwise and separable."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg._src.base.export import export
from thalweg._src.base.shapes import show
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.convolution import (
    attrs_of,
    conv2d,
    depthwise_backprop_filter_op,
    depthwise_backprop_input_op,
    depthwise_op,
)
from thalweg._src.graph.ops.reduction import one_of
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("nn.depthwise_conv2d_native")
def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str | None = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Convolves each channel with its own filters, of shape [height, width, channels, multiplier].

    Args:
        input: Images [batch, height, width, channels].
        filter: The kernel [height, width, channels, multiplier].
    """
    return depthwise_op(input, filter, name=name, **attrs_of(2, data_format, strides, padding, dilations))


@export("nn.depthwise_conv2d_backprop_input", "nn.depthwise_conv2d_native_backprop_input")
def depthwise_conv2d_native_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str | None = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of a depthwise convolution with respect to its input."""
    settings = attrs_of(2, data_format, strides, padding, dilations)
    return depthwise_backprop_input_op(input_sizes, filter, out_backprop, name=name, **settings)


@export("nn.depthwise_conv2d_backprop_filter", "nn.depthwise_conv2d_native_backprop_filter")
def depthwise_conv2d_native_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    data_format: str | None = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Computes the gradient of a depthwise convolution with respect to its filter."""
    settings = attrs_of(2, data_format, strides, padding, dilations)
    return depthwise_backprop_filter_op(input, filter_sizes, out_backprop, name=name, **settings)


depthwise_conv2d_backprop_input = depthwise_conv2d_native_backprop_input
depthwise_conv2d_backprop_filter = depthwise_conv2d_native_backprop_filter


@export("nn.depthwise_conv2d")
def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    rate: int | Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Convolves each channel with its own filters; a rate greater than 1 requires strides of 1.

    Args:
        input: Images [batch, height, width, channels].
        filter: The kernel [height, width, channels, multiplier].
        rate: Distance between the elements of the kernel along height and width.
        dilations: Another name of `rate`.
    """
    rates = one_of("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        settings = attrs_of(2, data_format, strides, padding, rates)
        if max(settings["dilations"]) > 1 and max(settings["strides"]) > 1:
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
        return depthwise_op(input, filter, name=scope, **settings)


@export("nn.separable_conv2d")
def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Sequence[int]],
    rate: int | Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
) -> Tensor:
    """Convolves each channel separately, then mixes the channels of each pixel.

    Args:
        depthwise_filter: Kernel [height, width, channels, multiplier] of the depthwise step.
        pointwise_filter: Kernel [1, 1, channels * multiplier, channels out] that mixes channels.
        rate: Distance between the elements of the kernel along height and width.
        dilations: Another name of `rate`.
    """
    rates = one_of("dilations", dilations, "rate", rate)
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        shape = pointwise_filter.dims
        if shape is not None and (len(shape) != 4 or shape[0] not in (None, 1) or shape[1] not in (None, 1)):
            raise ValueError(
                f"pointwise_filter must have the shape [1, 1, channels in, channels out], got {show(shape)}"
            )
        filtered = depthwise_conv2d(
            input, depthwise_filter, strides, padding, rates, name="depthwise", data_format=data_format
        )
        return conv2d(filtered, pointwise_filter, 1, "VALID", data_format=data_format, name=scope)
