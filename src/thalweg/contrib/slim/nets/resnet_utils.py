"""tf.contrib.slim.nets.resnet_utils: Utilities of residual networks."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.nets.resnet_utils import (
    Block as Block,
    conv2d_same as conv2d_same,
    resnet_arg_scope as resnet_arg_scope,
    stack_blocks_dense as stack_blocks_dense,
    subsample as subsample,
)

__all__ = ["Block", "conv2d_same", "resnet_arg_scope", "stack_blocks_dense", "subsample"]
