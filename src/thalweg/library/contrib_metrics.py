"""tf.contrib.metrics: the metrics of tf.metrics with predictions before labels, and several metrics together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg import dtypes
from thalweg.graph.convert import convert_to_tensor
from thalweg.graph.scopes import name_scope
from thalweg.graph.tensor import Tensor
from thalweg.library.metrics import confusion, means, ranking, thresholds
from thalweg.ops.comparison import equal
from thalweg.ops.math import cast, div_no_nan
from thalweg.ops.nn import in_top_k
from thalweg.ops.reduction import reduce_mean, reduce_sum

Metric = Callable[..., Any]


def _swapped(metric: Metric) -> Metric:
    def streaming(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> Any:
        return metric(labels, predictions, *args, **kwargs)

    streaming.__name__ = streaming.__qualname__ = f"streaming_{metric.__name__}"
    streaming.__doc__ = metric.__doc__
    return streaming


streaming_mean = means.mean
streaming_mean_tensor = means.mean_tensor
streaming_percentage_less = means.percentage_below
streaming_accuracy = _swapped(means.accuracy)
streaming_mean_absolute_error = _swapped(means.mean_absolute_error)
streaming_mean_squared_error = _swapped(means.mean_squared_error)
streaming_root_mean_squared_error = _swapped(means.root_mean_squared_error)
streaming_mean_relative_error = _swapped(means.mean_relative_error)
streaming_mean_cosine_distance = _swapped(means.mean_cosine_distance)
streaming_precision = _swapped(confusion.precision)
streaming_recall = _swapped(confusion.recall)
streaming_mean_iou = _swapped(confusion.mean_iou)
streaming_true_positives = _swapped(confusion.true_positives)
streaming_true_negatives = _swapped(confusion.true_negatives)
streaming_false_positives = _swapped(confusion.false_positives)
streaming_false_negatives = _swapped(confusion.false_negatives)
streaming_auc = _swapped(thresholds.auc)
streaming_precision_at_thresholds = _swapped(thresholds.precision_at_thresholds)
streaming_recall_at_thresholds = _swapped(thresholds.recall_at_thresholds)
streaming_true_positives_at_thresholds = _swapped(thresholds.true_positives_at_thresholds)
streaming_true_negatives_at_thresholds = _swapped(thresholds.true_negatives_at_thresholds)
streaming_false_positives_at_thresholds = _swapped(thresholds.false_positives_at_thresholds)
streaming_false_negatives_at_thresholds = _swapped(thresholds.false_negatives_at_thresholds)
streaming_sensitivity_at_specificity = _swapped(thresholds.sensitivity_at_specificity)
streaming_specificity_at_sensitivity = _swapped(thresholds.specificity_at_sensitivity)
streaming_sparse_recall_at_k = _swapped(ranking.recall_at_k)
streaming_sparse_precision_at_k = _swapped(ranking.precision_at_k)
streaming_sparse_average_precision_at_k = _swapped(ranking.average_precision_at_k)


def streaming_recall_at_k(
    predictions: Any,
    labels: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Returns how often a label is among the k best predictions."""
    found = cast(in_top_k(predictions, labels, k), dtypes.float32)
    return means.mean(found, weights, metrics_collections, updates_collections, name or f"recall_at_{k}")


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Tensor:
    """Returns the share of equal predictions and labels in one batch."""
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    if predictions.dtype != labels.dtype:
        raise ValueError(f"Dtypes of predictions and labels differ: {predictions.dtype.name} and {labels.dtype.name}")
    with name_scope(name, "accuracy", [predictions, labels]):
        correct: Any = cast(equal(predictions, labels), dtypes.float32)
        if weights is None:
            return reduce_mean(correct)
        weights = cast(weights, dtypes.float32) + correct * 0.0
        return div_no_nan(reduce_sum(correct * weights), reduce_sum(weights))


def aggregate_metrics(*value_update_tuples: Any) -> tuple[list[Any], list[Any]]:
    """Returns the values and the updates of metrics, as two lists."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the values and the updates of metrics, as two dictionaries."""
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
