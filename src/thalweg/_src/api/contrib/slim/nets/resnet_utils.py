"""tf.contrib.slim.nets.resnet_utils: what residual networks share."""

from thalweg._src.contrib.slim.nets.resnet_utils import (
    Block,
    conv2d_same,
    resnet_arg_scope,
    stack_blocks_dense,
    subsample,
)

__all__ = ["Block", "conv2d_same", "resnet_arg_scope", "stack_blocks_dense", "subsample"]
