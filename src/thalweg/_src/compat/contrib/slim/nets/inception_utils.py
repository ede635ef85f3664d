"""Inception networks of any version: tables of layers, the networks they describe, and default arguments.

A layer is written as its scope, which names its kernel, its number of channels unless it is a pool, and what differs
from the defaults: "Conv2d_1a_3x3 160 /2" has stride 2, "Conv2d_1a_1x1 384 3x3" another kernel than its scope says, and
"Conv2d_2b_1x1 64 ~0.1" starts with weights of that standard deviation. A module is a tuple of branches, whose layers
are separated by commas; "+" joins layers with the same input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from thalweg._src.compat.contrib.framework.arg_scope import arg_scope
from thalweg._src.compat.contrib.layers.batch_norm import batch_norm
from thalweg._src.compat.contrib.layers.convolutions import conv2d
from thalweg._src.compat.contrib.layers.dense import fully_connected
from thalweg._src.compat.contrib.layers.initializers import variance_scaling_initializer
from thalweg._src.compat.contrib.layers.pools import avg_pool2d, dropout, max_pool2d
from thalweg._src.compat.contrib.layers.regularizers import l2_regularizer
from thalweg._src.graph.ops import nn
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.reshape import squeeze
from thalweg._src.graph.scopes import GraphKeys
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.initializers import TruncatedNormal
from thalweg._src.training.variables.variable_scope import variable_scope

Table = Mapping[str, str | tuple[str, ...]]
_KERNEL = re.compile(r"(\d)x(\d)$")


def thinned(depth_multiplier: float, min_depth: int) -> Callable[[int], int]:
    """Returns the function from a layer's full number of channels to the one it gets."""
    if depth_multiplier <= 0:
        raise ValueError(f"depth_multiplier: expected a positive number, received {depth_multiplier}")
    return lambda depth: max(int(depth * depth_multiplier), min_depth)


def build(
    net: object,
    table: Table,
    final_endpoint: str,
    end_points: dict[str, Any],
    depth: Callable[[int], int] = int,
    strided_padding: str = "SAME",
    deviations: tuple[float | None, float | None] = (None, None),
) -> tuple[Any, dict[str, Any]]:
    """Adds the layers and modules of a table up to an end point; returns its output and all outputs by name.

    strided_padding: the padding of layers with a stride inside modules
    deviations: standard deviations of the first weights of a branch with several convolutions, and of those after a
        pool
    """
    for name, stage in table.items():
        if isinstance(stage, str):
            net = _layer(net, f"{name} {stage}", depth, None)
        else:
            with variable_scope(name):
                branches = []
                for number, branch in enumerate(stage):
                    with variable_scope(f"Branch_{number}"):
                        branches.append(_branch(net, branch, depth, strided_padding, deviations))
                net = concat(branches, 3)
        end_points[name] = net
        if name == final_endpoint:
            return net, end_points
    raise ValueError(f"Unknown final endpoint {final_endpoint}: expected one of {', '.join(table)}")


def _branch(
    net: object,
    branch: str,
    depth: Callable[[int], int],
    strided_padding: str,
    deviations: tuple[float | None, float | None],
) -> Any:
    layers = branch.split(", ")
    for number, layer in enumerate(layers):
        deviation = None
        if number == 0 and len(layers) > 1:
            deviation = deviations[0]
        elif number == 1 and "Pool" in layers[0]:
            deviation = deviations[1]
        outputs = [
            _layer(net, f"{one} {strided_padding}" if "/" in one else one, depth, deviation)
            for one in layer.split(" + ")
        ]
        net = outputs[0] if len(outputs) == 1 else concat(outputs, 3)
    return net


def _layer(net: object, text: str, depth: Callable[[int], int], deviation: float | None) -> Any:
    scope, *words = text.split()
    options: dict[str, Any] = {"scope": scope}
    match = _KERNEL.search(scope)
    channels = 0
    for word in words:
        if word.startswith("/"):
            options["stride"] = int(word[1:])
        elif word in ("SAME", "VALID"):
            options["padding"] = word
        elif word.startswith("~"):
            deviation = float(word[1:])
        elif word.isdigit():
            channels = depth(int(word))
        else:
            match = _KERNEL.match(word)
    assert match is not None, f"{text} has no kernel"
    kernel = [int(match[1]), int(match[2])]
    if scope.startswith("MaxPool"):
        return max_pool2d(net, kernel, **options)
    if scope.startswith("AvgPool"):
        return avg_pool2d(net, kernel, **options)
    if deviation is not None:
        options["weights_initializer"] = TruncatedNormal(0.0, deviation)
    return conv2d(net, channels, kernel, **options)


def reduced_kernel(net: Any, kernel: list[int]) -> list[int]:
    """Returns a kernel that is no larger than the image, if its size is known."""
    size = net.get_shape().as_list()[1:3]
    return kernel if None in size else [min(pair) for pair in zip(size, kernel)]


def classified(
    net: Any,
    num_classes: int,
    dropout_keep_prob: object,
    spatial_squeeze: bool,
    scopes: tuple[str, str],
    **options: Any,
) -> tuple[Any, Any]:
    """Returns the input of the last layer and its logits; scopes are those of dropout and of that layer."""
    net = dropout(net, dropout_keep_prob, scope=scopes[0])
    logits = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=scopes[1], **options)
    return net, squeezed(logits) if spatial_squeeze else logits


def squeezed(logits: TensorLike) -> Any:
    """Returns logits without their spatial dimensions."""
    return squeeze(logits, [1, 2], name="SpatialSqueeze")


def inception_arg_scope(
    weight_decay: float, batch_norm_var_collection: str, use_batch_norm: bool = True, **batch_norm_params: Any
) -> Any:
    """Returns the default arguments of the networks' layers."""
    moving = [batch_norm_var_collection]
    normalizer_params = {
        "decay": 0.9997,
        "epsilon": 0.001,
        "updates_collections": GraphKeys.UPDATE_OPS,
        "variables_collections": {"beta": None, "gamma": None, "moving_mean": moving, "moving_variance": moving},
        **batch_norm_params,
    }
    with (
        arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay)),
        arg_scope(
            [conv2d],
            weights_initializer=variance_scaling_initializer(),
            activation_fn=nn.relu,
            normalizer_fn=batch_norm if use_batch_norm else None,
            normalizer_params=normalizer_params if use_batch_norm else {},
        ) as scope,
    ):
        return scope
