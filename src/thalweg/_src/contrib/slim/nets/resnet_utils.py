"""Utilities of residual networks: blocks, strides or dilation, and default arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from thalweg._src.contrib.framework.arg_scope import add_arg_scope, arg_scope
from thalweg._src.contrib.layers.batch_norm import batch_norm
from thalweg._src.contrib.layers.convolutions import conv2d
from thalweg._src.contrib.layers.initializers import variance_scaling_initializer
from thalweg._src.contrib.layers.outputs import collect_named_outputs
from thalweg._src.contrib.layers.pools import max_pool2d
from thalweg._src.contrib.layers.regularizers import l2_regularizer
from thalweg._src.export import export
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.ops import nn
from thalweg._src.ops.pad_tile import pad
from thalweg._src.variables.variable_scope import variable_scope


@export("contrib.slim.nets.resnet_utils.Block")
class Block(NamedTuple):
    """A block: its scope, the function that builds a unit, and the arguments of each unit."""

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[dict[str, Any]]


@export("contrib.slim.nets.resnet_utils.subsample")
def subsample(inputs: Any, factor: int, scope: Any = None) -> Any:
    """Subsamples images to every factor-th pixel."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


@export("contrib.slim.nets.resnet_utils.conv2d_same")
def conv2d_same(inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: Any = None) -> Any:
    """Applies a strided convolution with padding independent of the input size."""
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope)
    total = kernel_size + (kernel_size - 1) * (rate - 1) - 1
    around = [total // 2, total - total // 2]
    padded = pad(inputs, [[0, 0], around, around, [0, 0]])
    return conv2d(padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@export("contrib.slim.nets.resnet_utils.stack_blocks_dense")
@add_arg_scope
def stack_blocks_dense(
    net: Any, blocks: Sequence[Block], output_stride: int | None = None, outputs_collections: Any = None
) -> Any:
    """Builds the units of all blocks; once output_stride is reached, dilation replaces strides."""
    current_stride, rate = 1, 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as opened:
            for number, unit in enumerate(block.args):
                if output_stride is not None and current_stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with variable_scope(f"unit_{number + 1}", values=[net]):
                    stride = unit.get("stride", 1)
                    if output_stride is not None and current_stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= stride
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        current_stride *= stride
            net = collect_named_outputs(outputs_collections, opened.name, net)
    if output_stride is not None and current_stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


@export(
    "contrib.slim.nets.resnet_utils.resnet_arg_scope",
    "contrib.slim.nets.resnet_v1.resnet_arg_scope",
    "contrib.slim.nets.resnet_v2.resnet_arg_scope",
)
def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:
    """Returns the default arguments of the networks' layers."""
    normalizer_params = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with (
        arg_scope(
            [conv2d],
            weights_regularizer=l2_regularizer(weight_decay),
            weights_initializer=variance_scaling_initializer(),
            activation_fn=nn.relu,
            normalizer_fn=batch_norm,
            normalizer_params=normalizer_params,
        ),
        arg_scope([batch_norm], **normalizer_params),
        arg_scope([max_pool2d], padding="SAME") as scope,
    ):
        return scope
