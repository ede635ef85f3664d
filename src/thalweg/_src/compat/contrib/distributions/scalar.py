"""Scalar distributions that only contrib has: Logistic, Gumbel, Cauchy, HalfNormal, InverseGamma and others."""

from __future__ import annotations

from math import log as log_of, pi, sqrt
from typing import Any

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.ops import cast as cast_ops, math
from thalweg._src.graph.ops.nn import softplus
from thalweg._src.graph.ops.random import random_gamma, random_normal, random_poisson, random_uniform
from thalweg._src.graph.ops.reshape import ones_like, zeros, zeros_like
from thalweg._src.graph.ops.special import betainc, digamma, erf, igammac, lgamma
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.distributions.base import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, ScalarDistribution
from thalweg._src.training.nn.distributions.checks import derived_seed, floats, logits_and_probs
from thalweg._src.training.nn.distributions.continuous import Laplace, Normal, _LocationScale
from thalweg._src.training.nn.distributions.positive import Exponential, Gamma
from thalweg._src.training.nn.distributions.simplex import Beta

_EULER = 0.5772156649015329  # the mean of the standard Gumbel distribution


def _uniform(distribution: ScalarDistribution, n: Any, seed: int | None) -> Tensor:
    """Returns uniform samples in the open interval from 0 to 1."""
    least = np.finfo(distribution.dtype.as_numpy_dtype).tiny
    return random_uniform(distribution._block(n), least, 1.0, dtype=distribution.dtype, seed=seed)


@export("contrib.distributions.Logistic")
class Logistic(_LocationScale):
    """The logistic distribution, whose cumulative distribution function is the sigmoid of (x - loc) / scale."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: TensorLike, seed: int | None = None) -> Tensor:
        u = _uniform(self, n, seed)
        return self.loc + self.scale * (math.log(u) - math.log1p(-u))

    def _log_prob(self, value: Tensor) -> Tensor:
        z = self._z(value)
        return -z - 2.0 * softplus(-z) - math.log(self.scale)

    def _log_cdf(self, value: Tensor) -> Tensor:
        return -softplus(-self._z(value))

    def _cdf(self, value: Tensor) -> Tensor:
        return math.sigmoid(self._z(value))

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return -softplus(self._z(value))

    def _survival_function(self, value: Tensor) -> Tensor:
        return math.sigmoid(-self._z(value))

    def _quantile(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (math.log(value) - math.log1p(-value))

    def _entropy(self) -> Tensor:
        return 2.0 + math.log(self.scale + zeros_like(self.loc))

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc) * (pi / sqrt(3.0))


@export("contrib.distributions.Gumbel")
class Gumbel(_LocationScale):
    """The Gumbel distribution of maxima, whose cumulative distribution function is exp(-exp(-(x - loc) / scale))."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gumbel",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: TensorLike, seed: int | None = None) -> Tensor:
        return self.loc - self.scale * math.log(-math.log(_uniform(self, n, seed)))

    def _log_prob(self, value: Tensor) -> Tensor:
        z = self._z(value)
        return -(z + math.exp(-z)) - math.log(self.scale)

    def _log_cdf(self, value: Tensor) -> Tensor:
        return -math.exp(-self._z(value))

    def _cdf(self, value: Tensor) -> Tensor:
        return math.exp(self._log_cdf(value))

    def _quantile(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * math.log(-math.log(value))

    def _entropy(self) -> Tensor:
        return 1.0 + _EULER + math.log(self.scale + zeros_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc + self.scale * _EULER

    def _mode(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc) * (pi / sqrt(6.0))


@export("contrib.distributions.Cauchy")
class Cauchy(_LocationScale):
    """The Cauchy distribution, which has neither mean nor variance."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Cauchy",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: TensorLike, seed: int | None = None) -> Tensor:
        return self._quantile(_uniform(self, n, seed))

    def _log_prob(self, value: Tensor) -> Tensor:
        return -math.log1p(math.square(self._z(value))) - (log_of(pi) + math.log(self.scale))

    def _cdf(self, value: Tensor) -> Tensor:
        return math.atan(self._z(value)) / pi + 0.5

    def _quantile(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * math.tan(pi * (value - 0.5))

    def _entropy(self) -> Tensor:
        return log_of(4.0 * pi) + math.log(self.scale + zeros_like(self.loc))

    def _mean(self) -> Tensor:
        return self._undefined("mean")

    def _stddev(self) -> Tensor:
        return self._undefined("stddev")

    def _mode(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _undefined(self, what: str) -> Tensor:
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return self._broadcast(cast_ops.cast(np.nan, self.dtype))


@export("contrib.distributions.HalfNormal")
class HalfNormal(ScalarDistribution):
    """The distribution of |x| for a normal x with mean 0."""

    _parameter_names = ("scale",)
    scale = ReadOnly[Tensor]("The standard deviation of x.")

    def __init__(
        self, scale: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "HalfNormal"
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[scale]) as scope:
            (self._scale,) = floats(validate_args, ("scale",), scale=scale)
        self._defined_by(parameters, [self._scale], FULLY_REPARAMETERIZED, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        signed = random_normal(self._block(n), dtype=self.dtype, seed=seed) * self.scale
        return math.abs(signed)  # type: ignore[no-any-return]

    def _log_prob(self, value: Tensor) -> Tensor:
        constant = 0.5 * log_of(2.0 / pi) - math.log(self.scale)
        density = constant - 0.5 * math.square(value / self.scale)
        return where_v2(value < 0.0, cast_ops.cast(-np.inf, self.dtype), density)

    def _cdf(self, value: Tensor) -> Tensor:
        return erf(math.maximum(value, 0.0) / (self.scale * sqrt(2.0)))

    def _entropy(self) -> Tensor:
        return 0.5 * log_of(pi / 2.0) + math.log(self.scale) + 0.5

    def _mean(self) -> Tensor:
        return self.scale * sqrt(2.0 / pi)

    def _variance(self) -> Tensor:
        return math.square(self.scale) * (1.0 - 2.0 / pi)

    def _mode(self) -> Tensor:
        return zeros_like(self.scale)


@export("contrib.distributions.InverseGamma")
class InverseGamma(ScalarDistribution):
    """The distribution of 1 / x for x of a gamma distribution."""

    _parameter_names = ("concentration", "rate")
    concentration = ReadOnly[Tensor]("The shape parameter.")
    rate = ReadOnly[Tensor]("The scale.")

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        parameters = dict(locals())
        names = ("concentration", "rate")
        with name_scope(name, values=[concentration, rate]) as scope:
            self._concentration, self._rate = floats(validate_args, names, concentration=concentration, rate=rate)
        self._defined_by(parameters, [self._concentration, self._rate], FULLY_REPARAMETERIZED, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return 1.0 / random_gamma([n], self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, value: Tensor) -> Tensor:
        constant = lgamma(self.concentration) - self.concentration * math.log(self.rate)
        return -(1.0 + self.concentration) * math.log(value) - self.rate / value - constant

    def _cdf(self, value: Tensor) -> Tensor:
        return igammac(self.concentration, self.rate / value)

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a + math.log(self.rate) + lgamma(a) - (1.0 + a) * digamma(a)

    def _mean(self) -> Tensor:
        return self._above(1.0, self.rate / (self.concentration - 1.0))

    def _variance(self) -> Tensor:
        a = self.concentration
        return self._above(2.0, math.square(self.rate / (a - 1.0)) / (a - 2.0))

    def _above(self, limit: float, value: Tensor) -> Tensor:
        return where_v2(self.concentration > limit, value, cast_ops.cast(np.nan, self.dtype))

    def _mode(self) -> Tensor:
        return self.rate / (1.0 + self.concentration)


@export("contrib.distributions.Chi2")
class Chi2(Gamma):
    """The chi-squared distribution with `df` degrees of freedom.

    Args:
        df: The degrees of freedom.
    """

    _parameter_names = ("df",)
    df = ReadOnly[Tensor]("The degrees of freedom.")

    def __init__(
        self, df: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2"
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[df]) as scope:
            (self._df,) = floats(validate_args, ("df",), df=df)
            half = 0.5 * self._df
            super().__init__(half, zeros_like(half) + 0.5, validate_args, allow_nan_stats, scope)
        self._defined_by(parameters, [self._df], FULLY_REPARAMETERIZED, scope)


@export("contrib.distributions.Geometric")
class Geometric(ScalarDistribution):
    """The number of failures before the first success."""

    _parameter_names = ("logits",)
    logits = ReadOnly[Tensor]("The log odds of success.")
    probs = ReadOnly[Tensor]("The probability of success.")

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[value for value in (logits, probs) if value is not None]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
        self._defined_by(parameters, [self._probs, self._logits], NOT_REPARAMETERIZED, scope)

    def _sample_n(self, n: TensorLike, seed: int | None = None) -> Tensor:
        return math.floor(math.log(_uniform(self, n, seed)) / math.log1p(-self.probs))

    def _log_prob(self, value: Tensor) -> Tensor:
        return math.xlogy(value, 1.0 - self.probs) + math.log(self.probs)

    def _cdf(self, value: Tensor) -> Tensor:
        count = math.floor(value)
        return where_v2(count < 0.0, zeros_like(count), -math.expm1((1.0 + count) * math.log1p(-self.probs)))

    def _entropy(self) -> Tensor:
        q = 1.0 - self.probs
        return -(math.xlogy(q, q) + math.xlogy(self.probs, self.probs)) / self.probs

    def _mean(self) -> Tensor:
        return math.exp(-self.logits)

    def _variance(self) -> Tensor:
        return self._mean() / self.probs

    def _mode(self) -> Tensor:
        return zeros_like(self.probs)


@export("contrib.distributions.NegativeBinomial")
class NegativeBinomial(ScalarDistribution):
    """The number of successes before `total_count` failures."""

    _parameter_names = ("total_count", "logits")
    total_count = ReadOnly[Tensor]("The number of failures.")
    logits = ReadOnly[Tensor]("The log odds of success.")
    probs = ReadOnly[Tensor]("The probability of success.")

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[total_count]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
            self._total_count = cast_ops.cast(total_count, self._probs.dtype)
        self._defined_by(parameters, [self._total_count, self._probs, self._logits], NOT_REPARAMETERIZED, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        rates = random_gamma(
            [n], self._broadcast(self.total_count), beta=math.exp(-self.logits), dtype=self.dtype, seed=seed
        )
        return random_poisson(rates, [], dtype=self.dtype, seed=derived_seed(seed, "negative_binom"))

    def _log_prob(self, value: Tensor) -> Tensor:
        r = self.total_count
        ways = lgamma(r + value) - lgamma(1.0 + value) - lgamma(r)
        return ways - r * softplus(self.logits) - math.multiply(value, softplus(-self.logits))

    def _cdf(self, value: Tensor) -> Tensor:
        count = math.floor(value)
        inside = betainc(
            self.total_count + zeros_like(count), math.maximum(1.0 + count, 1.0), math.sigmoid(-self.logits)
        )
        return where_v2(count < 0.0, zeros_like(count), inside)

    def _mean(self) -> Tensor:
        return self.total_count * math.exp(self.logits)

    def _variance(self) -> Tensor:
        return self._mean() / math.sigmoid(-self.logits)

    def _mode(self) -> Tensor:
        mode = (self.total_count - 1.0) * math.exp(self.logits)
        return where_v2(self.total_count > 1.0, math.floor(mode), zeros_like(mode))


@export("contrib.distributions.Deterministic")
class Deterministic(ScalarDistribution):
    """The distribution that is always `loc`; values within `atol + rtol * |loc|` of it are equal to it."""

    _parameter_names = ("loc",)
    loc = ReadOnly[Tensor]("The value.")

    def __init__(
        self,
        loc: TensorLike,
        atol: TensorLike | None = None,
        rtol: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[loc]) as scope:
            (self._loc,) = floats(validate_args, (), loc=loc)
            self._slack = (0.0 if atol is None else atol) + (0.0 if rtol is None else rtol) * math.abs(self._loc)
        self._defined_by(parameters, [self._loc], FULLY_REPARAMETERIZED, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self.loc + zeros(self._block(n), self.dtype)

    def _prob(self, value: Tensor) -> Tensor:
        equal: Tensor = cast_ops.cast(math.abs(value - self.loc) <= self._slack, self.dtype)
        return equal

    def _cdf(self, value: Tensor) -> Tensor:
        above: Tensor = cast_ops.cast(value >= self.loc - self._slack, self.dtype)
        return above

    def _entropy(self) -> Tensor:
        return zeros_like(self.loc)

    def _mean(self) -> Tensor:
        return self.loc

    def _variance(self) -> Tensor:
        return zeros_like(self.loc)

    def _mode(self) -> Tensor:
        return self.loc


# -- parameters of any sign -------------------------------------------------------------------------------------------


@export("contrib.distributions.NormalWithSoftplusScale")
class NormalWithSoftplusScale(Normal):
    """The normal distribution with standard deviation softplus(scale)."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        super().__init__(loc, softplus(scale), validate_args, allow_nan_stats, name)


@export("contrib.distributions.LaplaceWithSoftplusScale")
class LaplaceWithSoftplusScale(Laplace):
    """The Laplace distribution with scale softplus(scale)."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        super().__init__(loc, softplus(scale), validate_args, allow_nan_stats, name)


@export("contrib.distributions.GammaWithSoftplusConcentrationRate")
class GammaWithSoftplusConcentrationRate(Gamma):
    """The gamma distribution with shape softplus(concentration) and inverse scale softplus(rate)."""

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        super().__init__(softplus(concentration), softplus(rate), validate_args, allow_nan_stats, name)


@export("contrib.distributions.ExponentialWithSoftplusRate")
class ExponentialWithSoftplusRate(Exponential):
    """The exponential distribution with rate softplus(rate)."""

    def __init__(
        self,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        super().__init__(softplus(rate), validate_args, allow_nan_stats, name)


@export("contrib.distributions.BetaWithSoftplusConcentration")
class BetaWithSoftplusConcentration(Beta):
    """The beta distribution with concentrations softplus(concentration1) and softplus(concentration0)."""

    def __init__(
        self,
        concentration1: TensorLike,
        concentration0: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        super().__init__(softplus(concentration1), softplus(concentration0), validate_args, allow_nan_stats, name)
