"""tf.contrib.stateless: Stateless random operations, which are functions of a seed."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.ops.random import (
    stateless_multinomial as stateless_multinomial,
    stateless_normal as stateless_normal,
    stateless_normal as stateless_random_normal,
    stateless_truncated_normal as stateless_truncated_normal,
    stateless_uniform as stateless_random_uniform,
)

__all__ = [
    "stateless_multinomial", "stateless_normal", "stateless_random_normal", "stateless_random_uniform",
    "stateless_truncated_normal",
]
