"""Further distributions over numbers: Chi2, InverseGamma, HalfNormal, Logistic, Gumbel."""

from __future__ import annotations

from math import log as log_of, pi, sqrt
from typing import Any

import numpy as np

from thalweg._src.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.nn.distributions.base import FULLY_REPARAMETERIZED, ScalarDistribution
from thalweg._src.nn.distributions.checks import floats
from thalweg._src.nn.distributions.continuous import LocationScale
from thalweg._src.nn.distributions.divergence import RegisterKL
from thalweg._src.nn.distributions.positive import Gamma
from thalweg._src.ops import cast as cast_ops, check, math
from thalweg._src.ops.control import with_dependencies
from thalweg._src.ops.nn import softplus
from thalweg._src.ops.random import random_gamma, random_normal, random_uniform
from thalweg._src.ops.reshape import ones, zeros_like
from thalweg._src.ops.special import digamma, erf, erfinv, igammac, lgamma
from thalweg._src.ops.where import where_v2
from thalweg._src.read_only import ReadOnly


@export("contrib.distributions.Chi2")
class Chi2(Gamma):
    """The chi-squared distribution with `df` degrees of freedom."""

    _parameter_names = ("df",)
    df = ReadOnly[Tensor]("The degrees of freedom.")

    def __init__(
        self, df: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2"
    ) -> None:
        given = dict(locals())
        with name_scope(name, values=[df]) as scope:
            self._df = convert_to_tensor(df, name="df")
            half = cast_ops.cast(0.5, self._df.dtype)
        super().__init__(half * self._df, half, validate_args, allow_nan_stats, scope)
        self._parameters = given


@export("contrib.distributions.InverseGamma")
class InverseGamma(ScalarDistribution):
    """The distribution of 1 / x for x of the gamma distribution with shape `concentration` and rate `rate`."""

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
        given = dict(locals())
        names = ("concentration", "rate")
        with name_scope(name, values=[concentration, rate]) as scope:
            self._concentration, self._rate = floats(validate_args, names, concentration=concentration, rate=rate)
        self._defined_by(given, [self._concentration, self._rate], FULLY_REPARAMETERIZED, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return 1.0 / random_gamma([n], self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _checked(self, value: Tensor) -> Tensor:
        checks = [check.assert_positive(value)] if self.validate_args else []
        return with_dependencies(checks, value)  # type: ignore[no-any-return]

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        constant = lgamma(self.concentration) - self.concentration * math.log(self.rate)
        return -(1.0 + self.concentration) * math.log(x) - self.rate / x - constant

    def _cdf(self, value: Tensor) -> Tensor:
        return igammac(self.concentration, self.rate / self._checked(value))

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a + math.log(self.rate) + lgamma(a) - (1.0 + a) * digamma(a)

    def _mean(self) -> Tensor:
        return self._where_exceeds(1.0, self.rate / (self.concentration - 1.0), "mean")

    def _variance(self) -> Tensor:
        a = self.concentration
        variance = math.square(self.rate) / (math.square(a - 1.0) * (a - 2.0))
        return self._where_exceeds(2.0, variance, "variance")

    def _where_exceeds(self, limit: float, value: Tensor, what: str) -> Tensor:
        if self.allow_nan_stats:
            return where_v2(self.concentration > limit, value, cast_ops.cast(np.nan, self.dtype))
        message = f"the {what} exists only for concentration > {limit:g}"
        checks = [check.assert_less(limit * ones([], self.dtype), self.concentration, message=message)]
        return with_dependencies(checks, value)  # type: ignore[no-any-return]

    def _mode(self) -> Tensor:
        return self.rate / (1.0 + self.concentration)


@export("contrib.distributions.HalfNormal")
class HalfNormal(ScalarDistribution):
    """The distribution of |x| for x of the normal distribution with mean 0 and standard deviation `scale`."""

    _parameter_names = ("scale",)
    scale = ReadOnly[Tensor]("The standard deviation of the normal distribution.")

    def __init__(
        self, scale: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "HalfNormal"
    ) -> None:
        given = dict(locals())
        with name_scope(name, values=[scale]) as scope:
            (self._scale,) = floats(validate_args, ("scale",), scale=scale)
        self._defined_by(given, [self._scale], FULLY_REPARAMETERIZED, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return math.abs(random_normal(self._block(n), dtype=self.dtype, seed=seed) * self.scale)  # type: ignore[no-any-return]

    def _prob(self, value: Tensor) -> Tensor:
        z = value / self.scale
        return where_v2(z >= 0.0, sqrt(2.0 / pi) / self.scale * math.exp(-0.5 * math.square(z)), zeros_like(z))

    def _cdf(self, value: Tensor) -> Tensor:
        return erf(math.maximum(value, zeros_like(value)) / (sqrt(2.0) * self.scale))

    def _quantile(self, value: Tensor) -> Tensor:
        return sqrt(2.0) * self.scale * erfinv(value)

    def _entropy(self) -> Tensor:
        return 0.5 * log_of(pi / 2.0) + math.log(self.scale) + 0.5

    def _mean(self) -> Tensor:
        return self.scale * sqrt(2.0 / pi)

    def _mode(self) -> Tensor:
        return zeros_like(self.scale)

    def _variance(self) -> Tensor:
        return math.square(self.scale) * (1.0 - 2.0 / pi)


@RegisterKL(HalfNormal, HalfNormal)
def _half_normal_from_half_normal(a: HalfNormal, b: HalfNormal, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_half_normal_half_normal", [a.scale, b.scale]):
        ratio = math.square(a.scale / b.scale)
        return 0.5 * (ratio - 1.0 - math.log(ratio))


class _Quantiles(LocationScale):
    """A location-scale distribution that is sampled through its quantile function."""

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        least = np.finfo(self.dtype.as_numpy_dtype).tiny  # so that logs of the sample are finite
        return self._quantile(random_uniform(self._block(n), least, 1.0, dtype=self.dtype, seed=seed))

    def _standard_quantile(self, value: Tensor) -> Tensor:
        raise NotImplementedError

    def _quantile(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * self._standard_quantile(value)


@export("contrib.distributions.Logistic")
class Logistic(_Quantiles):
    """The logistic distribution, whose cdf is sigmoid((x - loc) / scale)."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _standard_quantile(self, value: Tensor) -> Tensor:
        return math.log(value) - math.log1p(-value)

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

    def _entropy(self) -> Tensor:
        return 2.0 + math.log(self._broadcast(self.scale))

    def _stddev(self) -> Tensor:
        return self._broadcast(self.scale) * (pi / sqrt(3.0))


@export("contrib.distributions.Gumbel")
class Gumbel(_Quantiles):
    """The Gumbel distribution, whose cdf is exp(-exp(-(x - loc) / scale))."""

    def __init__(
        self,
        loc: TensorLike,
        scale: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gumbel",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _standard_quantile(self, value: Tensor) -> Tensor:
        return -math.log(-math.log(value))

    def _log_prob(self, value: Tensor) -> Tensor:
        z = self._z(value)
        return -(z + math.exp(-z)) - math.log(self.scale)

    def _log_cdf(self, value: Tensor) -> Tensor:
        return -math.exp(-self._z(value))

    def _cdf(self, value: Tensor) -> Tensor:
        return math.exp(self._log_cdf(value))

    def _entropy(self) -> Tensor:
        return 1.0 + np.euler_gamma + math.log(self._broadcast(self.scale))

    def _mean(self) -> Tensor:
        return self._broadcast(self.loc + self.scale * np.euler_gamma)

    def _mode(self) -> Tensor:
        return self._broadcast(self.loc)

    def _stddev(self) -> Tensor:
        return self._broadcast(self.scale) * (pi / sqrt(6.0))
