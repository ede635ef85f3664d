"""tf.contrib.stateless: random numbers that are functions of a seed."""

from thalweg._src.ops.random import (
    stateless_multinomial,
    stateless_normal,
    stateless_normal as stateless_random_normal,
    stateless_truncated_normal,
    stateless_uniform as stateless_random_uniform,
)

__all__ = [
    "stateless_multinomial",
    "stateless_normal",
    "stateless_random_normal",
    "stateless_random_uniform",
    "stateless_truncated_normal",
]
