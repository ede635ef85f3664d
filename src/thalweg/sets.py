"""tf.sets: Set operations on the last dimension of tensors."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.ops.sets import (
    set_difference as difference,
    set_difference as set_difference,
    set_intersection as intersection,
    set_intersection as set_intersection,
    set_size as set_size,
    set_size as size,
    set_union as set_union,
    set_union as union,
)

__all__ = ["difference", "intersection", "set_difference", "set_intersection", "set_size", "set_union", "size", "union"]
