"""convolution2d_in_plane, legacy_fully_connected and gdn (generalized divisive normalization)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.compat.contrib.framework.variables import layer_scope, model_variable
from thalweg._src.compat.contrib.layers.outputs import (
    channel_dimension,
    finished,
    get_variable_collections,
    preset,
    two_element_tuple,
)
from thalweg._src.compat.contrib.layers.weighted import XAVIER, ZEROS
from thalweg._src.graph.autodiff.custom_gradient import custom_gradient
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import nn
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater_equal, less, logical_or
from thalweg._src.graph.ops.convolution import convolution
from thalweg._src.graph.ops.depthwise_convolution import depthwise_conv2d
from thalweg._src.graph.ops.math import maximum, rsqrt, sqrt, square
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.reshape import reshape, shape as shape_of
from thalweg._src.graph.scopes import GraphKeys, add_to_collections
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.initializers import Constant
from thalweg._src.training.variables.variable_scope import ReuseMode, VariableScope, get_variable, variable_scope


@export(
    "contrib.layers.conv2d_in_plane",
    "contrib.layers.convolution2d_in_plane",
    "contrib.slim.conv2d_in_plane",
    "contrib.slim.convolution2d_in_plane",
)
@add_arg_scope
def convolution2d_in_plane(
    inputs: TensorLike,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] = 1,
    padding: str = "SAME",
    activation_fn: Callable[..., Any] | None = nn.relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Callable[..., Any] = XAVIER,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Callable[..., Any] | None = ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Convolves each channel with the same filter."""
    with layer_scope(scope, "ConvInPlane", inputs, reuse) as opened:
        inputs = convert_to_tensor(inputs)
        channels = channel_dimension(inputs.shape, "NHWC", min_rank=4)
        dtype = inputs.dtype.base_dtype
        weights = model_variable(
            "weights",
            shape=[*two_element_tuple(kernel_size), 1, 1],
            dtype=dtype,
            initializer=weights_initializer,
            regularizer=weights_regularizer,
            collections=get_variable_collections(variables_collections, "weights"),
            trainable=trainable,
        )
        height, width = two_element_tuple(stride)
        outputs = depthwise_conv2d(inputs, tile(weights, [1, 1, channels, 1]), [1, height, width, 1], padding)
        if normalizer_fn is None and biases_initializer is not None:
            biases = model_variable(
                "biases",
                shape=[channels],
                dtype=dtype,
                initializer=biases_initializer,
                regularizer=biases_regularizer,
                collections=get_variable_collections(variables_collections, "biases"),
                trainable=trainable,
            )
            outputs = nn.bias_add(outputs, biases)
        return finished(outputs, opened, normalizer_fn, normalizer_params, activation_fn, outputs_collections)


conv2d_in_plane = convolution2d_in_plane


@export("contrib.layers.legacy_fully_connected", "contrib.slim.legacy_fully_connected")
def legacy_fully_connected(
    x: TensorLike,
    num_output_units: int,
    activation_fn: Callable[..., Any] | None = None,
    weight_init: Callable[..., Any] = XAVIER,
    bias_init: Callable[..., Any] = ZEROS,
    name: str | None = None,
    weight_collections: Sequence[str] = (GraphKeys.WEIGHTS,),
    bias_collections: Sequence[str] = (GraphKeys.BIASES,),
    output_collections: Sequence[str] = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Callable[..., Any] | None = None,
    bias_regularizer: Callable[..., Any] | None = None,
) -> Tensor:
    """Returns activation(x * weights + bias) over the last dimension of x.

    Args:
        name: Name of the layer.
    """
    with variable_scope(name, "fully_connected", [x]):
        x = convert_to_tensor(x)
        sizes = x.get_shape().as_list()
        if len(sizes) < 2 or sizes[-1] is None:
            raise ValueError(f"x: expected rank 2 or more and a known last dimension, received shape {x.get_shape()}")

        def create(variable: str, shape: list[int], initializer: Any, collections: Any, regularizer: Any) -> Any:
            places = {*collections, GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES}
            return get_variable(
                variable,
                shape,
                x.dtype.base_dtype,
                initializer,
                collections=sorted(places),
                regularizer=regularizer,
                trainable=trainable,
            )

        weights = create("weights", [sizes[-1], num_output_units], weight_init, weight_collections, weight_regularizer)
        flat = x if len(sizes) == 2 else reshape(x, [-1, sizes[-1]])
        outputs = matmul(flat, weights)
        if bias_init is not None:
            outputs = nn.bias_add(
                outputs, create("bias", [num_output_units], bias_init, bias_collections, bias_regularizer)
            )
        if len(sizes) > 2:
            dynamic = shape_of(x)
            leading = [dynamic[i] if size is None else size for i, size in enumerate(sizes[:-1])]
            outputs = reshape(outputs, [*leading, num_output_units])
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        add_to_collections(list(output_collections), outputs)
        return outputs


legacy_linear = export("contrib.layers.legacy_linear", "contrib.slim.legacy_linear")(
    preset(
        legacy_fully_connected,
        "legacy_linear",
        "Applies a fully connected layer without activation over the last dimension.",
        activation_fn=None,
    )
)
legacy_relu = export("contrib.layers.legacy_relu", "contrib.slim.legacy_relu")(
    preset(
        legacy_fully_connected,
        "legacy_relu",
        "Applies a fully connected layer with the ReLU activation over the last dimension.",
        activation_fn=nn.relu,
    )
)


@export("contrib.layers.gdn", "contrib.slim.gdn")
@add_arg_scope
def gdn(
    inputs: TensorLike,
    inverse: bool = False,
    beta_min: float = 1e-6,
    gamma_init: float = 0.1,
    reparam_offset: float = 2**-18,
    data_format: str = "channels_last",
    activity_regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | ReuseMode | None = None,
) -> Tensor:
    """Divides (or multiplies, if inverse) each channel by sqrt(beta + gamma * squared channels), after Ballé et al.

    Args:
        inverse: Whether the inverse transform is computed.
        beta_min: Smallest value of beta.
        gamma_init: First value of the diagonal of gamma.
        reparam_offset: Offset of the reparameterization of beta and gamma, which keeps them positive.
        name: Name of the layer.
    """
    with layer_scope(name, "GDN", inputs, reuse):
        inputs = convert_to_tensor(inputs)
        rank = len(inputs.get_shape().as_list())
        if not 3 <= rank <= 5:
            raise ValueError(f"gdn is there for inputs of rank 3, 4 and 5, received rank {rank}")
        first = data_format == "channels_first"
        channels = inputs.shape[1 if first else -1].value
        if channels is None:
            raise ValueError("The channel dimension of the inputs to `GDN` must be defined.")
        pedestal = reparam_offset**2
        beta = get_variable(
            "reparam_beta", [channels], inputs.dtype, Constant(math.sqrt(1 + pedestal)), trainable=trainable
        )
        start = np.sqrt(gamma_init * np.eye(channels) + pedestal).tolist()
        gamma = get_variable("reparam_gamma", [channels, channels], inputs.dtype, Constant(start), trainable=trainable)
        scale = square(_at_least(beta, math.sqrt(beta_min + pedestal))) - pedestal
        mixing = reshape(square(_at_least(gamma, reparam_offset)) - pedestal, [1] * (rank - 2) + [channels, channels])
        layouts = {3: ("NWC", "NCW"), 4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}[rank]
        pooled = convolution(square(inputs), mixing, "VALID", data_format=layouts[first])
        pooled = pooled + (reshape(scale, [channels] + [1] * (rank - 2)) if first else scale)
        outputs = inputs * (sqrt(pooled) if inverse else rsqrt(pooled))
        if activity_regularizer is not None:
            add_to_collections([GraphKeys.REGULARIZATION_LOSSES], activity_regularizer(outputs))
        return outputs


def _at_least(x: TensorLike, bound: float) -> Tensor:
    """Returns max(x, bound), with a gradient below the bound as well where it increases x."""

    @custom_gradient
    def bounded(x: Tensor) -> Any:
        def grad(grad: Tensor) -> Tensor:
            return grad * cast(logical_or(greater_equal(x, bound), less(grad, 0.0)), grad.dtype)  # type: ignore[no-any-return]

        return maximum(x, bound), grad

    result: Tensor = bounded(convert_to_tensor(x))
    return result
