"""One-hot and relaxed categorical distributions, RelaxedBernoulli, Binomial and Poisson."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, check, math, reshape as reshape_ops
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.control import with_dependencies
from thalweg._src.graph.ops.diagonal import matrix_diag
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import log_softmax, softmax, softplus
from thalweg._src.graph.ops.random import multinomial, random_poisson, random_uniform
from thalweg._src.graph.ops.reduction import argmax, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones, reshape, transpose
from thalweg._src.graph.ops.special import lgamma
from thalweg._src.graph.ops.where import one_hot
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ScalarDistribution,
)
from thalweg._src.training.nn.distributions.checks import floats, logits_and_probs, require_counts, require_whole
from thalweg._src.training.nn.distributions.divergence import RegisterKL


class _OneHotBase(Distribution):
    """The base class of distributions whose events have one element per class."""

    _logits: Tensor
    _probs: Tensor
    logits = ReadOnly[Tensor]("The log probabilities of the classes, up to a constant.")
    probs = ReadOnly[Tensor]("The probabilities of the classes.")

    @property
    def event_size(self) -> Tensor:
        """The number of classes."""
        return self.event_shape_tensor()[0]

    def _batch_shape(self) -> Any:
        return None if self.logits.dims is None else self.logits.dims[:-1]

    def _event_shape(self) -> Any:
        return None if self.logits.dims is None else self.logits.dims[-1:]

    def _batch_shape_tensor(self) -> Tensor:
        return reshape_ops.shape(self.logits)[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return reshape_ops.shape(self.logits)[-1:]


@export("contrib.distributions.OneHotCategorical")
class OneHotCategorical(_OneHotBase):
    """The categorical distribution with one-hot samples.

    Args:
        dtype: Type of the samples.
    """

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args, of_classes=True)
        self._defined_by(parameters, [self._logits, self._probs], NOT_REPARAMETERIZED, scope, dtype=dtype)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        rows = reshape(self.logits, concat([[-1], self.event_shape_tensor()], 0))
        draws = transpose(multinomial(rows, n, seed))
        vectors = one_hot(draws, self.event_size, dtype=self.dtype)
        return reshape(vectors, concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0))

    def _log_prob(self, value: Tensor) -> Tensor:
        if self.validate_args:
            value = require_counts(value, ones([], value.dtype))
        return reduce_sum(log_softmax(self.logits) * cast_ops.cast(value, self.logits.dtype), -1)

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self.logits) * self.probs, -1)

    def _mean(self) -> Tensor:
        return identity(self.probs)

    def _mode(self) -> Tensor:
        return one_hot(argmax(self.logits, -1), self.event_size, dtype=self.dtype)

    def _variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)

    def _covariance(self) -> Tensor:
        column = expand_dims(self.probs, -1)
        return matrix_diag(self.probs) - matmul(column, column, adjoint_b=True)


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _one_hot_from_one_hot(a: OneHotCategorical, b: OneHotCategorical, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
        return reduce_sum(softmax(a.logits) * (log_softmax(a.logits) - log_softmax(b.logits)), -1)


def _uniform(shape: Any, dtype: Any, seed: int | None) -> Tensor:
    """Returns uniform random numbers in (0, 1)."""
    return random_uniform(shape, np.finfo(dtype.as_numpy_dtype).tiny, 1.0, dtype=dtype, seed=seed)


class _Relaxed(_OneHotBase):
    """The base class of Gumbel-softmax distributions."""

    temperature = ReadOnly[Tensor]("The temperature.")

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, type(self).__name__, [temperature, logits, probs]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args, of_classes=True)
            self._temperature = convert_to_tensor(temperature, self._logits.dtype, name="temperature")
            if validate_args:
                self._temperature = with_dependencies([check.assert_positive(self._temperature)], self._temperature)
        self._defined_by(parameters, [self._logits, self._probs, self._temperature], FULLY_REPARAMETERIZED, scope)

    def _expanded_temperature(self) -> Tensor:
        """Returns the temperature with a last dimension for the classes; it may differ within the batch."""
        scalar = self._temperature.dims == ()
        return self._temperature if scalar else expand_dims(self._temperature, -1)

    def _noisy(self, n: Any, seed: int | None) -> Tensor:
        shape = concat([[n], reshape_ops.shape(self.logits)], 0)
        gumbel = -math.log(-math.log(_uniform(shape, self.dtype, seed)))
        return (gumbel + self.logits) / self._expanded_temperature()

    def _log_density(self, log_value: Tensor) -> Tensor:
        """Returns the log density of log x for a relaxed vector x."""
        count = cast_ops.cast(self.event_size, self.dtype)
        constant = lgamma(count) + (count - 1) * math.log(self._temperature)
        return constant + reduce_sum(log_softmax(self.logits - log_value * self._expanded_temperature()), -1)  # type: ignore[no-any-return]


@export("contrib.distributions.RelaxedOneHotCategorical")
class RelaxedOneHotCategorical(_Relaxed):
    """The Gumbel-softmax (concrete) distribution, after Maddison et al. and Jang et al."""

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return softmax(self._noisy(n, seed))

    def _log_prob(self, value: Tensor) -> Tensor:
        logs = math.log(value)
        return self._log_density(logs) - reduce_sum(logs, -1)


@export("contrib.distributions.ExpRelaxedOneHotCategorical")
class ExpRelaxedOneHotCategorical(_Relaxed):
    """The distribution of the logs of a RelaxedOneHotCategorical, which do not underflow."""

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return log_softmax(self._noisy(n, seed))

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._log_density(value)


@export("contrib.distributions.RelaxedBernoulli")
class RelaxedBernoulli(ScalarDistribution):
    """The relaxed (concrete) Bernoulli distribution on (0, 1)."""

    _parameter_names = ("logits", "temperature")
    temperature = ReadOnly[Tensor]("The temperature.")
    logits = ReadOnly[Tensor]("The log-odds of 1.")
    probs = ReadOnly[Tensor]("The probability of 1.")

    def __init__(
        self,
        temperature: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[temperature, logits, probs]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
            self._temperature = convert_to_tensor(temperature, self._logits.dtype, name="temperature")
            if validate_args:
                self._temperature = with_dependencies([check.assert_positive(self._temperature)], self._temperature)
        self._defined_by(parameters, [self._logits, self._probs, self._temperature], FULLY_REPARAMETERIZED, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        u = _uniform(self._block(n), self.dtype, seed)
        return math.sigmoid((math.log(u) - math.log1p(-u) + self.logits) / self.temperature)

    def _log_prob(self, value: Tensor) -> Tensor:
        logs, others = math.log(value), math.log1p(-value)
        moved = self.logits - self.temperature * (logs - others)
        return math.log(self.temperature) + moved - 2.0 * softplus(moved) - logs - others

    def _cdf(self, value: Tensor) -> Tensor:
        return math.sigmoid(self.temperature * (math.log(value) - math.log1p(-value)) - self.logits)


@export("contrib.distributions.Binomial")
class Binomial(ScalarDistribution):
    """The binomial distribution: the number of successes in `total_count` trials."""

    _parameter_names = ("total_count", "probs")
    total_count = ReadOnly[Tensor]("The number of trials.")
    logits = ReadOnly[Tensor]("The log-odds of a success.")
    probs = ReadOnly[Tensor]("The probability of a success.")

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[total_count, logits, probs]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
            count = convert_to_tensor(total_count, self._probs.dtype, name="total_count")
            self._total_count = require_whole(count) if validate_args else count
        self._defined_by(parameters, [self._total_count, self._logits, self._probs], NOT_REPARAMETERIZED, scope)

    def _log_prob(self, value: Tensor) -> Tensor:
        value = require_whole(value) if self.validate_args else value
        others = self.total_count - value
        chances = value * math.log(self.probs) + others * math.log1p(-self.probs)
        return chances + lgamma(1.0 + self.total_count) - lgamma(1.0 + value) - lgamma(1.0 + others)

    def _mean(self) -> Tensor:
        return self.total_count * self.probs

    def _variance(self) -> Tensor:
        return self._mean() * (1 - self.probs)

    def _mode(self) -> Tensor:
        return math.floor((1.0 + self.total_count) * self.probs)


@export("contrib.distributions.Poisson")
class Poisson(ScalarDistribution):
    """The Poisson distribution with rate `rate`.

    Args:
        rate: Expected number of events.
        log_rate: Logarithm of the rate, in place of `rate`.
        interpolate_nondiscrete: Accepted for compatibility; densities are always interpolated.
    """

    _parameter_names = ("rate",)
    rate = ReadOnly[Tensor]("The rate.")
    log_rate = ReadOnly[Tensor]("The log of the rate.")

    def __init__(
        self,
        rate: TensorLike | None = None,
        log_rate: TensorLike | None = None,
        interpolate_nondiscrete: bool = True,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[rate, log_rate]) as scope:
            if (rate is None) == (log_rate is None):
                raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
            if rate is None:
                (self._log_rate,) = floats(False, log_rate=log_rate)
                self._rate = math.exp(self._log_rate)
            else:
                (self._rate,) = floats(validate_args, ("rate",), rate=rate)
                self._log_rate = math.log(self._rate)
        self._defined_by(parameters, [self._rate], NOT_REPARAMETERIZED, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)

    def _log_prob(self, value: Tensor) -> Tensor:
        value = require_whole(value) if self.validate_args else value
        return value * self.log_rate - lgamma(1.0 + value) - self.rate

    def _mean(self) -> Tensor:
        return identity(self.rate)

    def _variance(self) -> Tensor:
        return identity(self.rate)

    def _mode(self) -> Tensor:
        return math.floor(self.rate)
