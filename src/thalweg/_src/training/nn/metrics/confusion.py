"""Metrics of the confusion matrix: true and false positives and negatives, precision, recall, mean IoU."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.bincount import confusion_matrix
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_rank_in
from thalweg._src.graph.ops.comparison import equal, greater, logical_and, logical_not, not_equal
from thalweg._src.graph.ops.diagonal import diag_part
from thalweg._src.graph.ops.math import add, div_no_nan, divide, maximum, multiply, subtract
from thalweg._src.graph.ops.reduction import reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import ones, ones_like, rank, reshape, size, zeros_like
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.metrics.state import Result, across_replicas, matched_ranks, metric, metric_variable
from thalweg._src.training.nn.weights import require_compatible
from thalweg._src.training.variables.assign import assign_add, scatter_add
from thalweg._src.training.variables.variable_scope import variable_scope

# -- truths -----------------------------------------------------------------------------------------------------------


def _truths(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    return matched_ranks(cast(predictions, dtypes.bool), cast(labels, dtypes.bool), weights)


def _counted(
    kind: str,
    label: bool,
    prediction: bool,
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None,
    name: str | None,
) -> Result:
    """Counts, or sums the weights of, the elements with a given label and prediction."""
    with variable_scope(name, kind, [predictions, labels, weights]):
        predictions, labels, weights = _truths(predictions, labels, weights)
        count = metric_variable([], dtypes.float32, name="count")
        matches = logical_and(
            labels if label else logical_not(labels), predictions if prediction else logical_not(predictions)
        )
        values = cast(matches, dtypes.float32)
        if weights is not None:
            with control_dependencies([assert_rank_in(weights, (0, rank(values)))]):
                values = multiply(values, cast(weights, dtypes.float32))
        return across_replicas(lambda count: count.value(), count), assign_add(count, reduce_sum(values))


@export("metrics.true_positives")
@metric
def true_positives(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the number of true positives."""
    return _counted("true_positives", True, True, labels, predictions, weights, name)


@export("metrics.true_negatives")
@metric
def true_negatives(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the number of true negatives."""
    return _counted("true_negatives", False, False, labels, predictions, weights, name)


@export("metrics.false_positives")
@metric
def false_positives(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the number of false positives."""
    return _counted("false_positives", False, True, labels, predictions, weights, name)


@export("metrics.false_negatives")
@metric
def false_negatives(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the number of false negatives."""
    return _counted("false_negatives", True, False, labels, predictions, weights, name)


def _ratio(numerator: Tensor, rest: Tensor, name: str) -> Tensor:
    """Returns numerator / (numerator + rest), 0 if both are 0."""
    whole = add(numerator, rest)
    return where(greater(whole, 0.0), divide(numerator, whole), zeros_like(whole), name=name)


@export("metrics.precision")
@metric
def precision(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the precision: the fraction of positive predictions whose label is positive."""
    with variable_scope(name, "precision", [predictions, labels, weights]):
        predictions, labels, weights = _truths(predictions, labels, weights)
        right, update_right = true_positives(labels, predictions, weights)
        wrong, update_wrong = false_positives(labels, predictions, weights)
        return across_replicas(_ratio, right, wrong, "value"), _ratio(update_right, update_wrong, "update_op")


@export("metrics.recall")
@metric
def recall(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the recall: the fraction of positive labels whose prediction is positive."""
    with variable_scope(name, "recall", [predictions, labels, weights]):
        predictions, labels, weights = _truths(predictions, labels, weights)
        hits, update_hits = true_positives(labels, predictions, weights)
        missed, update_missed = false_negatives(labels, predictions, weights)
        return across_replicas(_ratio, hits, missed, "value"), _ratio(update_hits, update_missed, "update_op")


# -- classes ----------------------------------------------------------------------------------------------------------


def _flat(tensor: Tensor) -> Tensor:
    return reshape(tensor, [-1]) if tensor.dims is None or len(tensor.dims) > 1 else tensor


@export("metrics.mean_per_class_accuracy")
@metric
def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Result:
    """Returns the mean per-class accuracy; the update returns the accuracy of each class."""
    with variable_scope(name, "mean_accuracy", [predictions, labels, weights]):
        labels, predictions = _flat(cast(labels, dtypes.int64)), _flat(convert_to_tensor(predictions))
        require_compatible(predictions, labels)
        total, count = (metric_variable([num_classes], dtypes.float32, name=key) for key in ("total", "count"))
        factors_per_label = ones([size(labels)], dtypes.float32)
        right = cast(equal(cast(predictions, dtypes.int64), labels), dtypes.float32)
        if weights is not None:
            factors = cast(_flat(convert_to_tensor(weights)), dtypes.float32)
            right, factors_per_label = multiply(right, factors), multiply(factors_per_label, factors)
        totals, counts = scatter_add(total, labels, factors_per_label), scatter_add(count, labels, right)
        value = across_replicas(_mean_accuracy, total, count)
        update = div_no_nan(counts, maximum(totals, 0.0), name="update_op")
        return value, update


def _mean_accuracy(total: Tensor, count: Tensor) -> Tensor:
    return reduce_mean(div_no_nan(count, maximum(total, 0.0)), name="mean_accuracy")


@export("metrics.mean_iou")
@metric
def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Result:
    """Returns the mean intersection-over-union of labels and predictions, over the classes that occur.

    The update returns the confusion matrix of all batches.
    """
    with variable_scope(name, "mean_iou", [predictions, labels, weights]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        require_compatible(predictions, labels)
        matrix = metric_variable([num_classes, num_classes], dtypes.float64, name="total_confusion_matrix")
        predictions, labels = _flat(cast(predictions, dtypes.int64)), _flat(cast(labels, dtypes.int64))
        factors = None if weights is None else _flat(convert_to_tensor(weights))
        current = confusion_matrix(labels, predictions, num_classes, weights=factors, dtype=dtypes.float64)
        update = assign_add(matrix, current)
        return across_replicas(_mean_iou, matrix), update


def _mean_iou(matrix: Tensor) -> Tensor:
    predicted, labelled = (cast(reduce_sum(matrix, axis), dtypes.float32) for axis in (0, 1))
    both = cast(diag_part(matrix), dtypes.float32)
    either = subtract(add(predicted, labelled), both)
    seen = reduce_sum(cast(not_equal(either, 0.0), dtypes.float32))
    shares = divide(both, where(greater(either, 0.0), either, ones_like(either)))
    total = reduce_sum(shares, name="mean_iou")
    return where(greater(seen, 0.0), divide(total, seen), zeros_like(total))
