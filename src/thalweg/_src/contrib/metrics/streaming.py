"""Streaming metrics: those of tf.metrics with predictions before labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src import dtypes
from thalweg._src.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.nn.metrics import confusion, means, ranking, thresholds
from thalweg._src.nn.metrics.means import (
    mean as streaming_mean,
    mean_tensor as streaming_mean_tensor,
    percentage_below as streaming_percentage_less,
)
from thalweg._src.nn.metrics.state import Result
from thalweg._src.ops.cast import cast
from thalweg._src.ops.comparison import equal
from thalweg._src.ops.math import div_no_nan
from thalweg._src.ops.nn import in_top_k
from thalweg._src.ops.reduction import reduce_mean, reduce_sum

__all__ = [
    "accuracy",
    "aggregate_metric_map",
    "aggregate_metrics",
    "streaming_accuracy",
    "streaming_auc",
    "streaming_false_negatives",
    "streaming_false_negatives_at_thresholds",
    "streaming_false_positives",
    "streaming_false_positives_at_thresholds",
    "streaming_mean",
    "streaming_mean_absolute_error",
    "streaming_mean_cosine_distance",
    "streaming_mean_iou",
    "streaming_mean_relative_error",
    "streaming_mean_squared_error",
    "streaming_mean_tensor",
    "streaming_percentage_less",
    "streaming_precision",
    "streaming_precision_at_thresholds",
    "streaming_recall",
    "streaming_recall_at_k",
    "streaming_recall_at_thresholds",
    "streaming_root_mean_squared_error",
    "streaming_sensitivity_at_specificity",
    "streaming_sparse_average_precision_at_k",
    "streaming_sparse_precision_at_k",
    "streaming_sparse_recall_at_k",
    "streaming_specificity_at_sensitivity",
    "streaming_true_negatives",
    "streaming_true_negatives_at_thresholds",
    "streaming_true_positives",
    "streaming_true_positives_at_thresholds",
]


def _predictions_first(metric: Callable[..., Result]) -> Callable[..., Result]:
    """Returns a metric with predictions before labels."""

    def turned(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> Result:
        return metric(labels, predictions, *args, **kwargs)

    turned.__name__ = f"streaming_{metric.__name__}"
    turned.__doc__ = metric.__doc__
    return turned


streaming_accuracy = export("contrib.metrics.streaming_accuracy", "contrib.slim.metrics.streaming_accuracy")(
    _predictions_first(means.accuracy)
)
streaming_auc = export("contrib.metrics.streaming_auc", "contrib.slim.metrics.streaming_auc")(
    _predictions_first(thresholds.auc)
)
streaming_false_negatives = export(
    "contrib.metrics.streaming_false_negatives", "contrib.slim.metrics.streaming_false_negatives"
)(_predictions_first(confusion.false_negatives))
streaming_false_negatives_at_thresholds = export(
    "contrib.metrics.streaming_false_negatives_at_thresholds",
    "contrib.slim.metrics.streaming_false_negatives_at_thresholds",
)(_predictions_first(thresholds.false_negatives_at_thresholds))
streaming_false_positives = export(
    "contrib.metrics.streaming_false_positives", "contrib.slim.metrics.streaming_false_positives"
)(_predictions_first(confusion.false_positives))
streaming_false_positives_at_thresholds = export(
    "contrib.metrics.streaming_false_positives_at_thresholds",
    "contrib.slim.metrics.streaming_false_positives_at_thresholds",
)(_predictions_first(thresholds.false_positives_at_thresholds))
streaming_mean_absolute_error = export(
    "contrib.metrics.streaming_mean_absolute_error", "contrib.slim.metrics.streaming_mean_absolute_error"
)(_predictions_first(means.mean_absolute_error))
streaming_mean_cosine_distance = export(
    "contrib.metrics.streaming_mean_cosine_distance", "contrib.slim.metrics.streaming_mean_cosine_distance"
)(_predictions_first(means.mean_cosine_distance))
streaming_mean_iou = export("contrib.metrics.streaming_mean_iou", "contrib.slim.metrics.streaming_mean_iou")(
    _predictions_first(confusion.mean_iou)
)
streaming_mean_relative_error = export(
    "contrib.metrics.streaming_mean_relative_error", "contrib.slim.metrics.streaming_mean_relative_error"
)(_predictions_first(means.mean_relative_error))
streaming_mean_squared_error = export(
    "contrib.metrics.streaming_mean_squared_error", "contrib.slim.metrics.streaming_mean_squared_error"
)(_predictions_first(means.mean_squared_error))
streaming_precision = export("contrib.metrics.streaming_precision", "contrib.slim.metrics.streaming_precision")(
    _predictions_first(confusion.precision)
)
streaming_precision_at_thresholds = export(
    "contrib.metrics.streaming_precision_at_thresholds", "contrib.slim.metrics.streaming_precision_at_thresholds"
)(_predictions_first(thresholds.precision_at_thresholds))
streaming_recall = export("contrib.metrics.streaming_recall", "contrib.slim.metrics.streaming_recall")(
    _predictions_first(confusion.recall)
)
streaming_recall_at_thresholds = export(
    "contrib.metrics.streaming_recall_at_thresholds", "contrib.slim.metrics.streaming_recall_at_thresholds"
)(_predictions_first(thresholds.recall_at_thresholds))
streaming_root_mean_squared_error = export(
    "contrib.metrics.streaming_root_mean_squared_error", "contrib.slim.metrics.streaming_root_mean_squared_error"
)(_predictions_first(means.root_mean_squared_error))
streaming_sensitivity_at_specificity = export(
    "contrib.metrics.streaming_sensitivity_at_specificity", "contrib.slim.metrics.streaming_sensitivity_at_specificity"
)(_predictions_first(thresholds.sensitivity_at_specificity))
streaming_sparse_average_precision_at_k = export(
    "contrib.metrics.streaming_sparse_average_precision_at_k",
    "contrib.slim.metrics.streaming_sparse_average_precision_at_k",
)(_predictions_first(ranking.average_precision_at_k))
streaming_sparse_precision_at_k = export(
    "contrib.metrics.streaming_sparse_precision_at_k", "contrib.slim.metrics.streaming_sparse_precision_at_k"
)(_predictions_first(ranking.precision_at_k))
streaming_sparse_recall_at_k = export(
    "contrib.metrics.streaming_sparse_recall_at_k", "contrib.slim.metrics.streaming_sparse_recall_at_k"
)(_predictions_first(ranking.recall_at_k))
streaming_specificity_at_sensitivity = export(
    "contrib.metrics.streaming_specificity_at_sensitivity", "contrib.slim.metrics.streaming_specificity_at_sensitivity"
)(_predictions_first(thresholds.specificity_at_sensitivity))
streaming_true_negatives = export(
    "contrib.metrics.streaming_true_negatives", "contrib.slim.metrics.streaming_true_negatives"
)(_predictions_first(confusion.true_negatives))
streaming_true_negatives_at_thresholds = export(
    "contrib.metrics.streaming_true_negatives_at_thresholds",
    "contrib.slim.metrics.streaming_true_negatives_at_thresholds",
)(_predictions_first(thresholds.true_negatives_at_thresholds))
streaming_true_positives = export(
    "contrib.metrics.streaming_true_positives", "contrib.slim.metrics.streaming_true_positives"
)(_predictions_first(confusion.true_positives))
streaming_true_positives_at_thresholds = export(
    "contrib.metrics.streaming_true_positives_at_thresholds",
    "contrib.slim.metrics.streaming_true_positives_at_thresholds",
)(_predictions_first(thresholds.true_positives_at_thresholds))


@export("contrib.metrics.streaming_recall_at_k", "contrib.slim.metrics.streaming_recall_at_k")
def streaming_recall_at_k(
    predictions: Any,
    labels: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Result:
    """Returns the fraction of rows whose label is among the k highest predictions."""
    found = cast(in_top_k(predictions, labels, k), dtypes.float32)
    return means.mean(found, weights, metrics_collections, updates_collections, name or f"recall_at_{k}")


@export("contrib.metrics.accuracy", "contrib.slim.metrics.accuracy")
def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Tensor:
    """Returns the fraction of equal predictions and labels in one batch."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    if predictions.dtype != labels.dtype:
        raise ValueError(f"Dtypes of predictions and labels differ: {predictions.dtype.name} and {labels.dtype.name}")
    with name_scope(name, "accuracy", [predictions, labels]):
        correct: Any = cast(equal(predictions, labels), dtypes.float32)
        if weights is None:
            return reduce_mean(correct)
        weights = cast(weights, dtypes.float32) + correct * 0.0
        return div_no_nan(reduce_sum(correct * weights), reduce_sum(weights))


@export("contrib.metrics.aggregate_metrics", "contrib.slim.metrics.aggregate_metrics")
def aggregate_metrics(*value_update_tuples: Result) -> tuple[list[Any], list[Any]]:
    """Returns the values of several metrics, and their updates."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


@export("contrib.metrics.aggregate_metric_map", "contrib.slim.metrics.aggregate_metric_map")
def aggregate_metric_map(names_to_tuples: dict[str, Result]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the values of several metrics by name, and their updates by name."""
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
