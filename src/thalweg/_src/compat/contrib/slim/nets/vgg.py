"""VGG networks of Simonyan and Zisserman, with 11, 16 and 19 layers."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import arg_scope
from thalweg._src.compat.contrib.layers.convolutions import conv2d
from thalweg._src.compat.contrib.layers.dense import fully_connected
from thalweg._src.compat.contrib.layers.outputs import convert_collection_to_dict
from thalweg._src.compat.contrib.layers.pools import dropout, max_pool2d, repeat
from thalweg._src.compat.contrib.layers.regularizers import l2_regularizer
from thalweg._src.compat.contrib.layers.weighted import ZEROS
from thalweg._src.graph.ops import nn
from thalweg._src.graph.ops.reshape import squeeze
from thalweg._src.training.variables.variable_scope import variable_scope

_FILTERS = (64, 128, 256, 512, 512)


@export("contrib.slim.nets.vgg.vgg_arg_scope")
def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Returns the default arguments of the networks' layers."""
    with (
        arg_scope(
            [conv2d, fully_connected],
            activation_fn=nn.relu,
            weights_regularizer=l2_regularizer(weight_decay),
            biases_initializer=ZEROS,
        ),
        arg_scope([conv2d], padding="SAME") as scope,
    ):
        return scope


def _vgg(name: str, *repetitions: int) -> Any:
    """Returns the network with the given number of convolutions before each pooling."""

    def vgg(
        inputs: Any,
        num_classes: int = 1000,
        is_training: Any = True,
        dropout_keep_prob: object = 0.5,
        spatial_squeeze: bool = True,
        scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:
        with variable_scope(scope, name, [inputs]) as opened:
            ends = f"{opened.name}_end_points"
            with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=ends):
                net = inputs
                for number, (times, filters) in enumerate(zip(repetitions, _FILTERS), 1):
                    net = repeat(net, times, conv2d, filters, [3, 3], scope=f"conv{number}")
                    net = max_pool2d(net, [2, 2], scope=f"pool{number}")
                net = conv2d(net, 4096, [7, 7], padding="VALID", scope="fc6")
                net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout6")
                net = conv2d(net, 4096, [1, 1], scope="fc7")
                net = dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout7")
                net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8")
            end_points = convert_collection_to_dict(ends)
            if spatial_squeeze:
                net = squeeze(net, [1, 2], name="fc8/squeezed")
                end_points[f"{opened.name}/fc8"] = net
            return net, end_points

    layers = sum(repetitions) + 3
    vgg.__name__ = vgg.__qualname__ = name
    vgg.__doc__ = f"Returns logits for images of 224 by 224, and the outputs of all layers by name; {layers} layers."
    vgg.default_image_size = 224  # type: ignore[attr-defined]
    return export(f"contrib.slim.nets.vgg.{name}")(vgg)


vgg_a = _vgg("vgg_a", 1, 1, 2, 2, 2)
vgg_16 = _vgg("vgg_16", 2, 2, 3, 3, 3)
vgg_19 = _vgg("vgg_19", 2, 2, 4, 4, 4)
vgg_d = vgg_16
vgg_e = vgg_19
