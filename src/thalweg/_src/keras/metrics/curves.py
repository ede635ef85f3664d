"""Metrics of curves over thresholds: points of them, and the area below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.math import abs as absolute, add, div_no_nan, divide, maximum, minimum, multiply, subtract
from thalweg._src.graph.ops.reduction import argmin, reduce_sum
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.settings import epsilon
from thalweg._src.keras.metrics.base import Metric
from thalweg._src.keras.metrics.confusion import parse_thresholds, update_counts
from thalweg._src.training.nn.metrics.thresholds import _interpolated_area

_KINDS = ("true_positives", "true_negatives", "false_positives", "false_negatives")


def _inner(number: int) -> list[float]:
    """Returns evenly spaced thresholds inside of [0, 1], without both ends."""
    return [(place + 1) / (number - 1) for place in range(number - 2)]


class _Counts(Metric):
    """Counts of true and false positives and negatives at thresholds."""

    true_positives: Any
    true_negatives: Any
    false_positives: Any
    false_negatives: Any
    thresholds: list[float]

    def _start(self, thresholds: list[float]) -> None:
        """Creates the variables for thresholds."""
        self.thresholds = thresholds
        for key in _KINDS:
            setattr(self, key, self.add_weight(key, shape=(len(thresholds),), initializer="zeros"))

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Counts the elements of a batch."""
        variables = {key: getattr(self, key) for key in _KINDS}
        return update_counts(variables, y_true, y_pred, self.thresholds, sample_weight)

    @property
    def _sensitivities(self) -> Tensor:
        return div_no_nan(self.true_positives, add(self.true_positives, self.false_negatives))

    @property
    def _specificities(self) -> Tensor:
        return div_no_nan(self.true_negatives, add(self.true_negatives, self.false_positives))


# -- points of a curve ------------------------------------------------------------------------------------------------


class _Point(_Counts):
    """What one share is at the threshold where another share is nearest to a value."""

    def __init__(self, value: float, num_thresholds: int, name: str | None, dtype: DTypeLike | None) -> None:
        super().__init__(name=name, dtype=dtype)
        if num_thresholds <= 0:
            raise ValueError(f"num_thresholds: expected more than 0, received {num_thresholds}.")
        if not 0 <= value <= 1:
            raise ValueError(f"expected a share from 0 to 1, received {value}.")
        self.value = value
        self.num_thresholds = num_thresholds
        self._start([0.5] if num_thresholds == 1 else [0.0, *_inner(num_thresholds), 1.0])

    def _at_nearest(self, fixed: Tensor, chosen: Tensor) -> Any:
        place = cast(argmin(absolute(subtract(fixed, self.value)), 0), dtypes.int32)
        return chosen[place]


@export("keras.metrics.SensitivityAtSpecificity")
class SensitivityAtSpecificity(_Point):
    """The sensitivity at the threshold whose specificity is nearest to a given one."""

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(specificity, num_thresholds, name, dtype)
        self.specificity = specificity

    def result(self) -> Any:
        """Returns the sensitivity."""
        return self._at_nearest(self._specificities, self._sensitivities)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        arguments = {"num_thresholds": self.num_thresholds, "specificity": self.specificity}
        return {**super().get_config(), **arguments}


@export("keras.metrics.SpecificityAtSensitivity")
class SpecificityAtSensitivity(_Point):
    """The specificity at the threshold whose sensitivity is nearest to a given one."""

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(sensitivity, num_thresholds, name, dtype)
        self.sensitivity = sensitivity

    def result(self) -> Any:
        """Returns the specificity."""
        return self._at_nearest(self._sensitivities, self._specificities)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        arguments = {"num_thresholds": self.num_thresholds, "sensitivity": self.sensitivity}
        return {**super().get_config(), **arguments}


# -- the area below a curve -------------------------------------------------------------------------------------------

_HEIGHTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "interpolation": lambda a, b: divide(add(a, b), 2.0),
    "minoring": lambda a, b: minimum(a, b),
    "majoring": lambda a, b: maximum(a, b),
}
_CURVES = ("ROC", "PR")


@export("keras.metrics.AUC")
class AUC(_Counts):
    """The area under the ROC or the precision-recall curve.

    Args:
        summation_method: Heights between thresholds: "interpolation", "minoring" or "majoring".
        thresholds: The thresholds, in place of `num_thresholds`.
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: DTypeLike | None = None,
        thresholds: Sequence[float] | None = None,
    ) -> None:
        if curve not in _CURVES:
            raise ValueError(f"curve: expected one of {', '.join(_CURVES)}, received {curve!r}.")
        if summation_method not in _HEIGHTS:
            raise ValueError(f"summation_method: expected one of {', '.join(_HEIGHTS)}, received {summation_method!r}.")
        if thresholds is None and num_thresholds <= 1:
            raise ValueError(f"num_thresholds: expected more than 1, received {num_thresholds}.")
        super().__init__(name=name, dtype=dtype)
        self.curve = curve
        self.summation_method = summation_method
        inner = _inner(num_thresholds) if thresholds is None else sorted(parse_thresholds(list(thresholds)))
        self.num_thresholds = len(inner) + 2
        # Both ends lie outside, so that predictions of 0 and 1 are on their inner sides.
        self._start([-epsilon(), *inner, 1.0 + epsilon()])

    def result(self) -> Any:
        """Returns the area."""
        if self.curve == "PR" and self.summation_method == "interpolation":
            counts = (self.true_positives, self.false_positives, self.false_negatives)
            return _interpolated_area(*(count.value() for count in counts))
        recall = self._sensitivities
        if self.curve == "ROC":
            x, y = div_no_nan(self.false_positives, add(self.false_positives, self.true_negatives)), recall
        else:
            x, y = recall, div_no_nan(self.true_positives, add(self.true_positives, self.false_positives))
        heights = _HEIGHTS[self.summation_method](y[:-1], y[1:])
        return reduce_sum(multiply(subtract(x[:-1], x[1:]), heights))

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor."""
        arguments = {
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "thresholds": self.thresholds[1:-1],
        }
        return {**super().get_config(), **arguments}
