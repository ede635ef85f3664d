"""tf.contrib.slim.initializers: Initializers of weights."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.layers.initializers import (
    variance_scaling_initializer as variance_scaling_initializer,
    xavier_initializer as xavier_initializer,
    xavier_initializer as xavier_initializer_conv2d,
)

__all__ = ["variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d"]
