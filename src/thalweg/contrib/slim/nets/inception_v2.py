"""tf.contrib.slim.nets.inception_v2: Inception, version 2, with batch normalization."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.nets.inception_v2 import (
    inception_v2 as inception_v2,
    inception_v2_arg_scope as inception_v2_arg_scope,
    inception_v2_base as inception_v2_base,
)

__all__ = ["inception_v2", "inception_v2_arg_scope", "inception_v2_base"]
