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
    stateless_categorical,
    stateless_multinomial,
    stateless_truncated_normal,
    truncated_normal,
)
from thalweg.ops.random import (
    random_gamma as gamma,
)
from thalweg.ops.random import (
    random_normal as normal,
)
from thalweg.ops.random import (
    random_poisson as poisson,
)
from thalweg.ops.random import (
    random_shuffle as shuffle,
)
from thalweg.ops.random import (
    random_uniform as uniform,
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
