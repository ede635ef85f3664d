"""Metrics at thresholds: counts, precision, recall, sensitivity, specificity and AUC."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.logging import warning
from thalweg._src.base.signatures import variant
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_greater_equal, assert_less_equal
from thalweg._src.graph.ops.comparison import equal, greater, logical_and, logical_not
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.math import (
    abs as absolute,
    add,
    div_no_nan,
    divide,
    log,
    maximum,
    minimum,
    multiply,
    subtract,
)
from thalweg._src.graph.ops.reduction import argmax, argmin, cumsum, reduce_min, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, reshape
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.metrics.state import (
    Result,
    across_replicas,
    collected,
    matched_ranks,
    metric,
    metric_variable,
)
from thalweg._src.training.nn.weights import broadcast_weights
from thalweg._src.training.variables.assign import assign_add
from thalweg._src.training.variables.variable_scope import variable_scope

_EPSILON = 1e-7
# The label and the prediction of each count.
_KINDS = {
    "true_positives": (True, True),
    "false_negatives": (True, False),
    "true_negatives": (False, False),
    "false_positives": (False, True),
}
_ALL = tuple(_KINDS)
Counts = list[Any]  # in the order of the requested kinds


def _counts(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Iterable[float],
    weights: TensorLike | None,
    kinds: Iterable[str],
) -> tuple[Counts, Counts]:
    """Counts true and false positives and negatives at each threshold; returns the variables and their updates."""
    limits = [float(threshold) for threshold in thresholds]
    predictions = convert_to_tensor(predictions)
    bounds = [
        assert_greater_equal(predictions, cast(0.0, predictions.dtype), message="predictions lie outside [0, 1]"),
        assert_less_equal(predictions, cast(1.0, predictions.dtype), message="predictions lie outside [0, 1]"),
    ]
    with control_dependencies(bounds):
        predictions, labels, weights = matched_ranks(
            cast(predictions, dtypes.float32), cast(labels, dtypes.bool), weights
        )
    if weights is not None:
        weights = reshape(broadcast_weights(cast(weights, dtypes.float32), predictions), [1, -1])
    truths = reshape(labels, [1, -1])
    positive = greater(reshape(predictions, [1, -1]), expand_dims(constant(limits, dtypes.float32), 1))
    values, updates = [], []
    for kind in kinds:
        label, prediction = _KINDS[kind]
        variable = metric_variable([len(limits)], dtypes.float32, name=kind)
        matches = logical_and(
            truths if label else logical_not(truths), positive if prediction else logical_not(positive)
        )
        hits = cast(matches, dtypes.float32)
        if weights is not None:
            hits = multiply(hits, weights)
        values.append(variable)
        updates.append(assign_add(variable, reduce_sum(hits, 1)))
    return values, updates


def _spread(number: int, last: float = 1.0 + _EPSILON) -> list[float]:
    """Returns evenly spaced thresholds of [0, 1], the first and the last just outside."""
    return [-_EPSILON, *((i + 1) / (number - 1) for i in range(number - 2)), last]


class _Measure(NamedTuple):
    """A function of the counts of some kinds, with the names of the metric, the value and the update."""

    title: str
    kinds: tuple[str, ...]
    function: Callable[..., Any]
    names: tuple[str, str] = ("value", "update_op")


def _at_thresholds(
    measure: _Measure,
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Iterable[float],
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Result:
    """Returns value and update of a function of the counts at thresholds."""
    with variable_scope(name, measure.title, [predictions, labels, weights]):
        values, updates = _counts(labels, predictions, thresholds, weights, measure.kinds)
        names = measure.names
        value = across_replicas(lambda *counts: measure.function(*counts, name=names[0]), *values)
        return value, measure.function(*updates, name=names[1])


# -- counts -----------------------------------------------------------------------------------------------------------


def _itself(count: Tensor, name: str) -> Any:
    return count.value() if hasattr(count, "value") else count


@export("metrics.true_positives_at_thresholds")
@metric
@variant(_at_thresholds, _Measure("true_positives", ("true_positives",), _itself))
def true_positives_at_thresholds() -> None:
    """Returns the number of true positives at each threshold."""


@export("metrics.true_negatives_at_thresholds")
@metric
@variant(_at_thresholds, _Measure("true_negatives", ("true_negatives",), _itself))
def true_negatives_at_thresholds() -> None:
    """Returns the number of true negatives at each threshold."""


@export("metrics.false_positives_at_thresholds")
@metric
@variant(_at_thresholds, _Measure("false_positives", ("false_positives",), _itself))
def false_positives_at_thresholds() -> None:
    """Returns the number of false positives at each threshold."""


@export("metrics.false_negatives_at_thresholds")
@metric
@variant(_at_thresholds, _Measure("false_negatives", ("false_negatives",), _itself))
def false_negatives_at_thresholds() -> None:
    """Returns the number of false negatives at each threshold."""


# -- shares -----------------------------------------------------------------------------------------------------------


def _share(numerator: Tensor, rest: Tensor, name: str) -> Tensor:
    return divide(numerator, add(add(_EPSILON, numerator), rest), name=name)


_PRECISION = _Measure(
    "precision_at_thresholds", ("true_positives", "false_positives"), _share, ("precision_value", "precision_update_op")
)


@export("metrics.precision_at_thresholds")
@metric
@variant(_at_thresholds, _PRECISION)
def precision_at_thresholds() -> None:
    """Returns the precision at each threshold."""


_RECALL = _Measure(
    "recall_at_thresholds", ("true_positives", "false_negatives"), _share, ("recall_value", "recall_update_op")
)


@export("metrics.recall_at_thresholds")
@metric
@variant(_at_thresholds, _RECALL)
def recall_at_thresholds() -> None:
    """Returns the recall at each threshold."""


# -- points of a curve ------------------------------------------------------------------------------------------------


def _require_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name}: expected a number from 0 to 1, received {value}.")


@export("metrics.sensitivity_at_specificity")
@metric
def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    name: str | None = None,
) -> Result:
    """Returns the sensitivity at the threshold whose specificity is nearest to the given one.

    Args:
        labels: Labels, converted to bool.
        predictions: Predictions in [0, 1].
    """
    _require_share("specificity", specificity)

    def measure(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
        shares = divide(tn, add(add(tn, fp), _EPSILON))
        place = cast(argmin(absolute(subtract(shares, specificity)), 0), dtypes.int32)
        return divide(tp[place], add(add(tp[place], fn[place]), _EPSILON), name=name)

    function = _Measure("sensitivity_at_specificity", _ALL, measure)
    return _at_thresholds(function, labels, predictions, _spread(num_thresholds), weights, name)


@export("metrics.specificity_at_sensitivity")
@metric
def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    name: str | None = None,
) -> Result:
    """Returns the specificity at the last threshold whose sensitivity is nearest to the given one.

    Args:
        labels: Labels, converted to bool.
        predictions: Predictions in [0, 1].
    """
    _require_share("sensitivity", sensitivity)

    def measure(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
        distances = absolute(subtract(divide(tp, add(add(tp, fn), _EPSILON)), sensitivity))
        nearest = cast(equal(distances, reduce_min(distances)), dtypes.int64)
        place = cast(argmax(cumsum(nearest), 0), dtypes.int32)
        return divide(tn[place], add(add(tn[place], fp[place]), _EPSILON), name=name)

    function = _Measure("specificity_at_sensitivity", _ALL, measure)
    return _at_thresholds(function, labels, predictions, _spread(num_thresholds, 1.0 - _EPSILON), weights, name)


# -- area under a curve -----------------------------------------------------------------------------------------------

_HEIGHTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "trapezoidal": lambda a, b: divide(add(a, b), 2.0),
    "careful_interpolation": lambda a, b: divide(add(a, b), 2.0),
    "minoring": lambda a, b: minimum(a, b),
    "majoring": lambda a, b: maximum(a, b),
}
_EPSILON = 1e-6


@export("metrics.auc")
def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Sequence[str] | None = None,
    updates_collections: Sequence[str] | None = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Iterable[float] | None = None,
) -> Result:
    """Returns the area under the ROC or the precision-recall curve.

    Args:
        labels: Labels, converted to bool.
        predictions: Predictions in [0, 1].
        summation_method: "trapezoidal", "careful_interpolation", "minoring" or "majoring".
        thresholds: The thresholds, in place of `num_thresholds`.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve: expected 'ROC' or 'PR', received {curve!r}.")
    if summation_method not in _HEIGHTS:
        raise ValueError(f"Invalid summation_method: {summation_method}; it is one of {', '.join(_HEIGHTS)}.")
    if curve == "PR" and summation_method == "trapezoidal":
        warning("The trapezoidal rule gives wrong areas under PR curves; use summation_method='careful_interpolation'.")
    if thresholds is None:
        limits = _spread(num_thresholds)
    else:
        limits = [-_EPSILON, *sorted(thresholds), 1.0 + _EPSILON]

    def measure(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
        if curve == "PR" and summation_method == "careful_interpolation":
            return _interpolated_area(tp, fp, fn)
        recall = divide(add(tp, _EPSILON), add(add(tp, fn), _EPSILON))
        if curve == "ROC":
            x, y = divide(fp, add(add(fp, tn), _EPSILON)), recall
        else:
            x, y = recall, divide(add(tp, _EPSILON), add(add(tp, fp), _EPSILON))
        widths = subtract(x[:-1], x[1:])
        return reduce_sum(multiply(widths, _HEIGHTS[summation_method](y[:-1], y[1:])), name=name)

    value, update = _at_thresholds(_Measure("auc", _ALL, measure), labels, predictions, limits, weights, name)
    return collected(value, update, metrics_collections, updates_collections)


def _interpolated_area(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
    """Returns the area under the precision-recall curve, with exact interpolation between thresholds.

    Between thresholds the number of true positives is linear in that of all positives (Davis and Goadrich, 2006).
    """
    tp_steps = subtract(tp[:-1], tp[1:])
    positive = add(tp, fp)
    before, after = positive[:-1], positive[1:]
    slope = div_no_nan(tp_steps, maximum(subtract(before, after), 0.0), name="prec_slope")
    intercept = subtract(tp[1:], multiply(slope, after))
    ratio = div_no_nan(before, maximum(after, 0.0), name="recall_relative_ratio")
    ratio = where(logical_and(greater(before, 0.0), greater(after, 0.0)), ratio, ones_like(after))
    areas = multiply(slope, add(tp_steps, multiply(intercept, log(ratio))))
    increments = div_no_nan(areas, maximum(add(tp[1:], fn[1:]), 0.0), name="pr_auc_increment")
    return reduce_sum(increments, name="interpolate_pr_auc")
