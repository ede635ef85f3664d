"""Loss functions: a value for each example, the mean or sum along the last axis."""

from __future__ import annotations

import numpy as np

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, logical_or
from thalweg._src.graph.ops.math import (
    abs as absolute,
    add,
    clip_by_value,
    divide,
    log,
    maximum,
    minimum,
    multiply,
    negative,
    square,
    squared_difference,
    subtract,
)
from thalweg._src.graph.ops.nn import softplus
from thalweg._src.graph.ops.normalization import l2_normalize
from thalweg._src.graph.ops.reduction import reduce_all, reduce_max, reduce_mean, reduce_sum
from thalweg._src.graph.ops.reshape import shape
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend import crossentropy
from thalweg._src.keras.backend.settings import epsilon


def _alike(y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    """Returns both as tensors, the targets in the type of the predictions."""
    y_pred = convert_to_tensor(y_pred)
    return cast(y_true, y_pred.dtype.base_dtype), y_pred


def _signs(y_true: Tensor) -> Tensor:
    """Returns targets as -1 and 1 if all of them are 0 or 1."""
    is_binary = reduce_all(logical_or(equal(y_true, 0.0), equal(y_true, 1.0)))
    return where_v2(is_binary, subtract(multiply(2.0, y_true), 1.0), y_true)


# -- errors -----------------------------------------------------------------------------------------------------------


@export(
    *("keras.losses.mean_squared_error", "keras.losses.mse", "keras.losses.MSE"),
    *("keras.metrics.mean_squared_error", "keras.metrics.mse", "keras.metrics.MSE"),
)
def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of (y_pred - y_true) squared."""
    y_true, y_pred = _alike(y_true, y_pred)
    return reduce_mean(squared_difference(y_pred, y_true), -1)


@export(
    *("keras.losses.mean_absolute_error", "keras.losses.mae", "keras.losses.MAE"),
    *("keras.metrics.mean_absolute_error", "keras.metrics.mae", "keras.metrics.MAE"),
)
def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of |y_pred - y_true|."""
    y_true, y_pred = _alike(y_true, y_pred)
    return reduce_mean(absolute(subtract(y_pred, y_true)), -1)


@export(
    *("keras.losses.mean_absolute_percentage_error", "keras.losses.mape", "keras.losses.MAPE"),
    *("keras.metrics.mean_absolute_percentage_error", "keras.metrics.mape", "keras.metrics.MAPE"),
)
def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of 100 |y_true - y_pred| / |y_true|."""
    y_true, y_pred = _alike(y_true, y_pred)
    shares = divide(subtract(y_true, y_pred), maximum(absolute(y_true), epsilon()))
    return multiply(100.0, reduce_mean(absolute(shares), -1))


@export(
    *("keras.losses.mean_squared_logarithmic_error", "keras.losses.msle", "keras.losses.MSLE"),
    *("keras.metrics.mean_squared_logarithmic_error", "keras.metrics.msle", "keras.metrics.MSLE"),
)
def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of (log(y_pred + 1) - log(y_true + 1)) squared; negative values count as 0."""
    y_true, y_pred = _alike(y_true, y_pred)
    logs = [log(add(maximum(values, epsilon()), 1.0)) for values in (y_pred, y_true)]
    return reduce_mean(squared_difference(*logs), -1)


@export("keras.losses.logcosh")
def logcosh(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of log(cosh(y_pred - y_true)), which is linear for large errors."""
    y_true, y_pred = _alike(y_true, y_pred)
    errors = subtract(y_pred, y_true)
    # cosh itself would overflow.
    values = subtract(add(errors, softplus(multiply(-2.0, errors))), float(np.log(2.0)))
    return reduce_mean(values, -1)


def huber_loss(y_true: TensorLike, y_pred: TensorLike, delta: float = 1.0) -> Tensor:
    """Returns the Huber loss of each element: half the squared error up to `delta`, linear beyond."""
    y_true, y_pred = _alike(y_true, y_pred)
    errors = absolute(subtract(y_pred, y_true))
    near = minimum(errors, delta)
    return add(multiply(0.5, square(near)), multiply(delta, subtract(errors, near)))


# -- hinges -----------------------------------------------------------------------------------------------------------


@export("keras.losses.squared_hinge", "keras.metrics.squared_hinge")
def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of max(1 - y_true y_pred, 0) squared; targets 0 and 1 stand for -1 and 1."""
    y_true, y_pred = _alike(y_true, y_pred)
    return reduce_mean(square(maximum(subtract(1.0, multiply(_signs(y_true), y_pred)), 0.0)), -1)


@export("keras.losses.hinge", "keras.metrics.hinge")
def hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of max(1 - y_true y_pred, 0); targets 0 and 1 stand for -1 and 1."""
    y_true, y_pred = _alike(y_true, y_pred)
    return reduce_mean(maximum(subtract(1.0, multiply(_signs(y_true), y_pred)), 0.0), -1)


@export("keras.losses.categorical_hinge")
def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns how far the score of the true class is from exceeding those of all others by 1."""
    y_true, y_pred = _alike(y_true, y_pred)
    right = reduce_sum(multiply(y_true, y_pred), -1)
    wrong = reduce_max(multiply(subtract(1.0, y_true), y_pred), -1)
    return maximum(add(subtract(wrong, right), 1.0), 0.0)


# -- crossentropies ---------------------------------------------------------------------------------------------------


@export("keras.losses.categorical_crossentropy", "keras.metrics.categorical_crossentropy")
def categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0
) -> Tensor:
    """Returns the crossentropy of distributions over classes; smoothing moves targets towards 1 / classes."""
    y_true, y_pred = _alike(y_true, y_pred)
    if label_smoothing:
        classes = cast(shape(y_true)[-1], y_pred.dtype)
        y_true = add(multiply(y_true, 1.0 - label_smoothing), divide(label_smoothing, classes))
    return crossentropy.categorical_crossentropy(y_true, y_pred, from_logits=from_logits)


@export("keras.losses.sparse_categorical_crossentropy", "keras.metrics.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Returns the crossentropy of classes, given by number, and distributions over classes.

    Args:
        axis: The axis of the classes.
    """
    return crossentropy.sparse_categorical_crossentropy(y_true, y_pred, from_logits=from_logits, axis=axis)


@export("keras.losses.binary_crossentropy", "keras.metrics.binary_crossentropy")
def binary_crossentropy(
    y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0
) -> Tensor:
    """Returns the mean crossentropy of targets and probabilities; smoothing moves targets towards 1/2."""
    y_true, y_pred = _alike(y_true, y_pred)
    if label_smoothing:
        y_true = add(multiply(y_true, 1.0 - label_smoothing), 0.5 * label_smoothing)
    return reduce_mean(crossentropy.binary_crossentropy(y_true, y_pred, from_logits=from_logits), -1)


# -- distributions and directions -------------------------------------------------------------------------------------


@export(
    *("keras.losses.kullback_leibler_divergence", "keras.losses.kld", "keras.losses.KLD"),
    *("keras.metrics.kullback_leibler_divergence", "keras.metrics.kld", "keras.metrics.KLD"),
)
def kullback_leibler_divergence(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the sum of y_true log(y_true / y_pred)."""
    y_true, y_pred = (clip_by_value(values, epsilon(), 1.0) for values in _alike(y_true, y_pred))
    return reduce_sum(multiply(y_true, log(divide(y_true, y_pred))), -1)


@export("keras.losses.poisson", "keras.metrics.poisson")
def poisson(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns the mean of y_pred - y_true log(y_pred)."""
    y_true, y_pred = _alike(y_true, y_pred)
    return reduce_mean(subtract(y_pred, multiply(y_true, log(add(y_pred, epsilon())))), -1)


@export(
    *("keras.losses.cosine_similarity", "keras.losses.cosine_proximity", "keras.losses.cosine"),
    *("keras.metrics.cosine_proximity", "keras.metrics.cosine"),
)
def cosine_similarity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Tensor:
    """Returns the negative cosine of the angle between vectors, -1 if they have one direction."""
    y_true, y_pred = _alike(y_true, y_pred)
    return negative(reduce_sum(multiply(l2_normalize(y_true, axis=axis), l2_normalize(y_pred, axis=axis)), axis))
