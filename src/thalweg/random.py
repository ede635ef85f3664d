"""tf.random: Random number generation and seeds."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.graph.ops.candidate_sampling import (
    all_candidate_sampler as all_candidate_sampler,
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from thalweg._src.graph.ops.random import (
    categorical as categorical,
    multinomial as multinomial,
    random_gamma as gamma,
    random_normal as normal,
    random_poisson as poisson,
    random_shuffle as shuffle,
    random_uniform as uniform,
    stateless_categorical as stateless_categorical,
    stateless_multinomial as stateless_multinomial,
    stateless_normal as stateless_normal,
    stateless_truncated_normal as stateless_truncated_normal,
    stateless_uniform as stateless_uniform,
    truncated_normal as truncated_normal,
)
from thalweg._src.graph.ops.stateless_random import (
    fold_in as fold_in,
    split as split,
    stateless_binomial as stateless_binomial,
    stateless_gamma as stateless_gamma,
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
    stateless_poisson as stateless_poisson,
)
from thalweg._src.graph.seeds import (
    get_seed as get_seed,
    set_random_seed as set_random_seed,
)

__all__ = [
    "all_candidate_sampler", "categorical", "fixed_unigram_candidate_sampler", "fold_in", "gamma", "get_seed",
    "learned_unigram_candidate_sampler", "log_uniform_candidate_sampler", "multinomial", "normal", "poisson",
    "set_random_seed", "shuffle", "split", "stateless_binomial", "stateless_categorical", "stateless_gamma",
    "stateless_multinomial", "stateless_normal", "stateless_parameterized_truncated_normal", "stateless_poisson",
    "stateless_truncated_normal", "stateless_uniform", "truncated_normal", "uniform", "uniform_candidate_sampler",
]
