"""tf.contrib.slim.nets.inception_v1: Inception, version 1."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.nets.inception_v1 import (
    inception_v1 as inception_v1,
    inception_v1_arg_scope as inception_v1_arg_scope,
    inception_v1_base as inception_v1_base,
)

__all__ = ["inception_v1", "inception_v1_arg_scope", "inception_v1_base"]
