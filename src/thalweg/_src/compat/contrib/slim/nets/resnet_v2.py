"""ResNet v2 of He et al., with normalization before each convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.compat.contrib.layers.batch_norm import batch_norm
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


@export("contrib.slim.nets.resnet_v2.bottleneck")
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
    """A bottleneck residual unit of three convolutions, with preactivation."""
    with variable_scope(scope, "bottleneck_v2", [inputs]) as opened:
        before = batch_norm(inputs, activation_fn=nn.relu, scope="preact")
        if last_dimension(inputs.shape, min_rank=4) == depth:
            shortcut = subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(
                before, depth, [1, 1], stride=stride, normalizer_fn=None, activation_fn=None, scope="shortcut"
            )
        residual = conv2d(before, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, normalizer_fn=None, activation_fn=None, scope="conv3")
        return collect_named_outputs(outputs_collections, opened.name, shortcut + residual)


@export("contrib.slim.nets.resnet_v2.resnet_v2_block")
def resnet_v2_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Returns a block of bottleneck units, the last one with the stride."""
    return bottleneck_block(bottleneck, scope, base_depth, num_units, stride)


def _of_depth(layers: int, *units: int) -> Any:
    name = f"resnet_v2_{layers}"
    return export(f"contrib.slim.nets.resnet_v2.{name}")(of_depth(resnet_v2, resnet_v2_block, name, units))


resnet_v2 = export("contrib.slim.nets.resnet_v2.resnet_v2")(network_of("resnet_v2", bottleneck, preactivation=True))
resnet_v2_50 = _of_depth(50, 3, 4, 6, 3)
resnet_v2_101 = _of_depth(101, 3, 4, 23, 3)
resnet_v2_152 = _of_depth(152, 3, 8, 36, 3)
resnet_v2_200 = _of_depth(200, 3, 24, 36, 3)
