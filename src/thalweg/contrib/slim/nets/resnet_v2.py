"""tf.contrib.slim.nets.resnet_v2: Residual networks, version 2, with preactivation."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.nets.resnet_utils import resnet_arg_scope as resnet_arg_scope
from thalweg._src.compat.contrib.slim.nets.resnet_v2 import (
    bottleneck as bottleneck,
    resnet_v2 as resnet_v2,
    resnet_v2_101 as resnet_v2_101,
    resnet_v2_152 as resnet_v2_152,
    resnet_v2_200 as resnet_v2_200,
    resnet_v2_50 as resnet_v2_50,
    resnet_v2_block as resnet_v2_block,
)

__all__ = [
    "bottleneck", "resnet_arg_scope", "resnet_v2", "resnet_v2_101", "resnet_v2_152", "resnet_v2_200", "resnet_v2_50",
    "resnet_v2_block",
]
