"""Metrics of the confusion matrix: true and false positives and negatives, precision, recall, mean IoU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.bincount import confusion_matrix
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_greater_equal, assert_less_equal
from thalweg._src.graph.ops.comparison import greater, logical_and, logical_not
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import add, div_no_nan, multiply, subtract
from thalweg._src.graph.ops.nn import top_k as largest
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape
from thalweg._src.graph.ops.where import one_hot
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.losses.weighting import matched
from thalweg._src.keras.metrics.base import Metric
from thalweg._src.training.nn.metrics.confusion import _mean_iou
from thalweg._src.training.nn.weights import broadcast_weights, require_compatible, with_rank_of

# The target and the prediction of each count.
_KINDS = {
    "true_positives": (True, True),
    "true_negatives": (False, False),
    "false_positives": (False, True),
    "false_negatives": (True, False),
}
_LOWEST = -1e10  # below all predictions: what those that are not among the k highest become

Thresholds = float | Sequence[float] | None


# -- counts -----------------------------------------------------------------------------------------------------------


def parse_thresholds(thresholds: Thresholds, default: float = 0.5) -> list[float]:
    """Returns thresholds as a list; raises ValueError if one is outside of [0, 1]."""
    if thresholds is None:
        return [default]
    listed = list(thresholds) if isinstance(thresholds, list | tuple) else [thresholds]
    wrong = [threshold for threshold in listed if threshold is None or not 0 <= threshold <= 1]
    if wrong:
        raise ValueError(f"thresholds: expected numbers from 0 to 1, received {wrong}.")
    return listed


def _in_unit_interval(y_pred: Tensor) -> Tensor:
    """Returns predictions, guarded by assertions that they are probabilities."""
    bounds = [
        assert_greater_equal(y_pred, cast(0.0, y_pred.dtype), message="predictions must be >= 0"),
        assert_less_equal(y_pred, cast(1.0, y_pred.dtype), message="predictions must be <= 1"),
    ]
    with control_dependencies(bounds):
        return identity(y_pred)


def _only_highest(y_pred: Tensor, k: int) -> Tensor:
    """Returns predictions, all but the k highest of each example replaced by the lowest number."""
    _, places = largest(y_pred, k, sorted=False)
    is_highest = reduce_sum(one_hot(places, shape(y_pred)[-1], axis=-1, dtype=y_pred.dtype), -2)
    return add(multiply(y_pred, is_highest), multiply(_LOWEST, subtract(1.0, is_highest)))


def update_counts(
    variables: Mapping[str, Any],
    y_true: TensorLike,
    y_pred: TensorLike,
    thresholds: Sequence[float],
    sample_weight: TensorLike | None = None,
    top_k: int | None = None,
    class_id: int | None = None,
) -> Operation:
    """Adds to variables, by name of a count, how many elements of a batch count at each threshold, or their weights."""
    kind = next(iter(variables.values())).dtype.base_dtype
    truths, scores = matched(cast(y_true, kind), _in_unit_interval(cast(y_pred, kind)))
    if top_k is not None:
        scores = _only_highest(scores, top_k)
    if class_id is not None:
        truths, scores = truths[..., class_id], scores[..., class_id]
    require_compatible(scores, truths)
    weights = None
    if sample_weight is not None:
        weights = broadcast_weights(with_rank_of(cast(sample_weight, kind), scores), scores)
        weights = reshape(weights, [1, -1])
    limits = expand_dims(constant(list(thresholds), kind), 1)
    are_true, are_positive = reshape(cast(truths, dtypes.bool), [1, -1]), greater(reshape(scores, [1, -1]), limits)
    updates = []
    for key, variable in variables.items():
        truth, prediction = _KINDS[key]
        is_counted = logical_and(
            are_true if truth else logical_not(are_true), are_positive if prediction else logical_not(are_positive)
        )
        values = cast(is_counted, kind)
        updates.append(variable.assign_add(reduce_sum(values if weights is None else multiply(values, weights), 1)))
    return group(*updates)


class _Count(Metric):
    """A count of the elements of one kind, or the sum of their weights, at each threshold."""

    _kind: str

    def __init__(self, thresholds: Thresholds = None, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.thresholds = parse_thresholds(thresholds)
        self.accumulator = self.add_weight("accumulator", shape=(len(self.thresholds),), initializer="zeros")

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Counts the elements of a batch."""
        return update_counts({self._kind: self.accumulator}, y_true, y_pred, self.thresholds, sample_weight)

    def result(self) -> Any:
        """Returns the count, one for each threshold if there are several."""
        return self.accumulator[0] if len(self.thresholds) == 1 else self.accumulator.value()

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "thresholds": self.init_thresholds}


@export("keras.metrics.FalsePositives")
class FalsePositives(_Count):
    """The number of predictions above a threshold whose target is false."""

    _kind = "false_positives"


@export("keras.metrics.FalseNegatives")
class FalseNegatives(_Count):
    """The number of predictions up to a threshold whose target is true."""

    _kind = "false_negatives"


@export("keras.metrics.TrueNegatives")
class TrueNegatives(_Count):
    """The number of predictions up to a threshold whose target is false."""

    _kind = "true_negatives"


@export("keras.metrics.TruePositives")
class TruePositives(_Count):
    """The number of predictions above a threshold whose target is true."""

    _kind = "true_positives"


# -- shares -----------------------------------------------------------------------------------------------------------


class _Share(Metric):
    """The share of the true positives in them and the elements of another kind, at each threshold."""

    _other: str

    def __init__(
        self,
        thresholds: Thresholds = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds = thresholds
        self.top_k = top_k
        self.class_id = class_id
        self.thresholds = parse_thresholds(thresholds, 0.5 if top_k is None else _LOWEST)
        for key in self._kinds:
            setattr(self, key, self.add_weight(key, shape=(len(self.thresholds),), initializer="zeros"))

    @property
    def _kinds(self) -> tuple[str, str]:
        return "true_positives", self._other

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Counts the elements of a batch."""
        variables = {key: getattr(self, key) for key in self._kinds}
        return update_counts(variables, y_true, y_pred, self.thresholds, sample_weight, self.top_k, self.class_id)

    def result(self) -> Any:
        """Returns the share, one for each threshold if there are several."""
        right, wrong = (getattr(self, key) for key in self._kinds)
        shares = div_no_nan(right, add(right, wrong))
        return shares[0] if len(self.thresholds) == 1 else shares

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        arguments = {"thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}
        return {**super().get_config(), **arguments}


@export("keras.metrics.Precision")
class Precision(_Share):
    """The share of positive predictions whose target is true."""

    _other = "false_positives"


@export("keras.metrics.Recall")
class Recall(_Share):
    """The share of true targets whose prediction is positive."""

    _other = "false_negatives"


# -- classes ----------------------------------------------------------------------------------------------------------


@export("keras.metrics.MeanIoU")
class MeanIoU(Metric):
    """The mean intersection-over-union of targets and predictions, over the classes that occur."""

    def __init__(self, num_classes: int, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        shape = (num_classes, num_classes)
        self.total_cm = self.add_weight(
            "total_confusion_matrix", shape=shape, initializer="zeros", dtype=dtypes.float64
        )

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Adds the confusion matrix of a batch."""
        truths, scores = (reshape(values, [-1]) for values in self._cast(y_true, y_pred))
        weights = None if sample_weight is None else reshape(self._cast(sample_weight)[0], [-1])
        matrix = confusion_matrix(truths, scores, self.num_classes, weights=weights, dtype=dtypes.float64)
        return group(self.total_cm.assign_add(matrix))

    def result(self) -> Any:
        """Returns the mean."""
        return self._cast(_mean_iou(self.total_cm))[0]

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        return {**super().get_config(), "num_classes": self.num_classes}
