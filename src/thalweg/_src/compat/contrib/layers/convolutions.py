"""Convolution layers: plain, transposed and separable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.compat.contrib.framework.variables import layer_scope, model_variable
from thalweg._src.compat.contrib.layers.outputs import (
    add_to_variable_collections,
    channel_dimension,
    finished,
    get_variable_collections,
    two_element_tuple,
)
from thalweg._src.compat.contrib.layers.weighted import XAVIER, ZEROS, weighted_layer
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import nn
from thalweg._src.graph.ops.depthwise_convolution import depthwise_conv2d
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.convolution import Conv1D, Conv2D, Conv3D
from thalweg._src.training.nn.layers.separable_convolution import SeparableConv2D
from thalweg._src.training.nn.layers.transposed_convolution import Conv2DTranspose, Conv3DTranspose
from thalweg._src.training.variables.variable_scope import ReuseMode, VariableScope

_CLASSES = {3: Conv1D, 4: Conv2D, 5: Conv3D}
_SEPARABLE = {"bias": "biases", "depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights"}


def _layout(data_format: str | None, *allowed: str) -> str:
    if data_format not in (None, *allowed):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"


@export("contrib.layers.convolution", "contrib.slim.convolution")
@add_arg_scope
@weighted_layer("Conv")
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: int | Sequence[int] = 1,
    *,
    conv_dims: int | None = None,
) -> Any:
    """Convolves sequences, images or volumes, depending on the rank of the inputs."""
    layout = _layout(data_format, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")
    rank = None if inputs.dims is None else len(inputs.dims)
    if conv_dims is not None and rank != conv_dims + 2:
        raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
    if rank not in _CLASSES:
        raise ValueError(f"Convolution not supported for input with rank {rank}")
    window = {"kernel_size": kernel_size, "strides": stride, "padding": padding, "dilation_rate": rate}
    return _CLASSES[rank], {"filters": num_outputs, "data_format": layout, **window}


def _of_rank(dims: int, name: str) -> Any:
    """Returns `convolution` for inputs of one rank, with a name of its own, by which arg_scope refers to it."""

    @parameters_of(convolution, without=["conv_dims"])
    def function(**arguments: Any) -> Any:
        """Applies a convolution, normalizer and activation."""
        return convolution(**arguments, conv_dims=dims)

    function.__name__ = function.__qualname__ = name
    return add_arg_scope(function)


convolution1d = export(
    "contrib.layers.conv1d", "contrib.layers.convolution1d", "contrib.slim.conv1d", "contrib.slim.convolution1d"
)(_of_rank(1, "convolution1d"))
convolution2d = export(
    "contrib.layers.conv2d", "contrib.layers.convolution2d", "contrib.slim.conv2d", "contrib.slim.convolution2d"
)(_of_rank(2, "convolution2d"))
convolution3d = export(
    "contrib.layers.conv3d", "contrib.layers.convolution3d", "contrib.slim.conv3d", "contrib.slim.convolution3d"
)(_of_rank(3, "convolution3d"))


def _transposed(layer_class: Any, default: str, name: str, formats: tuple[str, str]) -> Any:
    def function(
        inputs: Any,
        num_outputs: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str = formats[0],
    ) -> Any:
        """Applies a transposed convolution, normalizer and activation."""
        window = {"kernel_size": kernel_size, "strides": stride, "padding": padding}
        return layer_class, {"filters": num_outputs, "data_format": _layout(data_format, *formats), **window}

    function.__name__ = function.__qualname__ = name
    return add_arg_scope(weighted_layer(default)(function))


convolution2d_transpose = export(
    "contrib.layers.conv2d_transpose",
    "contrib.layers.convolution2d_transpose",
    "contrib.slim.conv2d_transpose",
    "contrib.slim.convolution2d_transpose",
)(_transposed(Conv2DTranspose, "Conv2d_transpose", "convolution2d_transpose", ("NHWC", "NCHW")))
convolution3d_transpose = export(
    "contrib.layers.conv3d_transpose",
    "contrib.layers.convolution3d_transpose",
    "contrib.slim.conv3d_transpose",
    "contrib.slim.convolution3d_transpose",
)(_transposed(Conv3DTranspose, "Conv3d_transpose", "convolution3d_transpose", ("NDHWC", "NCDHW")))


@export(
    "contrib.layers.separable_conv2d",
    "contrib.layers.separable_convolution2d",
    "contrib.slim.separable_conv2d",
    "contrib.slim.separable_convolution2d",
)
@add_arg_scope
def separable_convolution2d(
    inputs: TensorLike,
    num_outputs: int | None,
    kernel_size: int | Sequence[int],
    depth_multiplier: int = 1,
    stride: int | Sequence[int] = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: int | Sequence[int] = 1,
    activation_fn: Callable[..., Any] | None = nn.relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Callable[..., Any] = XAVIER,
    pointwise_initializer: Callable[..., Any] | None = None,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Applies a depthwise convolution, and unless num_outputs is None a pointwise one.

    Args:
        num_outputs: Number of output channels; None skips the pointwise step.
    """
    layout = _layout(data_format, "NHWC", "NCHW")
    with layer_scope(scope, "SeparableConv2d", inputs, reuse, _SEPARABLE) as opened:
        inputs = convert_to_tensor(inputs)
        use_bias = bool(not normalizer_fn and biases_initializer)
        if num_outputs is None:
            convolved = _depthwise(
                inputs,
                (kernel_size, depth_multiplier, stride, padding, data_format, rate),
                (weights_initializer, weights_regularizer, trainable),
                (biases_initializer, biases_regularizer) if use_bias else None,
                variables_collections,
            )
            return finished(convolved, opened, normalizer_fn, normalizer_params, activation_fn, outputs_collections)
        layer = SeparableConv2D(
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=layout,
            dilation_rate=two_element_tuple(rate),
            depth_multiplier=depth_multiplier,
            use_bias=use_bias,
            depthwise_initializer=weights_initializer,
            pointwise_initializer=pointwise_initializer or weights_initializer,
            bias_initializer=biases_initializer,
            depthwise_regularizer=weights_regularizer,
            pointwise_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=opened.name,
            dtype=inputs.dtype.base_dtype,
            _scope=opened,
            _reuse=reuse,
        )
        outputs = layer(inputs)
        add_to_variable_collections(layer.depthwise_kernel, variables_collections, "weights")
        add_to_variable_collections(layer.pointwise_kernel, variables_collections, "weights")
        add_to_variable_collections(layer.bias, variables_collections, "biases")
        return finished(outputs, opened, normalizer_fn, normalizer_params, activation_fn, outputs_collections)


def _depthwise(inputs: Tensor, window: Any, weights: Any, biases: Any, variables_collections: Any) -> Tensor:
    """Applies a depthwise convolution."""
    kernel_size, multiplier, stride, padding, data_format, rate = window
    initializer, regularizer, trainable = weights
    channels = channel_dimension(inputs.shape, data_format, min_rank=4)
    height, width = two_element_tuple(stride)
    dtype = inputs.dtype.base_dtype
    kernel = model_variable(
        "depthwise_weights",
        shape=[*two_element_tuple(kernel_size), channels, multiplier],
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=get_variable_collections(variables_collections, "weights"),
    )
    strides = [1, 1, height, width] if data_format == "NCHW" else [1, height, width, 1]
    outputs = depthwise_conv2d(
        inputs, kernel, strides, padding, rate=list(two_element_tuple(rate)), data_format=data_format
    )
    if biases is None:
        return outputs
    bias = model_variable(
        "biases",
        shape=[(channels or 0) * multiplier],
        dtype=dtype,
        initializer=biases[0],
        regularizer=biases[1],
        trainable=trainable,
        collections=get_variable_collections(variables_collections, "biases"),
    )
    return nn.bias_add(outputs, bias, data_format=data_format)


conv1d = convolution1d
conv2d = convolution2d
conv3d = convolution3d
conv2d_transpose = convolution2d_transpose
conv3d_transpose = convolution3d_transpose
separable_conv2d = separable_convolution2d
