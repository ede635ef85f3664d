"""Cumulative distribution function of the normal distribution, its log in the tails, and the log of Laplace's."""

from __future__ import annotations

from math import log as log_of, pi, sqrt

from thalweg._src.base import dtypes
from thalweg._src.graph.ops import math
from thalweg._src.graph.ops.special import erf, erfc
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.tensor import Tensor

# Below the first the log is a series; above the second it is that of 1 minus a small number.
_LIMITS = {dtypes.float32: (-10.0, 5.0), dtypes.float64: (-20.0, 8.0)}


def _limits(x: Tensor) -> tuple[float, float]:
    if x.dtype not in _LIMITS:
        raise TypeError(f"x.dtype={x.dtype.name} is not supported: it must be float32 or float64")
    return _LIMITS[x.dtype]


def ndtr(x: Tensor) -> Tensor:
    """Returns the probability that a standard normal sample is less than x."""
    _limits(x)
    half = sqrt(0.5)
    w = x * half
    z = math.abs(w)
    tail = where_v2(w > 0, 2.0 - erfc(z), erfc(z))
    return 0.5 * where_v2(z < half, 1.0 + erf(w), tail)


def log_ndtr(x: Tensor) -> Tensor:
    """Returns the log of `ndtr`; branches that are not selected have finite gradients."""
    low, high = _limits(x)
    middle = math.log(ndtr(math.maximum(x, low)))
    return where_v2(x > high, -ndtr(-x), where_v2(x > low, middle, _far_below(math.minimum(x, low))))


def _far_below(x: Tensor) -> Tensor:
    square = math.square(x)
    series = 1.0 - 1.0 / square + 3.0 / math.square(square) - 15.0 / (square * math.square(square))
    return -0.5 * square - math.log(-x) - 0.5 * log_of(2 * pi) + math.log(series)


def log_laplace(x: Tensor) -> Tensor:
    """Returns the log of the cumulative distribution function of the Laplace distribution."""
    below = -log_of(2.0) + x
    return where_v2(x < 0, below, math.log1p(-0.5 * math.exp(-math.abs(x))))
