"""tf.contrib.slim.nets.resnet_v2: residual networks with normalization before convolutions."""

from thalweg._src.contrib.slim.nets.resnet_v2 import (
    bottleneck,
    resnet_arg_scope,
    resnet_v2,
    resnet_v2_50,
    resnet_v2_101,
    resnet_v2_152,
    resnet_v2_200,
    resnet_v2_block,
)

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v2",
    "resnet_v2_50",
    "resnet_v2_101",
    "resnet_v2_152",
    "resnet_v2_200",
    "resnet_v2_block",
]
