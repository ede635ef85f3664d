"""Metrics that are means of losses: errors, hinges, divergences, cosines and crossentropies."""

from __future__ import annotations

from typing import Any

from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.ops.math import div_no_nan, negative, sqrt, squared_difference
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.losses import functions
from thalweg._src.keras.losses.weighting import matched
from thalweg._src.keras.metrics.base import Mean, MeanMetricWrapper


@export("keras.metrics.MeanSquaredError")
class MeanSquaredError(MeanMetricWrapper):
    """The weighted mean of (y_pred - y_true) squared."""

    def __init__(self, name: str | None = "mean_squared_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.mean_squared_error, name, dtype=dtype)


@export("keras.metrics.MeanAbsoluteError")
class MeanAbsoluteError(MeanMetricWrapper):
    """The weighted mean of |y_pred - y_true|."""

    def __init__(self, name: str | None = "mean_absolute_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.mean_absolute_error, name, dtype=dtype)


@export("keras.metrics.MeanAbsolutePercentageError")
class MeanAbsolutePercentageError(MeanMetricWrapper):
    """The weighted mean of 100 |y_true - y_pred| / |y_true|."""

    def __init__(self, name: str | None = "mean_absolute_percentage_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.mean_absolute_percentage_error, name, dtype=dtype)


@export("keras.metrics.MeanSquaredLogarithmicError")
class MeanSquaredLogarithmicError(MeanMetricWrapper):
    """The weighted mean of (log(y_pred + 1) - log(y_true + 1)) squared."""

    def __init__(self, name: str | None = "mean_squared_logarithmic_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.mean_squared_logarithmic_error, name, dtype=dtype)


@export("keras.metrics.LogCoshError")
class LogCoshError(MeanMetricWrapper):
    """The weighted mean of log(cosh(y_pred - y_true)), which is linear for large errors."""

    def __init__(self, name: str | None = "logcosh", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.logcosh, name, dtype=dtype)


@export("keras.metrics.Hinge")
class Hinge(MeanMetricWrapper):
    """The weighted mean of max(1 - y_true y_pred, 0); targets 0 and 1 stand for -1 and 1."""

    def __init__(self, name: str | None = "hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.hinge, name, dtype=dtype)


@export("keras.metrics.SquaredHinge")
class SquaredHinge(MeanMetricWrapper):
    """The weighted mean of max(1 - y_true y_pred, 0) squared; targets 0 and 1 stand for -1 and 1."""

    def __init__(self, name: str | None = "squared_hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.squared_hinge, name, dtype=dtype)


@export("keras.metrics.CategoricalHinge")
class CategoricalHinge(MeanMetricWrapper):
    """The weighted mean of how far true classes are from exceeding all others by 1."""

    def __init__(self, name: str | None = "categorical_hinge", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.categorical_hinge, name, dtype=dtype)


@export("keras.metrics.KLDivergence")
class KLDivergence(MeanMetricWrapper):
    """The weighted mean of the sums of y_true log(y_true / y_pred)."""

    def __init__(self, name: str | None = "kullback_leibler_divergence", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.kullback_leibler_divergence, name, dtype=dtype)


@export("keras.metrics.Poisson")
class Poisson(MeanMetricWrapper):
    """The weighted mean of y_pred - y_true log(y_pred)."""

    def __init__(self, name: str | None = "poisson", dtype: DTypeLike | None = None) -> None:
        super().__init__(functions.poisson, name, dtype=dtype)


@export("keras.metrics.RootMeanSquaredError")
class RootMeanSquaredError(Mean):
    """The square root of the weighted mean of (y_pred - y_true) squared."""

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype=dtype)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        """Adds the squared errors of a batch."""
        y_true, y_pred = matched(*self._cast(y_true, y_pred))
        return super().update_state(squared_difference(y_pred, y_true), sample_weight)

    def result(self) -> Any:
        """Returns the root of the mean."""
        return sqrt(div_no_nan(self.total, self.count))


def cosine_proximity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """Returns the cosine of the angle between vectors."""
    return negative(functions.cosine_similarity(y_true, y_pred, axis))


@export("keras.metrics.CosineSimilarity")
class CosineSimilarity(MeanMetricWrapper):
    """The weighted mean of the cosine of the angle between vectors, 1 if they have one direction."""

    def __init__(self, name: str | None = "cosine_similarity", dtype: DTypeLike | None = None, axis: int = -1) -> None:
        super().__init__(cosine_proximity, name, dtype=dtype, axis=axis)


@export("keras.metrics.BinaryCrossentropy")
class BinaryCrossentropy(MeanMetricWrapper):
    """The weighted mean crossentropy of targets and probabilities; smoothing moves targets towards 1/2."""

    def __init__(
        self,
        name: str | None = "binary_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(functions.binary_crossentropy, name, dtype=dtype, **options)


@export("keras.metrics.CategoricalCrossentropy")
class CategoricalCrossentropy(MeanMetricWrapper):
    """The weighted mean crossentropy of distributions over classes; smoothing moves targets towards 1 / classes."""

    def __init__(
        self,
        name: str | None = "categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(functions.categorical_crossentropy, name, dtype=dtype, **options)


@export("keras.metrics.SparseCategoricalCrossentropy")
class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The weighted mean crossentropy of classes, given by number, and distributions over classes.

    Args:
        axis: The axis of the classes.
    """

    def __init__(
        self,
        name: str | None = "sparse_categorical_crossentropy",
        dtype: DTypeLike | None = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        options = {"from_logits": from_logits, "axis": axis}
        super().__init__(functions.sparse_categorical_crossentropy, name, dtype=dtype, **options)
