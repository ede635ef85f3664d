"""Residual networks of any version: blocks, strides or dilation, default arguments, and the network around a unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope, arg_scope
from thalweg._src.compat.contrib.layers.batch_norm import batch_norm
from thalweg._src.compat.contrib.layers.convolutions import conv2d
from thalweg._src.compat.contrib.layers.initializers import variance_scaling_initializer
from thalweg._src.compat.contrib.layers.outputs import collect_named_outputs, convert_collection_to_dict
from thalweg._src.compat.contrib.layers.pools import max_pool2d
from thalweg._src.compat.contrib.layers.regularizers import l2_regularizer
from thalweg._src.graph.ops import nn
from thalweg._src.graph.ops.pad_tile import pad
from thalweg._src.graph.ops.reduction import reduce_mean
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope

_IMAGE_SIZE = 224  # height and width that the networks were trained with


@export("contrib.slim.nets.resnet_utils.Block")
class Block(NamedTuple):
    """A block: its scope, the function that builds a unit, and the arguments of each unit."""

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[dict[str, Any]]


@export("contrib.slim.nets.resnet_utils.subsample")
def subsample(inputs: TensorLike, factor: int, scope: str | VariableScope | None = None) -> Any:
    """Subsamples images to every factor-th pixel."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


@export("contrib.slim.nets.resnet_utils.conv2d_same")
def conv2d_same(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: int,
    stride: int,
    rate: int = 1,
    scope: str | VariableScope | None = None,
) -> Any:
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
    net: TensorLike,
    blocks: Sequence[Block],
    output_stride: int | None = None,
    outputs_collections: Sequence[str] | None = None,
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


def bottleneck_block(unit_fn: Callable[..., Any], scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Returns a block of bottleneck units, the last one with the stride."""
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    return Block(scope, unit_fn, [{**unit, "stride": 1}] * (num_units - 1) + [{**unit, "stride": stride}])


def network_of(name: str, bottleneck: Callable[..., Any], preactivation: bool) -> Callable[..., Any]:
    """Returns the network around blocks of a kind of unit; with preactivation units normalize their inputs."""

    def network(
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
        """Returns logits, or features if num_classes is None, and the outputs of all layers by name."""
        with variable_scope(scope, name, [inputs], reuse=reuse) as opened:
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
                    # With preactivation the first unit normalizes and activates its inputs.
                    plain = {"activation_fn": None, "normalizer_fn": None} if preactivation else {}
                    with arg_scope([conv2d], **plain):
                        net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                    net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
                net = stack_blocks_dense(net, blocks, output_stride)
                if preactivation:
                    net = batch_norm(net, activation_fn=nn.relu, scope="postnorm")
                if global_pool:
                    net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
                if num_classes is not None:
                    net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits")
                end_points = convert_collection_to_dict(ends)
                if num_classes is not None:
                    end_points["predictions"] = nn.softmax(net)
                return net, end_points

    network.__name__ = network.__qualname__ = name
    network.default_image_size = _IMAGE_SIZE  # type: ignore[attr-defined]
    return network


def of_depth(
    network: Callable[..., Any], block: Callable[..., Block], name: str, units: Sequence[int]
) -> Callable[..., Any]:
    """Returns a network with one block for each number of units."""

    def resnet(
        inputs: object,
        num_classes: int | None = None,
        is_training: object = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        reuse: object = None,
        scope: object = name,
    ) -> Any:
        blocks = [
            block(f"block{number + 1}", 64 * 2**number, count, 1 if number == len(units) - 1 else 2)
            for number, count in enumerate(units)
        ]
        return network(inputs, blocks, num_classes, is_training, global_pool, output_stride, True, reuse, scope or name)

    resnet.__name__ = resnet.__qualname__ = name
    resnet.__doc__ = f"Returns logits and the outputs of all layers by name; {3 * sum(units) + 2} layers."
    resnet.default_image_size = _IMAGE_SIZE  # type: ignore[attr-defined]
    return resnet
