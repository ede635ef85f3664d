"""tf.bitwise: Bitwise operations on integers."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.compat.gen_ops import (
    bitwise_and as bitwise_and,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    invert as invert,
    left_shift as left_shift,
    right_shift as right_shift,
)

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"]
