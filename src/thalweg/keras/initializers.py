"""tf.keras.initializers: Initializers of weights."""

# Written by `make api` from the names that thalweg/_src exports; edits are lost.

from thalweg._src.keras.initializers import (
    RandomNormal as RandomNormal,
    RandomNormal as normal,
    RandomNormal as random_normal,
    RandomUniform as RandomUniform,
    RandomUniform as random_uniform,
    RandomUniform as uniform,
    TruncatedNormal as TruncatedNormal,
    TruncatedNormal as truncated_normal,
    deserialize as deserialize,
    get as get,
    serialize as serialize,
)
from thalweg._src.training.variables.initializers import (
    Constant as Constant,
    Constant as constant,
    GlorotNormal as glorot_normal,
    GlorotUniform as glorot_uniform,
    Identity as Identity,
    Identity as identity,
    Initializer as Initializer,
    Ones as Ones,
    Ones as ones,
    Orthogonal as Orthogonal,
    Orthogonal as orthogonal,
    VarianceScaling as VarianceScaling,
    Zeros as Zeros,
    Zeros as zeros,
    he_normal as he_normal,
    he_uniform as he_uniform,
    lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
)

__all__ = [
    "Constant", "Identity", "Initializer", "Ones", "Orthogonal", "RandomNormal", "RandomUniform", "TruncatedNormal",
    "VarianceScaling", "Zeros", "constant", "deserialize", "get", "glorot_normal", "glorot_uniform", "he_normal",
    "he_uniform", "identity", "lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal", "random_normal",
    "random_uniform", "serialize", "truncated_normal", "uniform", "zeros",
]
