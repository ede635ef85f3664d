"""tf.contrib.slim.nets.overfeat: OverFeat."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.contrib.slim.nets.overfeat import (
    overfeat as overfeat,
    overfeat_arg_scope as overfeat_arg_scope,
)

__all__ = ["overfeat", "overfeat_arg_scope"]
