"""OverFeat of Sermanet et al."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import arg_scope
from thalweg._src.compat.contrib.layers.convolutions import conv2d
from thalweg._src.compat.contrib.layers.dense import fully_connected
from thalweg._src.compat.contrib.layers.outputs import convert_collection_to_dict
from thalweg._src.compat.contrib.layers.pools import dropout, max_pool2d
from thalweg._src.compat.contrib.layers.regularizers import l2_regularizer
from thalweg._src.compat.contrib.layers.weighted import ZEROS
from thalweg._src.graph.ops import nn
from thalweg._src.graph.ops.reshape import squeeze
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.initializers import Constant, TruncatedNormal
from thalweg._src.training.variables.variable_scope import VariableScope, variable_scope


@export("contrib.slim.nets.overfeat.overfeat_arg_scope")
def overfeat_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Returns the default arguments of the network's layers."""
    with (
        arg_scope(
            [conv2d, fully_connected],
            activation_fn=nn.relu,
            weights_regularizer=l2_regularizer(weight_decay),
            biases_initializer=ZEROS,
        ),
        arg_scope([conv2d], padding="SAME"),
        arg_scope([max_pool2d], padding="VALID") as scope,
    ):
        return scope


@export("contrib.slim.nets.overfeat.overfeat")
def overfeat(
    inputs: TensorLike,
    num_classes: int = 1000,
    is_training: TensorLike = True,
    dropout_keep_prob: TensorLike = 0.5,
    spatial_squeeze: bool = True,
    scope: str | VariableScope = "overfeat",
) -> tuple[Any, dict[str, Any]]:
    """Returns logits for images of 231 by 231, and the outputs of all layers by name."""
    with variable_scope(scope, "overfeat", [inputs]) as opened:
        ends = f"{opened.name}_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=ends):
            net = conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = max_pool2d(net, [2, 2], scope="pool1")
            net = conv2d(net, 256, [5, 5], padding="VALID", scope="conv2")
            net = max_pool2d(net, [2, 2], scope="pool2")
            for number, channels in ((3, 512), (4, 1024), (5, 1024)):
                net = conv2d(net, channels, [3, 3], scope=f"conv{number}")
            net = max_pool2d(net, [2, 2], scope="pool5")
            with arg_scope([conv2d], weights_initializer=TruncatedNormal(0.0, 0.005), biases_initializer=Constant(0.1)):
                net = conv2d(net, 3072, [6, 6], padding="VALID", scope="fc6")
                net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout6")
                net = conv2d(net, 4096, [1, 1], scope="fc7")
                net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout7")
                net = conv2d(
                    net,
                    num_classes,
                    [1, 1],
                    activation_fn=None,
                    normalizer_fn=None,
                    biases_initializer=ZEROS,
                    scope="fc8",
                )
        end_points = convert_collection_to_dict(ends)
        if spatial_squeeze:
            net = squeeze(net, [1, 2], name="fc8/squeezed")
            end_points[f"{opened.name}/fc8"] = net
        return net, end_points


overfeat.default_image_size = 231  # type: ignore[attr-defined]
