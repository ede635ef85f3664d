"""tf.contrib.slim.nets.alexnet: AlexNet."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.nets.alexnet import (
    alexnet_v2 as alexnet_v2,
    alexnet_v2_arg_scope as alexnet_v2_arg_scope,
)

__all__ = ["alexnet_v2", "alexnet_v2_arg_scope"]
