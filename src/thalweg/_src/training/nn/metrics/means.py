"""Metrics that are means: of values, accuracy and errors."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, less
from thalweg._src.graph.ops.math import (
    abs as absolute,
    div_no_nan,
    divide,
    maximum,
    multiply,
    sqrt,
    squared_difference,
    subtract,
)
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import ones_like, size, zeros_like
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.metrics.state import Result, across_replicas, matched_ranks, metric, metric_variable
from thalweg._src.training.nn.weights import broadcast_weights, require_compatible, squeeze_to_common_rank, with_rank_of
from thalweg._src.training.variables.assign import assign_add
from thalweg._src.training.variables.variable_scope import variable_scope


@export("metrics.mean", "contrib.metrics.streaming_mean", "contrib.slim.metrics.streaming_mean")
@metric
def mean(values: Any, weights: TensorLike | None = None, name: str | None = None) -> Result:
    """Returns the weighted mean of all elements over all batches."""
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        total, count = (metric_variable([], dtypes.float32, name=key) for key in ("total", "count"))
        if weights is None:
            number = cast(size(values), dtypes.float32)
        else:
            values, weights = _weighted(values, weights)
            number = reduce_sum(weights)
        return _averaged(total, count, values, reduce_sum(values), number)


@export("metrics.mean_tensor", "contrib.metrics.streaming_mean_tensor", "contrib.slim.metrics.streaming_mean_tensor")
@metric
def mean_tensor(values: Any, weights: TensorLike | None = None, name: str | None = None) -> Result:
    """Returns the element-wise weighted mean over all batches."""
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        keys = ("total_tensor", "count_tensor")
        total, count = (metric_variable(values.get_shape(), dtypes.float32, name=key) for key in keys)
        number = ones_like(values)
        if weights is not None:
            values, weights = _weighted(values, weights)
            number = multiply(number, weights)
        return _averaged(total, count, values, values, number)


def _weighted(values: Tensor, weights: TensorLike | None) -> tuple[Tensor, Tensor]:
    factors = broadcast_weights(cast(with_rank_of(weights, values), dtypes.float32), values)
    return multiply(values, factors), factors


def _averaged(total: Tensor, count: Tensor, values: Tensor, sums: Tensor, number: Tensor) -> Result:
    added = assign_add(total, sums)
    with control_dependencies([values]):
        counted = assign_add(count, number)
    value = across_replicas(lambda total, count: div_no_nan(total, maximum(count, 0.0), name="value"), total, count)
    update = div_no_nan(added, maximum(counted, 0.0), name="update_op")
    return value, update


@export("metrics.accuracy")
@metric
def accuracy(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the accuracy: the fraction of predictions that equal their labels."""
    predictions, labels, weights = matched_ranks(predictions, labels, weights)
    right = cast(equal(cast(predictions, labels.dtype), labels), dtypes.float32)
    return mean(right, weights, name=name or "accuracy")


@export("metrics.mean_absolute_error")
@metric
def mean_absolute_error(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the weighted mean of |predictions - labels|."""
    predictions, labels, weights = matched_ranks(predictions, labels, weights)
    errors = absolute(subtract(predictions, labels))
    return mean(errors, weights, name=name or "mean_absolute_error")


@export("metrics.mean_cosine_distance")
@metric
def mean_cosine_distance(
    labels: TensorLike, predictions: TensorLike, dim: int, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the weighted mean cosine distance of unit vectors along a dimension."""
    predictions, labels, weights = matched_ranks(predictions, labels, weights)
    products = reduce_sum(multiply(predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    return across_replicas(lambda value: subtract(1.0, value), value), subtract(1.0, update)


@export("metrics.mean_relative_error")
@metric
def mean_relative_error(
    labels: TensorLike,
    predictions: TensorLike,
    normalizer: TensorLike,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Result:
    """Returns the weighted mean of |labels - predictions| / normalizer, 0 where the normalizer is 0."""
    predictions, labels, weights = matched_ranks(predictions, labels, weights)
    predictions, normalizer = squeeze_to_common_rank(predictions, normalizer)
    require_compatible(predictions, normalizer)
    errors = divide(absolute(subtract(labels, predictions)), normalizer)
    errors = where(equal(normalizer, 0.0), zeros_like(labels), errors)
    return mean(errors, weights, name=name or "mean_relative_error")


@export("metrics.mean_squared_error")
@metric
def mean_squared_error(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the weighted mean of (labels - predictions) squared."""
    predictions, labels, weights = matched_ranks(predictions, labels, weights)
    squares = squared_difference(labels, predictions)
    return mean(squares, weights, name=name or "mean_squared_error")


@export("metrics.root_mean_squared_error")
@metric
def root_mean_squared_error(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the square root of the mean squared error."""
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    return across_replicas(sqrt, value), sqrt(update)


@export(
    "metrics.percentage_below",
    "contrib.metrics.streaming_percentage_less",
    "contrib.slim.metrics.streaming_percentage_less",
)
@metric
def percentage_below(
    values: TensorLike, threshold: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the fraction of values below a threshold."""
    below = cast(less(values, threshold), dtypes.float32)
    return mean(below, weights, name=name or "percentage_below_threshold")
