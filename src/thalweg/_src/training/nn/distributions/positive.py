"""Distributions over positive numbers: Gamma, Exponential."""

from __future__ import annotations

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, check, math
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.random import random_gamma, random_uniform
from thalweg._src.graph.ops.reshape import ones
from thalweg._src.graph.ops.special import digamma, igamma, lgamma
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.distributions.base import FULLY_REPARAMETERIZED, ScalarDistribution
from thalweg._src.training.nn.distributions.checks import floats
from thalweg._src.training.nn.distributions.divergence import RegisterKL


@export("distributions.Gamma", "contrib.distributions.Gamma")
class Gamma(ScalarDistribution):
    """The gamma distribution with shape `concentration` and inverse scale `rate`."""

    _parameter_names: tuple[str, ...] = ("concentration", "rate")
    concentration = ReadOnly[Tensor]("The shape parameter.")
    rate = ReadOnly[Tensor]("The inverse scale.")

    def __init__(
        self,
        concentration: TensorLike,
        rate: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        arguments = dict(locals())
        names = ("concentration", "rate")
        with name_scope(name, values=[concentration, rate]) as scope:
            self._concentration, self._rate = floats(validate_args, names, concentration=concentration, rate=rate)
        self._defined_by(arguments, [self._concentration, self._rate], FULLY_REPARAMETERIZED, scope)

    def _shaping(self) -> list[Tensor]:
        return [self.concentration, self.rate]

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        return random_gamma([n], self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _checked(self, value: Tensor) -> Tensor:
        check.assert_same_float_dtype([value], self.dtype)
        if not self.validate_args:
            return value
        return with_dependencies([check.assert_positive(value)], value)  # type: ignore[no-any-return]

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        constant = lgamma(self.concentration) - self.concentration * math.log(self.rate)
        return math.xlogy(self.concentration - 1.0, x) - self.rate * x - constant

    def _cdf(self, value: Tensor) -> Tensor:
        return igamma(self.concentration, self.rate * self._checked(value))

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a - math.log(self.rate) + lgamma(a) + (1.0 - a) * digamma(a)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / math.square(self.rate)

    def _stddev(self) -> Tensor:
        return math.sqrt(self.concentration) / self.rate

    def _mode(self) -> Tensor:
        mode = (self.concentration - 1.0) / self.rate
        if self.allow_nan_stats:
            return where_v2(self.concentration > 1.0, mode, cast_ops.cast(np.nan, self.dtype))
        message = "the mode exists only for concentration > 1"
        checks = [check.assert_less(ones([], self.dtype), self.concentration, message=message)]
        return with_dependencies(checks, mode)  # type: ignore[no-any-return]


@RegisterKL(Gamma, Gamma)
def _gamma_from_gamma(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_gamma_gamma", [a.concentration, a.rate, b.concentration, b.rate]):
        return (
            (a.concentration - b.concentration) * digamma(a.concentration)
            + lgamma(b.concentration)
            - lgamma(a.concentration)
            + b.concentration * (math.log(a.rate) - math.log(b.rate))
            + a.concentration * (b.rate / a.rate - 1.0)
        )


@export("distributions.Exponential", "contrib.distributions.Exponential")
class Exponential(Gamma):
    """The exponential distribution with rate `rate`."""

    _parameter_names = ("rate",)

    def __init__(
        self, rate: TensorLike, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"
    ) -> None:
        arguments = dict(locals())
        with name_scope(name, values=[rate]) as scope:
            rate = convert_to_tensor(rate, name="rate")
        super().__init__(ones([], rate.dtype), rate, validate_args, allow_nan_stats, scope)
        self._parameters = arguments

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return self._log_prob(value) - math.log(self.rate)

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        least = np.finfo(self.dtype.as_numpy_dtype).tiny  # so that the log is finite
        return -math.log(random_uniform(self._block(n), least, 1.0, dtype=self.dtype, seed=seed)) / self.rate
