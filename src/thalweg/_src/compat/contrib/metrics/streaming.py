"""Streaming metrics: those of tf.metrics with predictions before labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_members
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal
from thalweg._src.graph.ops.math import div_no_nan
from thalweg._src.graph.ops.nn import in_top_k
from thalweg._src.graph.ops.reduction import reduce_mean, reduce_sum
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.metrics import confusion, means, ranking, thresholds
from thalweg._src.training.nn.metrics.state import Result, metric


def _streaming(function: Callable[..., Result], name: str = "") -> Callable[..., Result]:
    """Returns a metric with predictions before labels, public as `streaming_` and the name, by default its own."""

    def turned(predictions: TensorLike, labels: TensorLike, *args: Any, **kwargs: Any) -> Result:
        return function(labels, predictions, *args, **kwargs)

    public = f"streaming_{name or function.__name__}"
    turned.__name__ = public
    turned.__doc__ = function.__doc__
    return export(f"contrib.metrics.{public}", f"contrib.slim.metrics.{public}")(turned)


streaming_accuracy = _streaming(means.accuracy)
streaming_auc = _streaming(thresholds.auc)
streaming_false_negatives = _streaming(confusion.false_negatives)
streaming_false_negatives_at_thresholds = _streaming(thresholds.false_negatives_at_thresholds)
streaming_false_positives = _streaming(confusion.false_positives)
streaming_false_positives_at_thresholds = _streaming(thresholds.false_positives_at_thresholds)
streaming_mean_absolute_error = _streaming(means.mean_absolute_error)
streaming_mean_cosine_distance = _streaming(means.mean_cosine_distance)
streaming_mean_iou = _streaming(confusion.mean_iou)
streaming_mean_relative_error = _streaming(means.mean_relative_error)
streaming_mean_squared_error = _streaming(means.mean_squared_error)
streaming_precision = _streaming(confusion.precision)
streaming_precision_at_thresholds = _streaming(thresholds.precision_at_thresholds)
streaming_recall = _streaming(confusion.recall)
streaming_recall_at_thresholds = _streaming(thresholds.recall_at_thresholds)
streaming_root_mean_squared_error = _streaming(means.root_mean_squared_error)
streaming_sensitivity_at_specificity = _streaming(thresholds.sensitivity_at_specificity)
streaming_sparse_average_precision_at_k = _streaming(ranking.average_precision_at_k, "sparse_average_precision_at_k")
streaming_sparse_precision_at_k = _streaming(ranking.precision_at_k, "sparse_precision_at_k")
streaming_sparse_recall_at_k = _streaming(ranking.recall_at_k, "sparse_recall_at_k")
streaming_specificity_at_sensitivity = _streaming(thresholds.specificity_at_sensitivity)
streaming_true_negatives = _streaming(confusion.true_negatives)
streaming_true_negatives_at_thresholds = _streaming(thresholds.true_negatives_at_thresholds)
streaming_true_positives = _streaming(confusion.true_positives)
streaming_true_positives_at_thresholds = _streaming(thresholds.true_positives_at_thresholds)


@export("contrib.metrics.streaming_recall_at_k", "contrib.slim.metrics.streaming_recall_at_k")
@metric
def streaming_recall_at_k(
    predictions: TensorLike, labels: TensorLike, k: int, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the fraction of rows whose label is among the k highest predictions.

    Args:
        predictions: Scores [batch, classes].
        labels: True classes: a tensor, dense or sparse.
    """
    hits = cast(in_top_k(predictions, labels, k), dtypes.float32)
    return means.mean(hits, weights, name=name or f"recall_at_{k}")


@export("contrib.metrics.accuracy", "contrib.slim.metrics.accuracy")
def accuracy(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Returns the fraction of equal predictions and labels in one batch.

    Args:
        name: A name for the operations that are added to the graph.
    """
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
    require_members("names_to_tuples", names_to_tuples, "a dict of metrics", "items")
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}
