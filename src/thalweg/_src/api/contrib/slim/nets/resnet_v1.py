"""tf.contrib.slim.nets.resnet_v1: residual networks."""

from thalweg._src.contrib.slim.nets.resnet_v1 import (
    bottleneck,
    resnet_arg_scope,
    resnet_v1,
    resnet_v1_50,
    resnet_v1_101,
    resnet_v1_152,
    resnet_v1_200,
    resnet_v1_block,
)

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v1",
    "resnet_v1_50",
    "resnet_v1_101",
    "resnet_v1_152",
    "resnet_v1_200",
    "resnet_v1_block",
]
