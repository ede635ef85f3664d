"""Distributions over the real line or an interval: Normal, Laplace, StudentT, Uniform."""

from __future__ import annotations

from math import e, log as log_of, pi, sqrt
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.ops import cast as cast_ops, check, math
from thalweg._src.graph.ops.comparison import is_nan, logical_or
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.random import random_gamma, random_normal, random_uniform
from thalweg._src.graph.ops.reshape import ones, ones_like, zeros_like
from thalweg._src.graph.ops.special import betainc, digamma, lgamma, ndtri
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.distributions.base import FULLY_REPARAMETERIZED, ScalarDistribution
from thalweg._src.training.nn.distributions.checks import derived_seed, floats
from thalweg._src.training.nn.distributions.divergence import RegisterKL
from thalweg._src.training.nn.distributions.normal_integral import log_laplace, log_ndtr, ndtr


class _LocationScale(ScalarDistribution):
    """A location-scale distribution."""

    _parameter_names = ("loc", "scale")
    loc = ReadOnly[Tensor]("The location.")
    scale = ReadOnly[Tensor]("The scale.")

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
        arguments: dict[str, Any],
    ) -> None:
        with name_scope(name, values=[loc, scale]) as scope:
            self._loc, self._scale = floats(validate_args, ("scale",), loc=loc, scale=scale)
        self._defined_by(arguments, [self._loc, self._scale], FULLY_REPARAMETERIZED, scope)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def _mean(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _mode(self) -> Tensor:
        return self._mean()


@export("distributions.Normal", "contrib.distributions.Normal")
class Normal(_LocationScale):
    """The normal distribution with mean `loc` and standard deviation `scale`."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        return random_normal(self._block(n), dtype=self.dtype, seed=seed) * self.scale + self.loc

    def _log_prob(self, value: Tensor) -> Tensor:
        return -0.5 * math.square(self._z(value)) - (0.5 * log_of(2 * pi) + math.log(self.scale))

    def _log_cdf(self, value: Tensor) -> Tensor:
        return log_ndtr(self._z(value))

    def _cdf(self, value: Tensor) -> Tensor:
        return ndtr(self._z(value))

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return log_ndtr(-self._z(value))

    def _survival_function(self, value: Tensor) -> Tensor:
        return ndtr(-self._z(value))

    def _quantile(self, value: Tensor) -> Tensor:
        return ndtri(value) * self.scale + self.loc

    def _entropy(self) -> Tensor:
        return 0.5 * log_of(2 * pi * e) + math.log(self._stddev())

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc)


@RegisterKL(Normal, Normal)
def _normal_from_normal(a: Normal, b: Normal, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        variance = math.square(b.scale)
        ratio = math.square(a.scale) / variance
        return math.squared_difference(a.loc, b.loc) / (2.0 * variance) + 0.5 * (ratio - 1.0 - math.log(ratio))


@export("distributions.Laplace", "contrib.distributions.Laplace")
class Laplace(_LocationScale):
    """The Laplace distribution, with density exp(-|x - loc| / scale) / (2 scale)."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        kind = self.dtype.as_numpy_dtype
        least = np.nextafter(kind(-1.0), kind(0.0))  # so that the log below is finite
        u = random_uniform(self._block(n), least, 1.0, dtype=self.dtype, seed=seed)
        return self.loc - self.scale * math.sign(u) * math.log1p(-math.abs(u))

    def _log_prob(self, value: Tensor) -> Tensor:
        return -math.abs(self._z(value)) - (log_of(2.0) + math.log(self.scale))  # type: ignore[no-any-return]

    def _log_cdf(self, value: Tensor) -> Tensor:
        return log_laplace(self._z(value))

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return log_laplace(-self._z(value))

    def _cdf(self, value: Tensor) -> Tensor:
        z = self._z(value)
        return 0.5 + 0.5 * math.sign(z) * (1.0 - math.exp(-math.abs(z)))

    def _entropy(self) -> Tensor:
        return log_of(2.0) + 1.0 + math.log(self.scale + zeros_like(self.loc))

    def _stddev(self) -> Tensor:
        return sqrt(2.0) * self.scale + zeros_like(self.loc)


@export("distributions.StudentT", "contrib.distributions.StudentT")
class StudentT(ScalarDistribution):
    """Student's t-distribution with `df` degrees of freedom, location `loc` and scale `scale`.

    Args:
        df: Degrees of freedom.
    """

    _parameter_names = ("df", "loc", "scale")
    df = ReadOnly[Tensor]("The degrees of freedom.")
    loc = ReadOnly[Tensor]("The location.")
    scale = ReadOnly[Tensor]("The scale.")

    def __init__(
        self,
        df: TensorLike,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name, values=[df, loc, scale]) as scope:
            self._df, self._loc, self._scale = floats(validate_args, ("df",), df=df, loc=loc, scale=scale)
        self._defined_by(arguments, [self._df, self._loc, self._scale], FULLY_REPARAMETERIZED, scope)

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        standard = random_normal(self._block(n), dtype=self.dtype, seed=seed)
        df = self._broadcast(self.df)
        squares = random_gamma([n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=derived_seed(seed, "student_t"))
        return standard * math.rsqrt(squares / df) * self.scale + self.loc

    def _log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        half = 0.5 * (self.df + 1.0)
        constant = math.log(math.abs(self.scale)) + 0.5 * math.log(self.df) + 0.5 * log_of(pi)
        return -half * math.log1p(math.square(z) / self.df) - (constant + lgamma(0.5 * self.df) - lgamma(half))

    def _cdf(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / math.abs(self.scale)
        x = self.df / (math.square(z) + self.df)
        tail = 0.5 * betainc(0.5 * self.df * ones_like(x), 0.5, x)
        return where_v2(z < 0.0, tail, 1.0 - tail)

    def _entropy(self) -> Tensor:
        half, more = self._broadcast(0.5 * self.df), 0.5 * (self.df + 1.0)
        beta = lgamma(half) + lgamma(0.5 * ones_like(half)) - lgamma(half + 0.5)
        constant = math.log(math.abs(self.scale)) + 0.5 * math.log(self.df)
        return constant + beta + more * (digamma(more) - digamma(0.5 * self.df))

    def _mean(self) -> Tensor:
        return self._where_defined(self._broadcast(self.loc), "mean")

    def _variance(self) -> Tensor:
        finite = self.df > 2.0
        freedom = where_v2(finite, self.df - 2.0, ones_like(self.df))
        variance = self._broadcast(math.square(self.scale) * self.df / freedom)
        return self._where_defined(where_v2(finite, variance, cast_ops.cast(np.inf, self.dtype)), "variance")

    def _where_defined(self, value: Tensor, what: str) -> Tensor:
        if self.allow_nan_stats:
            return where_v2(self.df > 1.0, value, cast_ops.cast(np.nan, self.dtype))
        message = f"{what} exists only for df > 1"
        checks = [check.assert_less(ones([], self.dtype), self.df, message=message)]
        return with_dependencies(checks, value)  # type: ignore[no-any-return]

    def _mode(self) -> Tensor:
        return identity(self.loc)


@export("distributions.Uniform", "contrib.distributions.Uniform")
class Uniform(ScalarDistribution):
    """The uniform distribution on [low, high).

    Args:
        low: Lower bound, included.
        high: Upper bound, excluded.
    """

    _parameter_names = ("low", "high")
    low = ReadOnly[Tensor]("The lower bound.")
    high = ReadOnly[Tensor]("The upper bound.")

    def __init__(
        self,
        low: TensorLike = 0.0,
        high: TensorLike = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name, values=[low, high]) as scope:
            message = "Uniform: low must be below high"
            with control_dependencies([check.assert_less(low, high, message=message)] if validate_args else []):
                self._low, self._high = floats(False, low=low, high=high)
        self._defined_by(arguments, [self._low, self._high], FULLY_REPARAMETERIZED, scope)

    def range(self, name: str = "range") -> Tensor:
        """Returns high - low."""
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        return self.low + self.range() * random_uniform(self._block(n), dtype=self.dtype, seed=seed)

    def _prob(self, value: Tensor) -> Tensor:
        x = self._broadcast(value)
        density = ones_like(x) / self.range()
        outside = logical_or(x < self.low, x >= self.high)
        return where_v2(is_nan(x), x, where_v2(outside, zeros_like(x), density))

    def _cdf(self, value: Tensor) -> Tensor:
        x = self._broadcast(value)
        below_high = where_v2(x < self.low, zeros_like(x), (x - self.low) / self.range())
        return where_v2(x >= self.high, ones_like(x), below_high)

    def _entropy(self) -> Tensor:
        return math.log(self.range())

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Tensor:
        return math.square(self.range()) / 12.0

    def _stddev(self) -> Tensor:
        return self.range() / sqrt(12.0)
