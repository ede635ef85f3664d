"""Streaming covariance, Pearson correlation, concatenation and F1 score."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import less
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.math import div_no_nan, minimum, sqrt
from thalweg._src.graph.ops.reduction import reduce_max, reduce_sum
from thalweg._src.graph.ops.reshape import ones_like, shape as shape_of
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.metrics.state import Result, matched_ranks, metric, metric_variable
from thalweg._src.training.nn.metrics.thresholds import (
    false_negatives_at_thresholds,
    false_positives_at_thresholds,
    true_positives_at_thresholds,
)
from thalweg._src.training.variables.assign import assign
from thalweg._src.training.variables.variable_scope import variable_scope

_SMALL = 1e-7


@export("contrib.metrics.streaming_covariance")
@metric
def streaming_covariance(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the covariance of predictions and labels; NaN for fewer than two of them."""
    with variable_scope(name, "covariance", [predictions, labels]):
        x, y, w = matched_ranks(predictions, labels, weights)
        x, y = cast(x, dtypes.float32), cast(y, dtypes.float32)
        weight = ones_like(x) if w is None else cast(w, dtypes.float32) * ones_like(x)
        count, mean_x, mean_y, moment = (
            metric_variable([], dtypes.float32, name=statistic)
            for statistic in ("count", "mean_prediction", "mean_label", "comoment")
        )
        number = reduce_sum(weight)
        batch_x, batch_y = div_no_nan(reduce_sum(x * weight), number), div_no_nan(reduce_sum(y * weight), number)
        before, old_x, old_y = count.value(), mean_x.value(), mean_y.value()
        total = before + number
        share = div_no_nan(number, total)
        # The co-moment of the union: those of both parts plus a term of the distance of their means.
        grown = moment.value() + reduce_sum((x - batch_x) * (y - batch_y) * weight)
        grown = grown + (old_x - batch_x) * (old_y - batch_y) * before * share
        value = _unbiased(moment.value(), count.value())
        read = [before, old_x, old_y, grown, value]
        with control_dependencies(read):
            updates = [
                count.assign(total, read_value=False),
                mean_x.assign(old_x + (batch_x - old_x) * share, read_value=False),
                mean_y.assign(old_y + (batch_y - old_y) * share, read_value=False),
                moment.assign(grown, read_value=False),
            ]
        with control_dependencies(updates):
            update = _unbiased(grown, total)
        return value, update


def _unbiased(moment: Tensor, count: Tensor) -> Tensor:
    return where_v2(less(count, 1.5), float("nan"), moment / (count - 1))


@export("contrib.metrics.streaming_pearson_correlation")
@metric
def streaming_pearson_correlation(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None, name: str | None = None
) -> Result:
    """Returns the Pearson correlation of predictions and labels."""
    with variable_scope(name, "pearson_r", [predictions, labels]):
        both = streaming_covariance(predictions, labels, weights, name="covariance")
        x = streaming_covariance(predictions, predictions, weights, name="variance_predictions")
        y = streaming_covariance(labels, labels, weights, name="variance_labels")
        value, update = (c / (sqrt(vx) * sqrt(vy)) for c, vx, vy in zip(both, x, y))
        return value, update


@export("contrib.metrics.streaming_concat")
@metric
def streaming_concat(values: TensorLike, axis: int = 0, max_size: int | None = None, name: str | None = None) -> Result:
    """Returns all values so far, concatenated along an axis, at most max_size."""
    with variable_scope(name, "streaming_concat", [values]):
        values = convert_to_tensor(values)
        shape = values.get_shape().as_list()
        axis = axis + len(shape) if axis < 0 else axis
        if not 0 <= axis < len(shape):
            raise ValueError(f"axis = {axis} not in [0, {len(shape)})")
        start = [0 if i == axis else n for i, n in enumerate(shape)]
        if None in start:
            raise ValueError("all dimensions of `values` other than the dimension to concatenate along must be known")
        array = metric_variable(start, values.dtype, validate_shape=False, name="array")
        if max_size is not None:
            room = minimum(shape_of(values)[axis], max_size - shape_of(array.value())[axis])
            taken = tuple(slice(None, room) if i == axis else slice(None) for i in range(len(shape)))
            values = values[taken]
        grown = concat([array.value(), values], axis)
        static_sizes = [None if i == axis else n for i, n in enumerate(shape)]
        grown.set_shape(static_sizes)
        value = array.value()
        with control_dependencies([value]):
            update = assign(array, grown, validate_shape=False)
        value.set_shape(static_sizes)
        return value, update


@export("contrib.metrics.f1_score")
@metric
def f1_score(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    name: str | None = None,
) -> Result:
    """Returns the best F1 score over evenly spaced thresholds.

    Args:
        labels: Labels, converted to bool.
        predictions: Predictions in [0, 1].
    """
    with variable_scope(name, "f1", [labels, predictions]):
        inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        at = [0.0 - _SMALL, *inner, 1.0 + _SMALL]
        counts = (
            true_positives_at_thresholds(labels, predictions, at, weights),
            false_positives_at_thresholds(labels, predictions, at, weights),
            false_negatives_at_thresholds(labels, predictions, at, weights),
        )
        value, update = (_best_f1(*thresholds) for thresholds in zip(*counts))
        return value, update


def _best_f1(true_positives: Tensor, false_positives: Tensor, false_negatives: Tensor) -> Tensor:
    precision = true_positives / (_SMALL + true_positives + false_positives)
    recall = true_positives / (_SMALL + true_positives + false_negatives)
    return reduce_max(2.0 * precision * recall / (precision + recall + _SMALL))
