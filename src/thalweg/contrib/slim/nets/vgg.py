"""tf.contrib.slim.nets.vgg: VGG networks."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.nets.vgg import (
    vgg_16 as vgg_16,
    vgg_19 as vgg_19,
    vgg_a as vgg_a,
    vgg_arg_scope as vgg_arg_scope,
)

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope"]
