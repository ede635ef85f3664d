"""Inception v2 of Ioffe and Szegedy, "Batch Normalization"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import arg_scope
from thalweg._src.compat.contrib.layers.batch_norm import batch_norm
from thalweg._src.compat.contrib.layers.convolutions import conv2d, separable_conv2d
from thalweg._src.compat.contrib.layers.dense import softmax
from thalweg._src.compat.contrib.layers.pools import avg_pool2d, dropout, max_pool2d
from thalweg._src.compat.contrib.slim.nets.inception_utils import (
    Table,
    build,
    classified,
    inception_arg_scope,
    reduced_kernel,
    thinned,
)
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.initializers import TruncatedNormal
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope

_FIRST = "Conv2d_1a_7x7"


def _module(first: int, second: str, third: str, last: int, pool: str = "AvgPool") -> tuple[str, ...]:
    (narrow, wide), (narrower, wider) = second.split(), third.split()
    return (
        f"Conv2d_0a_1x1 {first}",
        f"Conv2d_0a_1x1 {narrow}, Conv2d_0b_3x3 {wide}",
        f"Conv2d_0a_1x1 {narrower}, Conv2d_0b_3x3 {wider}, Conv2d_0c_3x3 {wider}",
        f"{pool}_0a_3x3, Conv2d_0b_1x1 {last}",
    )


def _reduction(first: str, second: str) -> tuple[str, ...]:
    (narrow, wide), (narrower, wider) = first.split(), second.split()
    return (
        f"Conv2d_0a_1x1 {narrow}, Conv2d_1a_3x3 {wide} /2",
        f"Conv2d_0a_1x1 {narrower}, Conv2d_0b_3x3 {wider}, Conv2d_1a_3x3 {wider} /2",
        "MaxPool_1a_3x3 /2",
    )


_LAYERS: Table = {
    "MaxPool_2a_3x3": "/2",
    "Conv2d_2b_1x1": "64 ~0.1",
    "Conv2d_2c_3x3": "192",
    "MaxPool_3a_3x3": "/2",
    "Mixed_3b": _module(64, "64 64", "64 96", 32),
    "Mixed_3c": _module(64, "64 96", "64 96", 64),
    "Mixed_4a": _reduction("128 160", "64 96"),
    "Mixed_4b": _module(224, "64 96", "96 128", 128),
    "Mixed_4c": _module(192, "96 128", "96 128", 128),
    "Mixed_4d": _module(160, "128 160", "128 160", 96),
    "Mixed_4e": _module(96, "128 192", "160 192", 96),
    "Mixed_5a": _reduction("128 192", "192 256"),
    "Mixed_5b": _module(352, "192 320", "160 224", 128),
    "Mixed_5c": _module(352, "192 320", "192 224", 128, "MaxPool"),
}


@export("contrib.slim.nets.inception_v2.inception_v2_base", "contrib.slim.nets.inception.inception_v2_base")
def inception_v2_base(
    inputs: TensorLike,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, dict[str, Any]]:
    """Returns the output of a layer of the network, and the outputs of all layers before it by name."""
    depth = thinned(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV2", [inputs]),
        arg_scope([conv2d, max_pool2d, avg_pool2d, separable_conv2d], stride=1, padding="SAME"),
    ):
        net = separable_conv2d(
            inputs,
            depth(64),
            [7, 7],
            depth_multiplier=min(depth(64) // 3, 8),
            stride=2,
            weights_initializer=TruncatedNormal(0.0, 1.0),
            scope=_FIRST,
        )
        if final_endpoint == _FIRST:
            return net, {_FIRST: net}
        return build(net, _LAYERS, final_endpoint, {_FIRST: net}, depth, deviations=(0.09, 0.1))


@export("contrib.slim.nets.inception_v2.inception_v2", "contrib.slim.nets.inception.inception_v2")
def inception_v2(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: TensorLike = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: str | VariableScope = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:
    """Returns logits for images of 224 by 224, and the outputs of all layers by name."""
    with (
        variable_scope(scope, "InceptionV2", [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v2_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=opened
        )
        with variable_scope("Logits"):
            height, width = reduced_kernel(net, [7, 7])
            net = avg_pool2d(net, [height, width], padding="VALID", scope=f"AvgPool_1a_{height}x{width}")
            _, logits = classified(
                net, num_classes, dropout_keep_prob, spatial_squeeze, ("Dropout_1b", "Conv2d_1c_1x1")
            )
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v2.default_image_size = 224  # type: ignore[attr-defined]


@export("contrib.slim.nets.inception_v2.inception_v2_arg_scope", "contrib.slim.nets.inception.inception_v2_arg_scope")
def inception_v2_arg_scope(weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars") -> Any:
    """Returns the default arguments of the network's layers."""
    return inception_arg_scope(weight_decay, batch_norm_var_collection)
