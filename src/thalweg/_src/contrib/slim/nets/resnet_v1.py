"""ResNet v1 of He et al., with normalization after each convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.contrib.framework.arg_scope import add_arg_scope, arg_scope
from thalweg._src.contrib.layers.batch_norm import batch_norm
from thalweg._src.contrib.layers.convolutions import conv2d
from thalweg._src.contrib.layers.outputs import collect_named_outputs, convert_collection_to_dict, last_dimension
from thalweg._src.contrib.layers.pools import max_pool2d
from thalweg._src.contrib.slim.nets.resnet_utils import (
    Block,
    conv2d_same,
    resnet_arg_scope as resnet_arg_scope,
    stack_blocks_dense,
    subsample,
)
from thalweg._src.export import export
from thalweg._src.ops import nn
from thalweg._src.ops.reduction import reduce_mean
from thalweg._src.variables.variable_scope import variable_scope


@export("contrib.slim.nets.resnet_v1.bottleneck")
@add_arg_scope
def bottleneck(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
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


@export("contrib.slim.nets.resnet_v1.resnet_v1")
def resnet_v1(
    inputs: Any,
    blocks: Sequence[Block],
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    include_root_block: bool = True,
    reuse: Any = None,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """Returns the logits, or features if num_classes is None, and the outputs of all layers by name."""
    with variable_scope(scope, "resnet_v1", [inputs], reuse=reuse) as opened:
        ends = f"{opened.name}_end_points"
        with (
            arg_scope([conv2d, bottleneck, stack_blocks_dense], outputs_collections=ends),
            arg_scope([batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                if output_stride is not None:
                    if output_stride % 4 != 0:
                        raise ValueError(f"output_stride: expected 4, 8, 12, ..., received {output_stride}")
                    output_stride //= 4
                net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = stack_blocks_dense(net, blocks, output_stride)
            if global_pool:
                net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits")
            end_points = convert_collection_to_dict(ends)
            if num_classes is not None:
                end_points["predictions"] = nn.softmax(net)
            return net, end_points


@export("contrib.slim.nets.resnet_v1.resnet_v1_block")
def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Returns a block of bottleneck units, the last one with the stride."""
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    return Block(scope, bottleneck, [{**unit, "stride": 1}] * (num_units - 1) + [{**unit, "stride": stride}])


def _resnet(name: str, units: tuple[int, int, int, int], inputs: Any, given: tuple[Any, ...]) -> Any:
    num_classes, is_training, global_pool, output_stride, reuse, scope = given
    blocks = [
        resnet_v1_block(f"block{number + 1}", 64 * 2**number, count, 1 if number == 3 else 2)
        for number, count in enumerate(units)
    ]
    return resnet_v1(inputs, blocks, num_classes, is_training, global_pool, output_stride, True, reuse, scope or name)


@export("contrib.slim.nets.resnet_v1.resnet_v1_50")
def resnet_v1_50(
    inputs: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    reuse: Any = None,
    scope: Any = "resnet_v1_50",
) -> tuple[Any, dict[str, Any]]:
    """Returns logits and the outputs of all layers by name; 50 layers."""
    given = (num_classes, is_training, global_pool, output_stride, reuse, scope)
    return _resnet("resnet_v1_50", (3, 4, 6, 3), inputs, given)  # type: ignore[no-any-return]


@export("contrib.slim.nets.resnet_v1.resnet_v1_101")
def resnet_v1_101(
    inputs: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    reuse: Any = None,
    scope: Any = "resnet_v1_101",
) -> tuple[Any, dict[str, Any]]:
    """Returns logits and the outputs of all layers by name; 101 layers."""
    given = (num_classes, is_training, global_pool, output_stride, reuse, scope)
    return _resnet("resnet_v1_101", (3, 4, 23, 3), inputs, given)  # type: ignore[no-any-return]


@export("contrib.slim.nets.resnet_v1.resnet_v1_152")
def resnet_v1_152(
    inputs: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    reuse: Any = None,
    scope: Any = "resnet_v1_152",
) -> tuple[Any, dict[str, Any]]:
    """Returns logits and the outputs of all layers by name; 152 layers."""
    given = (num_classes, is_training, global_pool, output_stride, reuse, scope)
    return _resnet("resnet_v1_152", (3, 8, 36, 3), inputs, given)  # type: ignore[no-any-return]


@export("contrib.slim.nets.resnet_v1.resnet_v1_200")
def resnet_v1_200(
    inputs: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    reuse: Any = None,
    scope: Any = "resnet_v1_200",
) -> tuple[Any, dict[str, Any]]:
    """Returns logits and the outputs of all layers by name; 200 layers."""
    given = (num_classes, is_training, global_pool, output_stride, reuse, scope)
    return _resnet("resnet_v1_200", (3, 24, 36, 3), inputs, given)  # type: ignore[no-any-return]


for _function in (resnet_v1, resnet_v1_50, resnet_v1_101, resnet_v1_152, resnet_v1_200):
    setattr(_function, "default_image_size", 224)  # noqa: B010
