"""Inception v3 of Szegedy et al., "Rethinking the Inception Architecture for Computer Vision"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import arg_scope
from thalweg._src.compat.contrib.layers.batch_norm import batch_norm
from thalweg._src.compat.contrib.layers.convolutions import conv2d
from thalweg._src.compat.contrib.layers.dense import softmax
from thalweg._src.compat.contrib.layers.pools import avg_pool2d, dropout, max_pool2d
from thalweg._src.compat.contrib.slim.nets.inception_utils import (
    Table,
    build,
    classified,
    inception_arg_scope,
    reduced_kernel,
    squeezed,
    thinned,
)
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.initializers import TruncatedNormal
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope


def _wide(last: int, second: str = "Conv2d_0a_1x1 48, Conv2d_0b_5x5 64") -> tuple[str, ...]:
    return (
        "Conv2d_0a_1x1 64",
        second,
        "Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, Conv2d_0c_3x3 96",
        f"AvgPool_0a_3x3, Conv2d_0b_1x1 {last}",
    )


def _factored(n: int) -> tuple[str, ...]:
    return (
        "Conv2d_0a_1x1 192",
        f"Conv2d_0a_1x1 {n}, Conv2d_0b_1x7 {n}, Conv2d_0c_7x1 192",
        f"Conv2d_0a_1x1 {n}, Conv2d_0b_7x1 {n}, Conv2d_0c_1x7 {n}, Conv2d_0d_7x1 {n}, Conv2d_0e_1x7 192",
        "AvgPool_0a_3x3, Conv2d_0b_1x1 192",
    )


def _forked(letter: str) -> tuple[str, ...]:
    return (
        "Conv2d_0a_1x1 320",
        f"Conv2d_0a_1x1 384, Conv2d_0b_1x3 384 + Conv2d_0{letter}_3x1 384",
        "Conv2d_0a_1x1 448, Conv2d_0b_3x3 384, Conv2d_0c_1x3 384 + Conv2d_0d_3x1 384",
        "AvgPool_0a_3x3, Conv2d_0b_1x1 192",
    )


_STEM: Table = {
    "Conv2d_1a_3x3": "32 /2",
    "Conv2d_2a_3x3": "32",
    "Conv2d_2b_3x3": "64 SAME",
    "MaxPool_3a_3x3": "/2",
    "Conv2d_3b_1x1": "80",
    "Conv2d_4a_3x3": "192",
    "MaxPool_5a_3x3": "/2",
}
_MODULES: Table = {
    "Mixed_5b": _wide(32),
    "Mixed_5c": _wide(64, "Conv2d_0b_1x1 48, Conv_1_0c_5x5 64"),  # the names in published checkpoints
    "Mixed_5d": _wide(64),
    "Mixed_6a": (
        "Conv2d_1a_1x1 384 3x3 /2",
        "Conv2d_0a_1x1 64, Conv2d_0b_3x3 96, Conv2d_1a_1x1 96 3x3 /2",
        "MaxPool_1a_3x3 /2",
    ),
    "Mixed_6b": _factored(128),
    "Mixed_6c": _factored(160),
    "Mixed_6d": _factored(160),
    "Mixed_6e": _factored(192),
    "Mixed_7a": (
        "Conv2d_0a_1x1 192, Conv2d_1a_3x3 320 /2",
        "Conv2d_0a_1x1 192, Conv2d_0b_1x7 192, Conv2d_0c_7x1 192, Conv2d_1a_3x3 192 /2",
        "MaxPool_1a_3x3 /2",
    ),
    "Mixed_7b": _forked("b"),
    "Mixed_7c": _forked("c"),
}


@export("contrib.slim.nets.inception_v3.inception_v3_base", "contrib.slim.nets.inception.inception_v3_base")
def inception_v3_base(
    inputs: TensorLike,
    final_endpoint: str = "Mixed_7c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: str | VariableScope | None = None,
) -> tuple[Tensor, dict[str, Any]]:
    """Returns the output of a layer of the network, and the outputs of all layers before it by name."""
    depth = thinned(depth_multiplier, min_depth)
    layers = [conv2d, max_pool2d, avg_pool2d]
    with variable_scope(scope, "InceptionV3", [inputs]):
        in_stem = final_endpoint in _STEM
        with arg_scope(layers, stride=1, padding="VALID"):
            net, end_points = build(inputs, _STEM, final_endpoint if in_stem else [*_STEM][-1], {}, depth)
        if in_stem:
            return net, end_points
        with arg_scope(layers, stride=1, padding="SAME"):
            return build(net, _MODULES, final_endpoint, end_points, depth, strided_padding="VALID")


def _auxiliary(net: object, num_classes: int, depth: Callable[[int], int], spatial_squeeze: bool) -> Any:
    """Returns the logits of the auxiliary classifier."""
    with (
        arg_scope([conv2d, max_pool2d, avg_pool2d], stride=1, padding="SAME"),
        variable_scope("AuxLogits"),
    ):
        net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        height, width = reduced_kernel(net, [5, 5])
        net = conv2d(
            net,
            depth(768),
            [height, width],
            weights_initializer=TruncatedNormal(0.0, 0.01),
            padding="VALID",
            scope=f"Conv2d_2a_{height}x{width}",
        )
        logits = conv2d(
            net,
            num_classes,
            [1, 1],
            activation_fn=None,
            normalizer_fn=None,
            weights_initializer=TruncatedNormal(0.0, 0.001),
            scope="Conv2d_2b_1x1",
        )
        return squeezed(logits) if spatial_squeeze else logits


@export("contrib.slim.nets.inception_v3.inception_v3", "contrib.slim.nets.inception.inception_v3")
def inception_v3(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: TensorLike = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: str | VariableScope = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """Returns logits for images of 299 by 299, and the outputs of all layers by name."""
    depth = thinned(depth_multiplier, min_depth)
    with (
        variable_scope(scope, "InceptionV3", [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=opened
        )
        end_points["AuxLogits"] = _auxiliary(end_points["Mixed_6e"], num_classes, depth, spatial_squeeze)
        with variable_scope("Logits"):
            height, width = reduced_kernel(net, [8, 8])
            net = avg_pool2d(net, [height, width], padding="VALID", scope=f"AvgPool_1a_{height}x{width}")
            end_points["PreLogits"], logits = classified(
                net, num_classes, dropout_keep_prob, spatial_squeeze, ("Dropout_1b", "Conv2d_1c_1x1")
            )
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v3.default_image_size = 299  # type: ignore[attr-defined]


@export("contrib.slim.nets.inception_v3.inception_v3_arg_scope", "contrib.slim.nets.inception.inception_v3_arg_scope")
def inception_v3_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars", use_fused_batchnorm: bool = True
) -> Any:
    """Returns the default arguments of the network's layers."""
    return inception_arg_scope(weight_decay, batch_norm_var_collection, fused=use_fused_batchnorm)
