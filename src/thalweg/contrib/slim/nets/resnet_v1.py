"""tf.contrib.slim.nets.resnet_v1: Residual networks, version 1."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.nets.resnet_utils import resnet_arg_scope as resnet_arg_scope
from thalweg._src.compat.contrib.slim.nets.resnet_v1 import (
    bottleneck as bottleneck,
    resnet_v1 as resnet_v1,
    resnet_v1_101 as resnet_v1_101,
    resnet_v1_152 as resnet_v1_152,
    resnet_v1_200 as resnet_v1_200,
    resnet_v1_50 as resnet_v1_50,
    resnet_v1_block as resnet_v1_block,
)

__all__ = [
    "bottleneck", "resnet_arg_scope", "resnet_v1", "resnet_v1_101", "resnet_v1_152", "resnet_v1_200", "resnet_v1_50",
    "resnet_v1_block",
]
