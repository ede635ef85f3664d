"""tf.contrib.slim.nets.inception_v3: Inception, version 3."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.nets.inception_v3 import (
    inception_v3 as inception_v3,
    inception_v3_arg_scope as inception_v3_arg_scope,
    inception_v3_base as inception_v3_base,
)

__all__ = ["inception_v3", "inception_v3_arg_scope", "inception_v3_base"]
