"""Heads of classification: of two classes, of several, and of any number of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.deploy.saved_model.signatures import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from thalweg._src.estimator.export_outputs import ClassificationOutput, ExportOutput, PredictOutput, RegressionOutput
from thalweg._src.estimator.heads.base import (
    Head,
    Pair,
    broadcast_weights,
    require_labels,
    with_last_dimension,
)
from thalweg._src.estimator.spec import AVERAGE_LOSS_KEY
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_less
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from thalweg._src.graph.ops.decoding import as_string
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import maximum, sigmoid
from thalweg._src.graph.ops.nn import softmax
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.reduction import argmax, reduce_mean
from thalweg._src.graph.ops.reshape import expand_dims, shape, squeeze, zeros_like
from thalweg._src.graph.ops.sequences import range as range_of
from thalweg._src.graph.ops.sparse_shaping import sparse_to_indicator
from thalweg._src.graph.scopes import control_dependencies
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.metrics.confusion import precision, recall
from thalweg._src.training.nn.metrics.means import accuracy, mean
from thalweg._src.training.nn.metrics.thresholds import auc
from thalweg._src.training.nn.rnn.sizes import NestedTensors
from thalweg._src.training.nn.vocabularies import index_table_from_tensor, index_to_string_table_from_tensor

_BINARY_KEYS = [
    *("accuracy", "precision", "recall", "accuracy_baseline", "auc", "auc_precision_recall"),
    *(AVERAGE_LOSS_KEY, "label/mean", "prediction/mean"),
]
_AT_THRESHOLD = "{}/positive_threshold_{:g}"


class _Classes(Head):
    """The classes of a head, numbered or named by a vocabulary."""

    _n_classes = 2
    _vocabulary: Any = None

    def _set_classes(self, n_classes: int, vocabulary: Sequence[str] | None) -> None:
        if vocabulary is not None and not isinstance(vocabulary, list | tuple):
            raise ValueError(f"label_vocabulary should be a list or a tuple. Given type: {type(vocabulary)}")
        if vocabulary is not None and len(vocabulary) != n_classes:
            raise ValueError(f"label_vocabulary must have {n_classes} words, received {len(vocabulary)}")
        self._n_classes = n_classes
        self._vocabulary = vocabulary

    def _ids_of(self, labels: NestedTensors) -> Any:
        """Returns the numbers of labels, which are words if there is a vocabulary."""
        if self._vocabulary is None:
            if not (labels.dtype.is_integer or labels.dtype.is_floating or labels.dtype.is_bool):
                raise ValueError(f"labels are {labels.dtype.name}: give their label_vocabulary")
            return labels
        if labels.dtype != dtypes.string:
            raise ValueError(f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype.name}")
        return index_table_from_tensor(list(self._vocabulary), name="class_id_lookup").lookup(labels)

    def _classes_of(self, ids: TensorLike) -> Any:
        """Returns classes as strings."""
        if self._vocabulary is None:
            return as_string(ids, name="str_classes")
        return index_to_string_table_from_tensor(list(self._vocabulary), name="class_string_lookup").lookup(ids)

    def _every_class(self, like: Tensor) -> dict[str, Any]:
        """Returns the numbers and names of all classes for each example."""
        batch = shape(like)[:1]
        times = concat([batch, [1]], 0)
        ids = tile(expand_dims(range_of(self._n_classes), 0), times)
        named = [str(index) for index in range(self._n_classes)] if self._vocabulary is None else list(self._vocabulary)
        return {"all_class_ids": ids, "all_classes": tile(expand_dims(constant(named), 0), times)}


@export("estimator.BinaryClassHead")
class BinaryClassHead(_Classes):
    """Two classes by one logit: the logistic loss, and labels of 0 and 1 or of a vocabulary.

    Args:
        thresholds: Thresholds of probabilities, each with metrics of its own.
        name: Name of the head, which ends the names of its metrics.
    """

    def __init__(
        self,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        self._set(name, loss_reduction, weight_column, loss_fn)
        self._set_classes(2, label_vocabulary)
        self._thresholds = checked_thresholds(thresholds)
        self._logits_dimension = 1

    def _checked_labels(self, labels: Any, logits: Tensor) -> Any:
        require_labels(labels)
        ids = cast(self._ids_of(with_last_dimension(labels, 1)), dtypes.float32)
        return _below(ids, 2.0)

    def _unweighted(self, labels: NestedTensors, logits: Tensor) -> Tensor:
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _all_predictions(self, logits: Tensor) -> dict[Any, Any]:
        logistic = sigmoid(logits, name="logistic")
        both = concat([zeros_like(logits), logits], -1, name="two_class_logits")
        ids = expand_dims(argmax(both, axis=-1), -1, name="class_ids")
        return {
            "logits": logits,
            "logistic": logistic,
            "probabilities": softmax(both, name="probabilities"),
            "class_ids": ids,
            "classes": self._classes_of(ids),
            **self._every_class(logits),
        }

    def _metric_keys(self) -> list[str]:
        at = [_AT_THRESHOLD.format(kind, t) for t in self._thresholds for kind in ("accuracy", "precision", "recall")]
        return [*_BINARY_KEYS, *at]

    def _metric_pairs(
        self, labels: NestedTensors, logits: Tensor, weights: TensorLike, unweighted: Tensor
    ) -> dict[str, Pair]:
        weights = broadcast_weights(weights)
        logistic = sigmoid(logits)
        ids = cast(greater(logits, 0.0), dtypes.int64)
        label_mean = mean(labels, weights)
        pairs = {
            "accuracy": accuracy(labels, ids, weights),
            "precision": precision(labels, ids, weights),
            "recall": recall(labels, ids, weights),
            "accuracy_baseline": (_baseline(label_mean[0]), _baseline(label_mean[1])),
            **_areas(labels, logistic, weights),
            "label/mean": label_mean,
            "prediction/mean": mean(logistic, weights),
        }
        return pairs | _at_thresholds(self._thresholds, labels, logistic, weights)

    def _export_outputs(self, predictions: dict[Any, Any]) -> dict[str, ExportOutput]:
        classified = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: classified,
            "classification": classified,
            "regression": RegressionOutput(predictions["logistic"]),
            "predict": PredictOutput(predictions),
        }


@export("estimator.MultiClassHead")
class MultiClassHead(_Classes):
    """One of more than two classes: the loss is the cross entropy of the softmax.

    Args:
        name: Name of the head, which ends the names of its metrics.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}; two classes have a BinaryClassHead")
        self._set(name, loss_reduction, weight_column, loss_fn)
        self._set_classes(n_classes, label_vocabulary)
        self._logits_dimension = n_classes

    def _checked_labels(self, labels: NestedTensors, logits: Tensor) -> Any:
        require_labels(labels)
        tensor = convert_to_tensor(labels)
        if self._vocabulary is None and not tensor.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {tensor.dtype.name}")
        return _below(cast(self._ids_of(with_last_dimension(tensor, 1)), dtypes.int64), self._n_classes)

    def _unweighted(self, labels: NestedTensors, logits: Tensor) -> Tensor:
        losses = sparse_softmax_cross_entropy_with_logits(labels=squeeze(labels, [-1]), logits=logits)
        return expand_dims(losses, -1)

    def _all_predictions(self, logits: Tensor) -> dict[Any, Any]:
        ids = expand_dims(argmax(logits, axis=-1), -1, name="class_ids")
        return {
            "logits": logits,
            "probabilities": softmax(logits, name="probabilities"),
            "class_ids": ids,
            "classes": self._classes_of(ids),
            **self._every_class(logits),
        }

    def _metric_keys(self) -> list[str]:
        return ["accuracy", AVERAGE_LOSS_KEY]

    def _metric_pairs(
        self, labels: NestedTensors, logits: Tensor, weights: TensorLike, unweighted: Tensor
    ) -> dict[str, Pair]:
        ids = expand_dims(argmax(logits, axis=-1), -1)
        return {"accuracy": accuracy(labels, ids, broadcast_weights(weights))}

    def _export_outputs(self, predictions: dict[Any, Any]) -> dict[str, ExportOutput]:
        classified = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: classified,
            "classification": classified,
            "predict": PredictOutput(predictions),
        }


@export("estimator.MultiLabelHead")
class MultiLabelHead(_Classes):
    """Any number of classes at once: the loss is the mean of the logistic losses of all classes.

    Args:
        thresholds: Thresholds of probabilities, each with metrics of its own.
        name: Name of the head, which ends the names of its metrics.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        thresholds: Sequence[float] | None = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "sum_over_batch_size",
        loss_fn: Callable[..., Any] | None = None,
        classes_for_class_based_metrics: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}")
        self._set(name, loss_reduction, weight_column, loss_fn)
        self._set_classes(n_classes, label_vocabulary)
        self._thresholds = checked_thresholds(thresholds)
        self._logits_dimension = n_classes
        self._single = [self._single_class(key) for key in classes_for_class_based_metrics or ()]

    def _single_class(self, key: Any) -> tuple[int, str]:
        """Returns the number of a class, and how its metrics are named."""
        if isinstance(key, str):
            if self._vocabulary is None or key not in self._vocabulary:
                raise ValueError(f"class {key!r} of classes_for_class_based_metrics is not in label_vocabulary")
            return self._vocabulary.index(key), key
        if not 0 <= key < self._n_classes:
            raise ValueError(
                f"All classes_for_class_based_metrics must be in range [0, {self._n_classes}). Given: {key}"
            )
        return key, f"class{key}"

    def _checked_labels(self, labels: NestedTensors, logits: Tensor) -> Any:
        require_labels(labels)
        if isinstance(labels, SparseTensor):
            ids = SparseTensor(labels.indices, cast(self._ids_of(labels.values), dtypes.int64), labels.dense_shape)
            return cast(sparse_to_indicator(ids, self._n_classes), dtypes.float32)
        return cast(with_last_dimension(labels, self._n_classes), dtypes.float32)

    def _unweighted(self, labels: NestedTensors, logits: Tensor) -> Tensor:
        return reduce_mean(sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), axis=-1, keepdims=True)

    def _all_predictions(self, logits: Tensor) -> dict[Any, Any]:
        return {"logits": logits, "probabilities": sigmoid(logits, name="probabilities")}

    def _metric_keys(self) -> list[str]:
        at = [_AT_THRESHOLD.format(kind, t) for t in self._thresholds for kind in ("accuracy", "precision", "recall")]
        kinds = ("probability_mean", "auc", "auc_precision_recall")
        single = [f"{kind}/{name}" for _, name in self._single for kind in kinds]
        return ["auc", "auc_precision_recall", AVERAGE_LOSS_KEY, *at, *single]

    def _metric_pairs(
        self, labels: NestedTensors, logits: Tensor, weights: TensorLike, unweighted: Tensor
    ) -> dict[str, Pair]:
        weights = broadcast_weights(weights)
        probabilities = sigmoid(logits)
        pairs = _areas(labels, probabilities, weights) | _at_thresholds(
            self._thresholds, labels, probabilities, weights
        )
        for index, name in self._single:
            label, probability = labels[..., index : index + 1], probabilities[..., index : index + 1]
            pairs[f"probability_mean/{name}"] = mean(probability, weights)
            for key, pair in _areas(label, probability, weights).items():
                pairs[f"{key}/{name}"] = pair
        return pairs

    def _export_outputs(self, predictions: dict[Any, Any]) -> dict[str, ExportOutput]:
        every = self._every_class(predictions["probabilities"])
        classified = ClassificationOutput(predictions["probabilities"], every["all_classes"])
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: classified,
            "classification": classified,
            "predict": PredictOutput(predictions),
        }


def checked_thresholds(thresholds: Iterable[float] | None) -> tuple[float, ...]:
    """Returns thresholds of probabilities; raises ValueError if one is not between 0 and 1."""
    for threshold in thresholds or ():
        if not 0.0 < threshold < 1.0:
            raise ValueError(f"thresholds not in (0, 1): {threshold}.")
    return tuple(thresholds or ())


def _below(ids: Tensor, limit: float) -> Any:
    """Returns the numbers of classes, after a check of each batch that they are below a limit and not negative."""
    checks = [
        assert_less(ids, cast(limit, ids.dtype), message="Labels must be less than n_classes"),
        assert_less(cast(-1, ids.dtype), ids, message="Labels must be >= 0"),
    ]
    with control_dependencies(checks):
        return identity(ids)


def _baseline(label_mean: Tensor) -> Any:
    return maximum(label_mean, 1.0 - label_mean)


def _areas(labels: Any, probabilities: Any, weights: Any) -> dict[str, Pair]:
    """Returns the areas below the ROC curve and below the curve of precision over recall."""
    options = {"weights": weights, "summation_method": "careful_interpolation"}
    return {
        "auc": auc(labels, probabilities, curve="ROC", **options),
        "auc_precision_recall": auc(labels, probabilities, curve="PR", **options),
    }


def _at_thresholds(
    thresholds: Sequence[float], labels: NestedTensors, probabilities: TensorLike, weights: TensorLike
) -> dict[str, Pair]:
    pairs = {}
    for threshold in thresholds:
        above = cast(greater(probabilities, threshold), dtypes.float32)
        for kind, metric in (("accuracy", accuracy), ("precision", precision), ("recall", recall)):
            pairs[_AT_THRESHOLD.format(kind, threshold)] = metric(labels, above, weights)
    return pairs
