"""Distributions over the simplex, and a compound over counts: Beta, Dirichlet, DirichletMultinomial."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, check, math, reshape as reshape_ops
from thalweg._src.graph.ops.comparison import logical_and
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.diagonal import matrix_set_diag
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.random import multinomial, random_gamma
from thalweg._src.graph.ops.reduction import reduce_all, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, reshape, shape
from thalweg._src.graph.ops.special import betainc, digamma, lbeta, lgamma
from thalweg._src.graph.ops.where import one_hot, where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
    ScalarDistribution,
)
from thalweg._src.training.nn.distributions.checks import derived_seed, floats, require_classes, require_counts
from thalweg._src.training.nn.distributions.discrete import log_combinations
from thalweg._src.training.nn.distributions.divergence import RegisterKL


@export("distributions.Beta", "contrib.distributions.Beta")
class Beta(ScalarDistribution):
    """The beta distribution, with density proportional to x**(concentration1 - 1) * (1 - x)**(concentration0 - 1)."""

    _parameter_names = ("concentration1", "concentration0")
    concentration1 = ReadOnly[Tensor]("The concentration of x.")
    concentration0 = ReadOnly[Tensor]("The concentration of 1 - x.")
    total_concentration = ReadOnly[Tensor]("The sum of both concentrations.")

    def __init__(
        self,
        concentration1: TensorLike | None = None,
        concentration0: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name, values=[concentration1, concentration0]) as scope:
            self._concentration1, self._concentration0 = floats(
                validate_args, self._parameter_names, concentration1=concentration1, concentration0=concentration0
            )
            self._total_concentration = self._concentration1 + self._concentration0
        self._defined_by(
            arguments,
            [self._concentration1, self._concentration0, self._total_concentration],
            FULLY_REPARAMETERIZED,
            scope,
        )

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        second = derived_seed(seed, "beta")
        a = random_gamma([n], self._broadcast(self.concentration1), dtype=self.dtype, seed=seed)
        b = random_gamma([n], self._broadcast(self.concentration0), dtype=self.dtype, seed=second)
        return a / (a + b)

    def _checked(self, value: Tensor) -> Tensor:
        if not self.validate_args:
            return value
        checks = [
            check.assert_positive(value, message="value: an element is not above 0"),
            check.assert_less(value, reshape_ops.ones([], self.dtype), message="value: an element is not below 1"),
        ]
        return with_dependencies(checks, value)  # type: ignore[no-any-return]

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        density = math.xlogy(self.concentration1 - 1.0, x) + (self.concentration0 - 1.0) * math.log1p(-x)
        return density - self._log_normalization()

    def _log_normalization(self) -> Tensor:
        return lgamma(self.concentration1) + lgamma(self.concentration0) - lgamma(self.total_concentration)

    def _cdf(self, value: Tensor) -> Tensor:
        ones = ones_like(value * self.total_concentration)
        return betainc(self.concentration1 * ones, self.concentration0 * ones, value * ones)

    def _entropy(self) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        return (
            self._log_normalization() - (a - 1.0) * digamma(a) - (b - 1.0) * digamma(b) + (total - 2.0) * digamma(total)
        )

    def _mean(self) -> Tensor:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self) -> Tensor:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        if self.allow_nan_stats:
            defined = logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0)
            return where_v2(defined, mode, cast_ops.cast(np.nan, self.dtype))
        one = reshape_ops.ones([], self.dtype)
        checks = [
            check.assert_less(one, getattr(self, key), message=f"Mode undefined for {key} <= 1.")
            for key in self._parameter_names
        ]
        return with_dependencies(checks, mode)  # type: ignore[no-any-return]


@RegisterKL(Beta, Beta)
def _beta_from_beta(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_beta_beta", [a.total_concentration, b.total_concentration]):
        return (
            b._log_normalization()
            - a._log_normalization()
            - digamma(a.concentration1) * (b.concentration1 - a.concentration1)
            - digamma(a.concentration0) * (b.concentration0 - a.concentration0)
            + digamma(a.total_concentration) * (b.total_concentration - a.total_concentration)
        )


class _DirichletBase(Distribution):
    """A distribution with the classes in the last dimension of `concentration`."""

    concentration = ReadOnly[Tensor]("The concentrations of the classes.")
    total_concentration = ReadOnly[Tensor]("The sum of the concentrations.")

    def __init__(
        self,
        concentration: Tensor,
        kind: ReparameterizationType,
        arguments: dict[str, Any],
        parents: list[Tensor],
        name: str,
    ) -> None:
        self._concentration = concentration
        self._total_concentration = reduce_sum(concentration, -1)
        self._defined_by(arguments, [concentration, *parents], kind, name, dtype=concentration.dtype)

    def _batch_shape(self) -> Any:
        return self.total_concentration.dims

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self.total_concentration)

    def _event_shape(self) -> Any:
        return None if self.concentration.dims is None else self.concentration.dims[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return shape(self.concentration)[-1:]

    def _total(self) -> Tensor:
        return expand_dims(self.total_concentration, -1)

    def _spread(self) -> Tensor:
        """Returns the factor of the means in covariances."""
        raise self._not_defined("covariance")

    def _covariance(self) -> Tensor:
        x = self._spread() * self._mean()
        outer = matmul(expand_dims(x, -1), expand_dims(x, -2))
        return matrix_set_diag(-outer, self._variance())


def _concentrations(concentration: TensorLike, validate_args: bool) -> Tensor:
    tensor = convert_to_tensor(concentration, name="concentration")
    if not validate_args:
        return tensor
    checks = [check.assert_positive(tensor, message="Concentration parameter must be positive.")]
    return with_dependencies(checks, require_classes(tensor))  # type: ignore[no-any-return]


@export("distributions.Dirichlet", "contrib.distributions.Dirichlet")
class Dirichlet(_DirichletBase):
    """The Dirichlet distribution over probability vectors."""

    def __init__(
        self,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name, values=[concentration]) as scope:
            tensor = _concentrations(concentration, validate_args)
            super().__init__(tensor, FULLY_REPARAMETERIZED, arguments, [], scope)

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        gammas = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return gammas / reduce_sum(gammas, -1, keepdims=True)

    def _checked(self, value: Tensor) -> Tensor:
        if not self.validate_args:
            return value
        one, message = reshape_ops.ones([], self.dtype), "value: the sum over the last dimension is not 1"
        checks = [
            check.assert_positive(value, message="value: an element is not above 0"),
            check.assert_near(one, reduce_sum(value, -1), message=message),
        ]
        return with_dependencies(checks, value)  # type: ignore[no-any-return]

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._checked(value)
        return reduce_sum(math.xlogy(self.concentration - 1.0, x), -1) - lbeta(self.concentration)

    def _classes(self) -> Tensor:
        return cast_ops.cast(self.event_shape_tensor()[0], self.dtype)  # type: ignore[no-any-return]

    def _entropy(self) -> Tensor:
        total = self.total_concentration
        class_terms = reduce_sum((self.concentration - 1.0) * digamma(self.concentration), -1)
        return lbeta(self.concentration) + (total - self._classes()) * digamma(total) - class_terms

    def _mean(self) -> Tensor:
        return self.concentration / self._total()

    def _spread(self) -> Tensor:
        return math.rsqrt(1.0 + self._total())

    def _variance(self) -> Tensor:
        scale = self._spread()
        x = scale * self._mean()
        return x * (scale - x)

    def _mode(self) -> Tensor:
        mode = (self.concentration - 1.0) / (self._total() - self._classes())
        if self.allow_nan_stats:
            defined = reduce_all(self.concentration > 1.0, -1, keepdims=True)
            return where_v2(defined, mode, cast_ops.cast(np.nan, self.dtype))
        message = "the mode exists only where every concentration > 1"
        checks = [check.assert_less(reshape_ops.ones([], self.dtype), self.concentration, message=message)]
        return with_dependencies(checks, mode)  # type: ignore[no-any-return]


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlet_from_dirichlet(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_dirichlet_dirichlet", [a.concentration, b.concentration]):
        expected = digamma(a.concentration) - digamma(a._total())
        difference = reduce_sum((a.concentration - b.concentration) * expected, -1)
        return difference - lbeta(a.concentration) + lbeta(b.concentration)


@export("distributions.DirichletMultinomial", "contrib.distributions.DirichletMultinomial")
class DirichletMultinomial(_DirichletBase):
    """The Dirichlet-multinomial distribution: class counts of draws with Dirichlet-distributed probabilities."""

    total_count = ReadOnly[Tensor]("The number of draws.")

    def __init__(
        self,
        total_count: TensorLike,
        concentration: TensorLike,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name, values=[total_count, concentration]) as scope:
            total = convert_to_tensor(total_count, name="total_count")
            self._total_count = require_counts(total) if validate_args else total
            tensor = _concentrations(concentration, validate_args)
            parents = [self._total_count]
            super().__init__(tensor, NOT_REPARAMETERIZED, arguments, parents, scope)

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        classes = self.event_shape_tensor()[0]
        gammas = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        draws = multinomial(
            reshape(math.log(gammas), stack([-1, classes])),
            cast_ops.cast(self.total_count, dtypes.int32),
            derived_seed(seed, "dirichlet_multinomial"),
        )
        counts = reduce_sum(one_hot(draws, classes, dtype=self.dtype), -2)
        return reshape(counts, concat([[n], self.batch_shape_tensor(), [classes]], 0))

    def _log_prob(self, value: Tensor) -> Tensor:
        counts = require_counts(value, self.total_count) if self.validate_args else value
        ordered = lbeta(self.concentration + counts) - lbeta(self.concentration)
        return ordered + log_combinations(self.total_count, counts)

    def _mean(self) -> Tensor:
        return self.total_count * (self.concentration / self._total())

    def _spread(self) -> Tensor:
        total = self._total()
        return math.sqrt((1.0 + total / self.total_count) / (1.0 + total))

    def _variance(self) -> Tensor:
        scale = self._spread()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)
