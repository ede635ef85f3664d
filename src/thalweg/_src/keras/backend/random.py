"""Random numbers of the Keras backend, seeded by NumPy's generator, and dropout."""

from __future__ import annotations

import numpy as np

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.graph.ops import random
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import less_equal
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.training.nn import dropout as dropout_ops

_SEEDS = 10**7


def _seed(seed: int | None) -> int:
    """Returns a seed, by default drawn so that numpy.random.seed makes a program repeatable."""
    return int(np.random.randint(_SEEDS)) if seed is None else seed


@export("keras.backend.random_normal")
def random_normal(
    shape: ShapeLike | TensorLike,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """Returns normal numbers."""
    return random.random_normal(shape, mean, stddev, dtype or floatx(), _seed(seed))


@export("keras.backend.random_uniform")
def random_uniform(
    shape: ShapeLike | TensorLike,
    minval: float = 0.0,
    maxval: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """Returns uniform numbers between two limits."""
    return random.random_uniform(shape, minval, maxval, dtype or floatx(), _seed(seed))


@export("keras.backend.random_binomial")
def random_binomial(
    shape: ShapeLike | TensorLike, p: float = 0.0, dtype: DTypeLike | None = None, seed: int | None = None
) -> Tensor:
    """Returns ones with a probability, and zeros otherwise."""
    dtype = dtype or floatx()
    return cast(less_equal(random.random_uniform(shape, dtype=dtype, seed=_seed(seed)), p), dtype)  # type: ignore[no-any-return]


@export("keras.backend.truncated_normal")
def truncated_normal(
    shape: ShapeLike | TensorLike,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Tensor:
    """Returns normal numbers that are at most two standard deviations from the mean."""
    return random.truncated_normal(shape, mean, stddev, dtype or floatx(), _seed(seed))


@export("keras.backend.dropout")
def dropout(x: TensorLike, level: TensorLike, noise_shape: ShapeLike = None, seed: int | None = None) -> Tensor:
    """Sets a fraction of elements to zero and scales the others so that the expectation is preserved."""
    return dropout_ops.dropout(x, rate=level, noise_shape=noise_shape, seed=_seed(seed))
