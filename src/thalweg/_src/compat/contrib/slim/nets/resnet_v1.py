"""ResNet v1 of He et al., with normalization after each convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.compat.contrib.layers.convolutions import conv2d
from thalweg._src.compat.contrib.layers.outputs import collect_named_outputs, last_dimension
from thalweg._src.compat.contrib.slim.nets.resnet_utils import (
    Block,
    bottleneck_block,
    conv2d_same,
    network_of,
    of_depth,
    resnet_arg_scope as resnet_arg_scope,
    subsample,
)
from thalweg._src.graph.ops import nn
from thalweg._src.graph.tensor import Tensor
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope


@export("contrib.slim.nets.resnet_v1.bottleneck")
@add_arg_scope
def bottleneck(
    inputs: Tensor,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Sequence[str] | None = None,
    scope: str | VariableScope | None = None,
) -> Any:
    """A bottleneck residual unit of three convolutions."""
    with variable_scope(scope, "bottleneck_v1", [inputs]) as opened:
        if last_dimension(inputs.shape, min_rank=4) == depth:
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut")
        residual = conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return collect_named_outputs(outputs_collections, opened.name, nn.relu(shortcut + residual))


@export("contrib.slim.nets.resnet_v1.resnet_v1_block")
def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Returns a block of bottleneck units, the last one with the stride."""
    return bottleneck_block(bottleneck, scope, base_depth, num_units, stride)


def _of_depth(layers: int, *units: int) -> Any:
    name = f"resnet_v1_{layers}"
    return export(f"contrib.slim.nets.resnet_v1.{name}")(of_depth(resnet_v1, resnet_v1_block, name, units))


resnet_v1 = export("contrib.slim.nets.resnet_v1.resnet_v1")(network_of("resnet_v1", bottleneck, preactivation=False))
resnet_v1_50 = _of_depth(50, 3, 4, 6, 3)
resnet_v1_101 = _of_depth(101, 3, 4, 23, 3)
resnet_v1_152 = _of_depth(152, 3, 8, 36, 3)
resnet_v1_200 = _of_depth(200, 3, 24, 36, 3)
