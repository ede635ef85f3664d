"""Layers without variables: pooling, flatten and dropout; and `repeat` and `stack` of layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.errors import require_text
from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.compat.contrib.framework.variables import layer_scope
from thalweg._src.compat.contrib.layers.outputs import collect_named_outputs
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.pooling import pool as pooled
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.layers.dropout import Dropout, flatten as flattened
from thalweg._src.training.nn.layers.pooling import AveragePooling2D, AveragePooling3D, MaxPooling2D, MaxPooling3D
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope


def _pool(layer_class: Any, default: str, name: str, formats: tuple[str, str], doc: str) -> Any:
    def function(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: str = formats[0],
        outputs_collections: Any = None,
        scope: str | None = None,
    ) -> Tensor:
        if data_format not in formats:
            raise ValueError(f"data_format has to be either {' or '.join(formats)}.")
        with name_scope(scope, default, [inputs]) as opened:
            inputs = convert_to_tensor(inputs)
            layout = "channels_first" if data_format == formats[1] else "channels_last"
            layer = layer_class(
                pool_size=kernel_size, strides=stride, padding=padding, data_format=layout, _scope=opened
            )
            return collect_named_outputs(outputs_collections, opened, layer(inputs))  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{doc}\n\nArgs:\n    kernel_size: Size of the window along each spatial dimension, or one number for all."
    )
    return add_arg_scope(function)


max_pool2d = export("contrib.layers.max_pool2d", "contrib.slim.max_pool2d")(
    _pool(MaxPooling2D, "MaxPool2D", "max_pool2d", ("NHWC", "NCHW"), "Returns the maximum of each window.")
)
avg_pool2d = export("contrib.layers.avg_pool2d", "contrib.slim.avg_pool2d")(
    _pool(AveragePooling2D, "AvgPool2D", "avg_pool2d", ("NHWC", "NCHW"), "Returns the mean of each window.")
)
max_pool3d = export("contrib.layers.max_pool3d", "contrib.slim.max_pool3d")(
    _pool(MaxPooling3D, "MaxPool3D", "max_pool3d", ("NDHWC", "NCDHW"), "Returns the maximum of each window.")
)
avg_pool3d = export("contrib.layers.avg_pool3d", "contrib.slim.avg_pool3d")(
    _pool(AveragePooling3D, "AvgPool3D", "avg_pool3d", ("NDHWC", "NCDHW"), "Returns the mean of each window.")
)


@export("contrib.layers.pool", "contrib.slim.pool")
@add_arg_scope
def pool(
    inputs: TensorLike,
    kernel_size: int | Sequence[int],
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: int | Sequence[int] = 1,
    stride: int | Sequence[int] = 1,
    outputs_collections: Sequence[str] | None = None,
    scope: str | None = None,
) -> Tensor:
    """Pools over windows of any number of spatial dimensions.

    Args:
        kernel_size: Size of the window along each spatial dimension, or one number for all.
        dilation_rate: Distance between the elements of the window along each spatial dimension.
    """
    require_text("pooling_type", pooling_type)
    with name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as opened:
        inputs = convert_to_tensor(inputs)
        rank = len(inputs.dims or ()) - 2

        def spread(value: Any) -> list[int]:
            return list(value) if isinstance(value, list | tuple) else [value] * rank

        outputs = pooled(
            inputs,
            spread(kernel_size),
            pooling_type,
            padding,
            dilation_rate=spread(dilation_rate),
            strides=spread(stride),
            data_format=data_format,
        )
        return collect_named_outputs(outputs_collections, opened, outputs)  # type: ignore[no-any-return]


@export("contrib.layers.flatten", "contrib.slim.flatten")
@add_arg_scope
def flatten(inputs: TensorLike, outputs_collections: Sequence[str] | None = None, scope: str | None = None) -> Tensor:
    """Flattens all dimensions but the first."""
    with name_scope(scope, "Flatten", [inputs]) as opened:
        outputs = flattened(convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, opened, outputs)  # type: ignore[no-any-return]


@export("contrib.layers.dropout", "contrib.slim.dropout")
@add_arg_scope
def dropout(
    inputs: TensorLike,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: TensorLike = True,
    outputs_collections: Sequence[str] | None = None,
    scope: str | VariableScope | None = None,
    seed: int | None = None,
) -> Tensor:
    """Sets a random part of the inputs to zero in training and scales the rest up."""
    with layer_scope(scope, "Dropout", inputs) as opened:
        inputs = convert_to_tensor(inputs)
        layer = Dropout(rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=opened.name, _scope=opened)
        outputs = layer(inputs, training=is_training)
        return collect_named_outputs(outputs_collections, opened.name, outputs)  # type: ignore[no-any-return]


def _name_of(layer: Any, default: str) -> str:
    return str(getattr(getattr(layer, "func", layer), "__name__", default))


@export("contrib.layers.repeat", "contrib.slim.repeat")
@add_arg_scope
def repeat(inputs: TensorLike, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Applies a layer several times, under the scopes name_1, name_2, ..."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        base = scope if scope is not None else _name_of(layer, "repeat")
        outputs = convert_to_tensor(inputs)
        for number in range(repetitions):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{base}_{number + 1}"})
        return outputs


@export("contrib.layers.stack", "contrib.slim.stack")
@add_arg_scope
def stack(inputs: TensorLike, layer: Callable[..., Any], stack_args: Sequence[Any], **kwargs: Any) -> Any:
    """Applies a layer several times with different arguments, under the scopes name_1, name_2, ..."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Stack", [inputs]):
        base = scope if scope is not None else _name_of(layer, "stack")
        outputs = convert_to_tensor(inputs)
        for number, arguments in enumerate(stack_args):
            positional = arguments if isinstance(arguments, list | tuple) else [arguments]
            outputs = layer(outputs, *positional, **{**kwargs, "scope": f"{base}_{number + 1}"})
        return outputs
