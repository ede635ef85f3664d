"""tf.random: random numbers and their seeds."""

from thalweg.graph.seeds import (
    get_seed,
    set_random_seed,
)
from thalweg.ops.joining import (
    split,
)
from thalweg.ops.random import (
    categorical,
    multinomial,
    random_gamma as gamma,
    random_normal as normal,
    random_poisson as poisson,
    random_shuffle as shuffle,
    random_uniform as uniform,
    stateless_categorical,
    stateless_multinomial,
    stateless_truncated_normal,
    truncated_normal,
)

__all__ = [
    "categorical",
    "gamma",
    "get_seed",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "split",
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_truncated_normal",
    "truncated_normal",
    "uniform",
]
