"""Accuracies: how often predictions are right, of numbers, of classes, and of the best classes."""

from __future__ import annotations

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DTypeLike
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater
from thalweg._src.graph.ops.nn import in_top_k
from thalweg._src.graph.ops.reduction import argmax, reduce_mean
from thalweg._src.graph.ops.reshape import reshape, shape, squeeze
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.settings import floatx
from thalweg._src.keras.metrics.base import MeanMetricWrapper
from thalweg._src.training.nn.weights import require_compatible


def _right(y_true: Tensor, y_pred: Tensor) -> Tensor:
    """Returns 1 where targets and predictions are equal, and 0 elsewhere."""
    equals = equal(y_true, cast(y_pred, y_true.dtype.base_dtype))
    return cast(equals, dtypes.as_dtype(floatx()))  # type: ignore[no-any-return]


def accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns 1 where targets and predictions are equal, and 0 elsewhere."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    require_compatible(y_pred, y_true)
    return _right(y_true, y_pred)


def _binary_matches(y_true: TensorLike, y_pred: TensorLike, threshold: float = 0.5) -> Tensor:
    """Returns 1 where a prediction is above a threshold and its target 1, or neither, and 0 elsewhere."""
    y_pred = convert_to_tensor(y_pred)
    chosen = cast(greater(y_pred, cast(threshold, y_pred.dtype.base_dtype)), y_pred.dtype.base_dtype)
    return _right(convert_to_tensor(y_true), chosen)


@export("keras.metrics.binary_accuracy")
def binary_accuracy(y_true: TensorLike, y_pred: TensorLike, threshold: float = 0.5) -> Tensor:
    """Returns the share of an example's predictions that are above a threshold where the target is 1, or neither."""
    return reduce_mean(_binary_matches(y_true, y_pred, threshold), -1)


@export("keras.metrics.categorical_accuracy")
def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns 1 where targets and predictions are largest for the same class, and 0 elsewhere."""
    return _right(argmax(y_true, axis=-1), argmax(y_pred, axis=-1))


@export("keras.metrics.sparse_categorical_accuracy")
def sparse_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Returns 1 where predictions are largest for the target's class, given by number, and 0 elsewhere."""
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    if y_true.dims is not None and y_pred.dims is not None and len(y_true.dims) == len(y_pred.dims):
        y_true = squeeze(y_true, [-1])
    return _right(y_true, argmax(y_pred, axis=-1))


def _among_best(classes: Tensor, y_pred: Tensor, k: TensorLike) -> Tensor:
    """Returns 1 where a class has one of the k highest predictions, and 0 elsewhere."""
    scores = cast(y_pred, dtypes.float32)
    is_flat = y_pred.dims is not None and len(y_pred.dims) == 2
    if y_pred.dims == ():
        raise ValueError("y_pred: expected a prediction of each class, received a scalar")
    if not is_flat:
        last = shape(y_pred)[-1] if y_pred.dims is None or y_pred.dims[-1] is None else y_pred.dims[-1]
        scores = reshape(scores, [-1, last])
    is_hit = in_top_k(scores, reshape(cast(classes, dtypes.int32), [-1]), k)
    is_hit = cast(is_hit, dtypes.as_dtype(floatx()))
    return is_hit if is_flat else reshape(is_hit, shape(y_pred)[:-1])


@export("keras.metrics.top_k_categorical_accuracy")
def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """Returns 1 where the largest target is that of one of the k highest predictions, and 0 elsewhere."""
    return _among_best(argmax(y_true, axis=-1), convert_to_tensor(y_pred), k)


@export("keras.metrics.sparse_top_k_categorical_accuracy")
def sparse_top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """Returns 1 where the target's class, given by number, has one of the k highest predictions, and 0 elsewhere."""
    return _among_best(convert_to_tensor(y_true), convert_to_tensor(y_pred), k)


# -- metrics ----------------------------------------------------------------------------------------------------------


@export("keras.metrics.Accuracy")
class Accuracy(MeanMetricWrapper):
    """The share of predictions that equal their targets."""

    def __init__(self, name: str | None = "accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(accuracy, name, dtype=dtype)


@export("keras.metrics.BinaryAccuracy")
class BinaryAccuracy(MeanMetricWrapper):
    """The share of predictions that are above a threshold where the target is 1, or neither."""

    def __init__(
        self, name: str | None = "binary_accuracy", dtype: DTypeLike | None = None, threshold: float = 0.5
    ) -> None:
        super().__init__(_binary_matches, name, dtype=dtype, threshold=threshold)


@export("keras.metrics.CategoricalAccuracy")
class CategoricalAccuracy(MeanMetricWrapper):
    """The share of examples whose targets and predictions are largest for the same class."""

    def __init__(self, name: str | None = "categorical_accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(categorical_accuracy, name, dtype=dtype)


@export("keras.metrics.SparseCategoricalAccuracy")
class SparseCategoricalAccuracy(MeanMetricWrapper):
    """The share of examples whose predictions are largest for the target's class, given by number."""

    def __init__(self, name: str | None = "sparse_categorical_accuracy", dtype: DTypeLike | None = None) -> None:
        super().__init__(sparse_categorical_accuracy, name, dtype=dtype)


@export("keras.metrics.TopKCategoricalAccuracy")
class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The share of examples whose largest target is that of one of the k highest predictions."""

    def __init__(
        self, k: int = 5, name: str | None = "top_k_categorical_accuracy", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(top_k_categorical_accuracy, name, dtype=dtype, k=k)


@export("keras.metrics.SparseTopKCategoricalAccuracy")
class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The share of examples whose class, given by number, has one of the k highest predictions."""

    def __init__(
        self, k: int = 5, name: str | None = "sparse_top_k_categorical_accuracy", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype=dtype, k=k)
