"""Layer, instance and group normalization."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.compat.contrib.framework.variables import layer_scope, model_variable
from thalweg._src.compat.contrib.layers.outputs import finished, get_variable_collections
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.normalization import batch_normalization, moments
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.initializers import Ones, Zeros
from thalweg._src.training.variables.variable_scope import ReuseMode, VariableScope


def _parameters(
    inputs: Tensor, sizes: object, center: bool, scale: bool, initializers: Any, collections: Any, trainable: bool
) -> tuple[Any, Any]:
    """Returns beta and gamma, None for one that is disabled."""

    if initializers is not None:
        require_members("param_initializers", initializers, "a dict of initializers", "get")

    def make(name: str, initializer: Any) -> Any:
        return model_variable(
            name,
            shape=sizes,
            dtype=inputs.dtype.base_dtype,
            initializer=(initializers or {}).get(name, initializer),
            collections=get_variable_collections(collections, name),
            trainable=trainable,
        )

    return make("beta", Zeros()) if center else None, make("gamma", Ones()) if scale else None


def _static_sizes(inputs: Tensor, axes: Any, what: str) -> list[int]:
    assert inputs.dims is not None
    sizes = [inputs.dims[axis] for axis in axes]
    if None in sizes:
        raise ValueError(f"Inputs {inputs.label} has undefined {what} dimension {inputs.shape}.")
    return [size for size in sizes if size is not None]


def _rank(inputs: Tensor) -> int:
    if inputs.dims is None:
        raise ValueError(f"Inputs {inputs.label} has undefined rank.")
    if not inputs.dims:
        raise ValueError("inputs: expected at least one dimension, received a scalar")
    return len(inputs.dims)


@export("contrib.layers.layer_norm", "contrib.slim.layer_norm")
@add_arg_scope
def layer_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable[..., Any] | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Normalizes each example over the axes from begin_norm_axis on, after Ba et al."""
    with layer_scope(scope, "LayerNorm", inputs, reuse) as opened:
        inputs = convert_to_tensor(inputs)
        rank = _rank(inputs)
        begin_norm_axis += rank if begin_norm_axis < 0 else 0
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) "
                f"must be < rank(inputs) ({rank})"
            )
        sizes = _static_sizes(inputs, range(rank)[begin_params_axis:], "parameter")
        beta, gamma = _parameters(inputs, sizes, center, scale, None, variables_collections, trainable)
        whole: Any = cast(inputs, dtypes.float32) if inputs.dtype in (dtypes.float16, dtypes.bfloat16) else inputs
        mean, variance = (
            cast(m, inputs.dtype) for m in moments(whole, list(range(begin_norm_axis, rank)), keep_dims=True)
        )
        epsilon = 1e-3 if inputs.dtype is dtypes.float16 else 1e-12
        outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.dims)
        return finished(outputs, opened, None, None, activation_fn, outputs_collections)


@export("contrib.layers.instance_norm", "contrib.slim.instance_norm")
@add_arg_scope
def instance_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: str | VariableScope | None = None,
) -> Tensor:
    """Normalizes each channel of each example, after Ulyanov et al."""
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with layer_scope(scope, "InstanceNorm", inputs, reuse) as opened:
        inputs = convert_to_tensor(inputs)
        rank = _rank(inputs)
        channel = 1 if data_format == "NCHW" else rank - 1
        sizes = _static_sizes(inputs, [channel], "channels")
        beta, gamma = _parameters(inputs, sizes, center, scale, param_initializers, variables_collections, trainable)
        if data_format == "NCHW":
            spread = [1, sizes[0], *[1] * (rank - 2)]
            beta, gamma = (None if p is None else reshape(p, spread) for p in (beta, gamma))
        axes = [axis for axis in range(1, rank) if axis != channel]
        mean, variance = moments(inputs, axes, keep_dims=True)
        outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.dims)
        return finished(outputs, opened, None, None, activation_fn, outputs_collections)


@export("contrib.layers.group_norm", "contrib.slim.group_norm")
@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: object = None,
    reuse: bool | ReuseMode | None = None,
    variables_collections: object = None,
    outputs_collections: Sequence[str] | None = None,
    trainable: bool = True,
    scope: str | VariableScope | None = None,
    mean_close_to_zero: bool = False,
) -> Tensor:
    """Normalizes groups of channels of each example, after Wu and He.

    Args:
        groups: Number of groups of channels.
        channels_axis: The axis of the channels.
        reduction_axes: The axes to average over, besides those of a group.
        mean_close_to_zero: Accepted for compatibility; the statistics are computed in one way.
    """
    with layer_scope(scope, "GroupNorm", inputs, reuse) as opened:
        inputs = convert_to_tensor(inputs)
        rank = _rank(inputs)
        channel = channels_axis % rank
        reduced = [axis % rank for axis in reduction_axes]
        if channel in reduced:
            raise ValueError(f"reduction_axis cannot be the channels axis, {channels_axis}")
        (channels,) = _static_sizes(inputs, [channel], "channels")
        if groups > channels or channels % groups:
            raise ValueError(f"{groups} groups do not divide {channels} channels of {inputs.label}")
        beta, gamma = _parameters(
            inputs, [channels], center, scale, param_initializers, variables_collections, trainable
        )
        sizes = shape(inputs)
        grouped = reshape(inputs, concat([sizes[:channel], [groups, channels // groups], sizes[channel + 1 :]], 0))
        grouped.set_shape([*inputs.dims[:channel], groups, channels // groups, *inputs.dims[channel + 1 :]])
        axes = [axis + 1 if axis > channel else axis for axis in reduced]
        mean, variance = moments(grouped, [*axes, channel + 1], keep_dims=True)
        spread = [1] * (rank + 1)
        spread[channel : channel + 2] = [groups, channels // groups]
        beta, gamma = (None if p is None else reshape(p, spread) for p in (beta, gamma))
        outputs = reshape(batch_normalization(grouped, mean, variance, beta, gamma, epsilon), sizes)
        outputs.set_shape(inputs.dims)
        return finished(outputs, opened, None, None, activation_fn, outputs_collections)
