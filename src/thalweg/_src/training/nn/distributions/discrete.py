"""Discrete distributions: Bernoulli, Categorical, Multinomial."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cast as cast_ops, math, reshape as reshape_ops
from thalweg._src.graph.ops.comparison import less
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from thalweg._src.graph.ops.diagonal import matrix_set_diag
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.nn import log_softmax, softmax, softplus
from thalweg._src.graph.ops.random import multinomial, random_uniform
from thalweg._src.graph.ops.reduction import argmax, reduce_max, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones, ones_like, reshape, transpose, zeros_like
from thalweg._src.graph.ops.special import lgamma
from thalweg._src.graph.ops.where import one_hot, sequence_mask, where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.distributions.base import NOT_REPARAMETERIZED, Distribution, ScalarDistribution
from thalweg._src.training.nn.distributions.checks import logits_and_probs, require_counts, require_whole
from thalweg._src.training.nn.distributions.divergence import RegisterKL


@export("distributions.Bernoulli", "contrib.distributions.Bernoulli")
class Bernoulli(ScalarDistribution):
    """The Bernoulli distribution: 1 with probability `probs`, whose log-odds are `logits`, otherwise 0."""

    _parameter_names = ("logits",)
    logits = ReadOnly[Tensor]("The log-odds of 1.")
    probs = ReadOnly[Tensor]("The probability of 1.")

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args)
        self._defined_by(arguments, [self._logits, self._probs], NOT_REPARAMETERIZED, scope, dtype=dtype)

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        u = random_uniform(self._block(n), dtype=self.probs.dtype, seed=seed)
        return cast_ops.cast(less(u, self.probs), self.dtype)  # type: ignore[no-any-return]

    def _log_prob(self, value: Tensor) -> Tensor:
        event = cast_ops.cast(require_whole(value, 1) if self.validate_args else value, self.logits.dtype)
        logits = self.logits
        if event.dims != logits.dims or event.dims is None or None in event.dims:
            logits, event = logits * ones_like(event), event * ones_like(logits)
        return -sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> Tensor:
        return -self.logits * (math.sigmoid(self.logits) - 1.0) + softplus(-self.logits)

    def _mean(self) -> Tensor:
        return identity(self.probs)

    def _variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return cast_ops.cast(self.probs > 0.5, self.dtype)  # type: ignore[no-any-return]


@RegisterKL(Bernoulli, Bernoulli)
def _bernoulli_from_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_bernoulli_bernoulli", [a.logits, b.logits]):
        of_one = softplus(-b.logits) - softplus(-a.logits)
        of_zero = softplus(b.logits) - softplus(a.logits)
        return math.sigmoid(a.logits) * of_one + math.sigmoid(-a.logits) * of_zero


@export("distributions.Categorical", "contrib.distributions.Categorical")
class Categorical(Distribution):
    """The categorical distribution over the classes in the last dimension of `logits` or `probs`."""

    event_size = ReadOnly[Tensor]("The number of classes.")
    logits = ReadOnly[Tensor]("The log probabilities of the classes, up to a constant.")
    probs = ReadOnly[Tensor]("The probabilities of the classes.")

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name, values=[logits, probs]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args, of_classes=True)
            shape = self._logits.dims
            if shape is not None and not shape:
                raise ValueError("logits or probs: expected a dimension of classes, received a scalar")
            static_size = None if shape is None else shape[-1]
            size = reshape_ops.shape(self._logits)[-1] if static_size is None else static_size
            self._event_size = convert_to_tensor(size, dtypes.int32, name="event_size")
        self._defined_by(arguments, [self._logits, self._probs], NOT_REPARAMETERIZED, scope, dtype=dtype)

    def _batch_shape(self) -> Any:
        return None if self.logits.dims is None else self.logits.dims[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return reshape_ops.shape(self.logits)[:-1]

    def _event_shape(self) -> Any:
        return ()

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        is_matrix = self.logits.dims is not None and len(self.logits.dims) == 2
        rows = self.logits if is_matrix else reshape(self.logits, stack([-1, self.event_size]))
        draws = multinomial(rows, n, seed, output_dtype=dtypes.int64 if self.dtype.size > 4 else dtypes.int32)
        block = reshape(transpose(draws), concat([[n], self.batch_shape_tensor()], 0))
        return cast_ops.cast(block, self.dtype)  # type: ignore[no-any-return]

    def _classes_and(self, value: Tensor, parameter: Tensor) -> tuple[Tensor, Tensor]:
        """Returns classes and a parameter, broadcast to a common batch shape."""
        if value.dtype.is_floating:
            value = cast_ops.cast(value, dtypes.int32)
        elif not value.dtype.is_integer:
            raise TypeError(f"value: expected integers or {self.dtype.name}, received {value.dtype.name}")
        value = require_whole(value) if self.validate_args else value
        shape = value.dims
        batch = None if parameter.dims is None else parameter.dims[:-1]
        if shape is None or shape != batch or None in shape:
            parameter = parameter * ones_like(expand_dims(value, -1), dtype=parameter.dtype)
            value = value * ones(reshape_ops.shape(parameter)[:-1], dtype=value.dtype)
            if parameter.dims is not None:
                value.set_shape(parameter.dims[:-1])
        return value, parameter

    def _log_prob(self, value: Tensor) -> Tensor:
        classes, logits = self._classes_and(value, self.logits)
        return -sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)

    def _cdf(self, value: Tensor) -> Tensor:
        classes, probs = self._classes_and(value, self.probs)
        below = sequence_mask(classes, self.event_size)
        return reduce_sum(where(below, probs, zeros_like(probs)), -1)

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self.logits) * self.probs, -1)

    def _mode(self) -> Tensor:
        result = cast_ops.cast(argmax(self.logits, -1), self.dtype)
        result.set_shape(self.batch_shape)
        return result  # type: ignore[no-any-return]


@RegisterKL(Categorical, Categorical)
def _categorical_from_categorical(a: Categorical, b: Categorical, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_categorical_categorical", [a.logits, b.logits]):
        return reduce_sum(softmax(a.logits) * (log_softmax(a.logits) - log_softmax(b.logits)), -1)


def log_combinations(total: Tensor, counts: Tensor) -> Tensor:
    """Returns the log of the multinomial coefficient."""
    return lgamma(total + 1) - reduce_sum(lgamma(counts + 1), -1)


@export("distributions.Multinomial", "contrib.distributions.Multinomial")
class Multinomial(Distribution):
    """The multinomial distribution: counts of each class in `total_count` draws."""

    total_count = ReadOnly[Tensor]("The number of draws.")
    logits = ReadOnly[Tensor]("The log probabilities of the classes, up to a constant.")
    probs = ReadOnly[Tensor]("The probabilities of the classes.")

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        arguments = dict(locals())
        with name_scope(name, values=[total_count, logits, probs]) as scope:
            total = convert_to_tensor(total_count, name="total_count")
            self._total_count = require_counts(total) if validate_args else total
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args, of_classes=True)
            self._means = expand_dims(self._total_count, -1) * self._probs
        self._defined_by(arguments, [self._total_count, self._logits, self._probs], NOT_REPARAMETERIZED, scope)

    def _batch_shape(self) -> Any:
        return None if self._means.dims is None else self._means.dims[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return reshape_ops.shape(self._means)[:-1]

    def _event_shape(self) -> Any:
        return None if self._means.dims is None else self._means.dims[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return reshape_ops.shape(self._means)[-1:]

    def _sample_n(self, n: int | Tensor, seed: int | None = None) -> Tensor:
        """Draws as many times as the largest count, and masks the surplus draws of the others."""
        batch, classes = self.batch_shape_tensor(), self.event_shape_tensor()[0]
        counts = reshape(cast_ops.cast(self.total_count, dtypes.int32) * ones(batch, dtypes.int32), [-1])
        logits = self.logits * ones_like(self._means)
        most = reduce_max(concat([counts, [0]], 0))
        draws = multinomial(reshape(logits, stack([-1, classes])), n * most, seed)
        hits = one_hot(reshape(draws, stack([-1, n, most])), classes, dtype=self.dtype)
        used = sequence_mask(counts, most, dtype=self.dtype)[:, None, :, None]
        sums = transpose(reduce_sum(hits * used, -2), [1, 0, 2])
        return reshape(sums, concat([[n], batch, [classes]], 0))

    def _log_prob(self, value: Tensor) -> Tensor:
        counts = require_counts(value, self.total_count) if self.validate_args else value
        return reduce_sum(counts * log_softmax(self.logits), -1) + log_combinations(self.total_count, counts)

    def _mean(self) -> Tensor:
        return identity(self._means)

    def _variance(self) -> Tensor:
        return self._means - self._means * self._probs

    def _covariance(self) -> Tensor:
        probs = self._probs * ones_like(self._means)
        outer = matmul(expand_dims(self._means, -1), expand_dims(probs, -2))
        return matrix_set_diag(-outer, self._variance())
