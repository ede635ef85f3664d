"""Inception v1 (GoogLeNet) of Szegedy et al., "Going Deeper with Convolutions"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import arg_scope
from thalweg._src.compat.contrib.layers.batch_norm import batch_norm
from thalweg._src.compat.contrib.layers.convolutions import conv2d
from thalweg._src.compat.contrib.layers.dense import fully_connected, softmax
from thalweg._src.compat.contrib.layers.pools import avg_pool2d, dropout, max_pool2d
from thalweg._src.compat.contrib.slim.nets.inception_utils import Table, build, classified, inception_arg_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.initializers import TruncatedNormal
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope


def _module(first: int, second: str, third: str, last: int, third_scope: str = "Conv2d_0b_3x3") -> tuple[str, ...]:
    (narrow, wide), (narrower, wider) = second.split(), third.split()
    return (
        f"Conv2d_0a_1x1 {first}",
        f"Conv2d_0a_1x1 {narrow}, Conv2d_0b_3x3 {wide}",
        f"Conv2d_0a_1x1 {narrower}, {third_scope} {wider}",
        f"MaxPool_0a_3x3, Conv2d_0b_1x1 {last}",
    )


_LAYERS: Table = {
    "Conv2d_1a_7x7": "64 /2",
    "MaxPool_2a_3x3": "/2",
    "Conv2d_2b_1x1": "64",
    "Conv2d_2c_3x3": "192",
    "MaxPool_3a_3x3": "/2",
    "Mixed_3b": _module(64, "96 128", "16 32", 32),
    "Mixed_3c": _module(128, "128 192", "32 96", 64),
    "MaxPool_4a_3x3": "/2",
    "Mixed_4b": _module(192, "96 208", "16 48", 64),
    "Mixed_4c": _module(160, "112 224", "24 64", 64),
    "Mixed_4d": _module(128, "128 256", "24 64", 64),
    "Mixed_4e": _module(112, "144 288", "32 64", 64),
    "Mixed_4f": _module(256, "160 320", "32 128", 128),
    "MaxPool_5a_2x2": "/2",
    "Mixed_5b": _module(256, "160 320", "32 128", 128, "Conv2d_0a_3x3"),  # its name in published checkpoints
    "Mixed_5c": _module(384, "192 384", "48 128", 128),
}


@export("contrib.slim.nets.inception_v1.inception_v1_base", "contrib.slim.nets.inception.inception_v1_base")
def inception_v1_base(
    inputs: TensorLike, final_endpoint: str = "Mixed_5c", scope: str | VariableScope = "InceptionV1"
) -> tuple[Tensor, dict[str, Any]]:
    """Returns the output of a layer of the network, and the outputs of all layers before it by name."""
    with (
        variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope([conv2d, fully_connected], weights_initializer=TruncatedNormal(0.0, 0.01)),
        arg_scope([conv2d, max_pool2d], stride=1, padding="SAME"),
    ):
        return build(inputs, _LAYERS, final_endpoint, {})


@export("contrib.slim.nets.inception_v1.inception_v1", "contrib.slim.nets.inception.inception_v1")
def inception_v1(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: TensorLike = 0.8,
    prediction_fn: Callable[..., Any] = softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: str | VariableScope = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """Returns logits for images of 224 by 224, and the outputs of all layers by name."""
    with (
        variable_scope(scope, "InceptionV1", [inputs], reuse=reuse) as opened,
        arg_scope([batch_norm, dropout], is_training=is_training),
    ):
        net, end_points = inception_v1_base(inputs, scope=opened)
        with variable_scope("Logits"):
            net = avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            _, logits = classified(
                net, num_classes, dropout_keep_prob, spatial_squeeze, ("Dropout_0b", "Conv2d_0c_1x1")
            )
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v1.default_image_size = 224  # type: ignore[attr-defined]


@export("contrib.slim.nets.inception_v1.inception_v1_arg_scope", "contrib.slim.nets.inception.inception_v1_arg_scope")
def inception_v1_arg_scope(
    weight_decay: float = 0.00004, use_batch_norm: bool = True, batch_norm_var_collection: str = "moving_vars"
) -> Any:
    """Returns the default arguments of the network's layers."""
    return inception_arg_scope(weight_decay, batch_norm_var_collection, use_batch_norm)
