"""Metrics of the k highest predictions: precision, recall and average precision at k."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater_equal
from thalweg._src.graph.ops.concat import concat, pack
from thalweg._src.graph.ops.constants import fill
from thalweg._src.graph.ops.math import add, div_no_nan, divide, minimum, multiply, subtract
from thalweg._src.graph.ops.nn import top_k
from thalweg._src.graph.ops.pad_tile import tile
from thalweg._src.graph.ops.reduction import cumsum, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, rank, reshape, shape, size
from thalweg._src.graph.ops.sets import set_difference, set_intersection, set_size
from thalweg._src.graph.ops.slicing import slice as slice_of
from thalweg._src.graph.ops.sparse import sparse_retain
from thalweg._src.graph.ops.sparse_shaping import sparse_concat, sparse_reshape
from thalweg._src.graph.ops.where import where_v2
from thalweg._src.graph.scopes import control_dependencies, name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.metrics.state import Result, across_replicas, metric, metric_variable
from thalweg._src.training.nn.weights import assert_broadcastable, broadcast_weights
from thalweg._src.training.variables.assign import assign_add


def _at_k(title: str, k: int | None, class_id: int | None = None) -> str:
    name = f"{title}_at_{'k' if k is None else int(k)}"
    return name if class_id is None else f"{name}_class{class_id}"


# -- labels as sets ---------------------------------------------------------------------------------------------------


def _as_sets(labels: Any, predictions: Tensor) -> Any:
    """Returns labels with the rank of the predictions; a single label becomes a set of one."""
    with name_scope(None, "expand_labels", [labels, predictions]):
        labels = convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            return _sparse_sets(labels, predictions)
        label_dims, other = labels.dims, predictions.dims
        if label_dims is None or other is None:
            missing = cast(equal(rank(predictions), add(rank(labels), 1)), dtypes.int32)
            return reshape(labels, concat([shape(labels), fill(pack([missing]), 1)], 0))
        if len(other) not in (len(label_dims), len(label_dims) + 1):
            raise ValueError(
                f"Unexpected labels shape {labels.shape} for predictions shape {predictions.shape}: "
                "predictions have the rank of the labels, or one more."
            )
        return labels if len(label_dims) == len(other) else expand_dims(labels, -1)


def _sparse_sets(labels: SparseTensor, predictions: Tensor) -> SparseTensor:
    sizes = labels.dense_shape
    missing = cast(equal(rank(predictions), add(size(sizes), 1)), dtypes.int32)
    one = fill(pack([missing]), convert_to_tensor(1, dtypes.int64))
    return sparse_reshape(labels, concat([sizes, one], 0))


def _of_class(ids: Tensor | SparseTensor, class_id: int | None) -> Any:
    """Returns sets restricted to one class; unchanged if no class is given."""
    if class_id is None:
        return ids
    if isinstance(ids, SparseTensor):
        return sparse_retain(ids, equal(ids.values, cast(class_id, ids.dtype)))
    sizes = shape(ids, out_type=dtypes.int64)
    groups = slice_of(sizes, [0], pack([subtract(size(sizes), 1)]))
    class_ids = fill(concat([groups, convert_to_tensor([1], dtypes.int64)], 0), cast(class_id, ids.dtype))
    members = set_intersection(class_ids, ids)
    return SparseTensor(members.indices, members.values, sizes)


def _both(labels: TensorLike | SparseTensor, predictions: Tensor | SparseTensor) -> SparseTensor:
    return set_intersection(predictions, labels)


def _only_predicted(labels: TensorLike | SparseTensor, predictions: Tensor | SparseTensor) -> SparseTensor:
    return set_difference(predictions, labels)


def _only_labelled(labels: TensorLike | SparseTensor, predictions: Tensor | SparseTensor) -> SparseTensor:
    return set_difference(predictions, labels, aminusb=False)


def _sizes(
    compare: Callable[..., SparseTensor],
    labels: TensorLike | SparseTensor,
    predictions: Tensor | SparseTensor,
    weights: TensorLike | None,
) -> Tensor:
    """Returns the weighted size of a set operation on labels and predictions, for each pair of sets."""
    sizes = cast(set_size(compare(labels, predictions)), dtypes.float64)
    if weights is None:
        return sizes  # type: ignore[no-any-return]
    with control_dependencies([assert_broadcastable(weights, sizes)]):
        return multiply(sizes, cast(weights, dtypes.float64))


# -- precision and recall ---------------------------------------------------------------------------------------------


def _accumulated(title: str, compare: Callable[..., SparseTensor], *operands: Any) -> tuple[Any, Tensor]:
    """Sums the sizes of a set operation over all batches; returns the variable and its update."""
    k, class_id, labels, predictions, weights = operands
    with name_scope(None, _at_k(title, k, class_id), [predictions, labels, weights]) as scope:
        sizes = _sizes(compare, _of_class(labels, class_id), _of_class(predictions, class_id), weights)
        total = metric_variable([], dtypes.float64, name=scope)
        return total, assign_add(total, reduce_sum(sizes), name="update")


def _ratio_at_top_k(
    title: str, rest_title: str, rest: Callable[..., SparseTensor], operands: tuple[Any, ...], name: str | None
) -> Result:
    """Returns the size of the intersection of labels and predictions, divided by that of one of them."""
    labels, predictions_idx, k, class_id, weights = operands
    with name_scope(name, _at_k(title, k, class_id), [predictions_idx, labels, weights]) as scope:
        predictions = cast(convert_to_tensor(predictions_idx), dtypes.int64)
        labels = cast(_as_sets(labels, predictions), dtypes.int64)
        sets = (k, class_id, labels, predictions, weights)
        hits, update_hits = _accumulated("true_positive", _both, *sets)
        others, update_others = _accumulated(rest_title, rest, *sets)
        value = across_replicas(lambda hits, others: divide(hits, add(hits, others), name=scope), hits, others)
        update = divide(update_hits, add(update_hits, update_others), name="update")
        return value, update


@export("metrics.precision_at_top_k")
@metric
def precision_at_top_k(
    labels: TensorLike | SparseTensor,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Result:
    """Returns the fraction of predicted classes that are labels; the predictions are class indices.

    Args:
        labels: True classes: a tensor, dense or sparse.
    """
    operands = (labels, predictions_idx, k, class_id, weights)
    return _ratio_at_top_k("precision", "false_positive", _only_predicted, operands, name)


@export("metrics.recall_at_top_k")
@metric
def recall_at_top_k(
    labels: TensorLike | SparseTensor,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Result:
    """Returns the fraction of labels that are predicted; the predictions are class indices.

    Args:
        labels: True classes: a tensor, dense or sparse.
    """
    operands = (labels, predictions_idx, k, class_id, weights)
    return _ratio_at_top_k("recall", "false_negative", _only_labelled, operands, name)


@export("metrics.precision_at_k")
@metric
def precision_at_k(
    labels: TensorLike | SparseTensor,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Result:
    """Returns the fraction of the k highest predictions that are labels.

    Args:
        labels: True classes: a tensor, dense or sparse.
        predictions: Scores [batch, classes].
    """
    with name_scope(name, _at_k("precision", k, class_id), [predictions, labels, weights]) as scope:
        places = top_k(predictions, k)[1]
        return precision_at_top_k(labels, places, k, class_id, weights, name=scope)


@export("metrics.recall_at_k")
@metric
def recall_at_k(
    labels: TensorLike | SparseTensor,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Result:
    """Returns the fraction of labels that are among the k highest predictions.

    Args:
        labels: True classes: a tensor, dense or sparse.
        predictions: Scores [batch, classes].
    """
    with name_scope(name, _at_k("recall", k, class_id), [predictions, labels, weights]) as scope:
        places = top_k(predictions, k)[1]
        return recall_at_top_k(labels, places, k, class_id, weights, name=scope)


# -- average precision ------------------------------------------------------------------------------------------------


@export("metrics.average_precision_at_k")
@metric
def average_precision_at_k(
    labels: TensorLike | SparseTensor,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    name: str | None = None,
) -> Result:
    """Returns the average precision at k, averaged over all rows.

    Args:
        labels: True classes: a tensor, dense or sparse.
        predictions: Scores [batch, classes].
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}. `k` should be >= 1.")
    with name_scope(name, _at_k("average_precision", k), [predictions, labels, weights]) as scope:
        predictions = convert_to_tensor(predictions)
        places = cast(top_k(predictions, k)[1], dtypes.int64)
        sets = _as_sets(_valid_labels(labels, predictions), places)
        average = _average_precision(sets, places, k)
        factors = None
        if weights is not None:
            factors = broadcast_weights(cast(weights, dtypes.float64), average)
            average = multiply(average, factors)
        with name_scope("max", values=[average]) as inner:
            most = metric_variable([], dtypes.float64, name=inner)
            number = cast(size(average), dtypes.float64) if factors is None else reduce_sum(factors)
            update_most = assign_add(most, number, name="update")
        with name_scope("total", values=[average]) as inner:
            total = metric_variable([], dtypes.float64, name=inner)
            update_total = assign_add(total, reduce_sum(average), name="update")
        value = across_replicas(lambda total, most: div_no_nan(total, most, name="mean"), total, most)
        update = div_no_nan(update_total, update_most, name=scope)
        return value, update


def _valid_labels(labels: TensorLike | SparseTensor, predictions: Tensor) -> Any:
    """Returns the labels, -1 for those that are not a class."""
    labels = convert_to_tensor_or_sparse_tensor(labels)
    classes: Any = shape(predictions)
    values = cast(labels.values if isinstance(labels, SparseTensor) else labels, dtypes.int64)
    values = where_v2(greater_equal(values, cast(classes[-1], dtypes.int64)), -ones_like(values), values)
    return labels.with_values(values) if isinstance(labels, SparseTensor) else values


def _average_precision(labels: TensorLike | SparseTensor, places: Tensor, k: int) -> Tensor:
    with name_scope(None, "average_precision", [places]):
        relevant = _sizes(_both, _repeated(labels, k), expand_dims(places, -1), None)
        hits = cumsum(relevant, axis=-1)
        retrieved = cumsum(ones_like(relevant), axis=-1)
        sums = reduce_sum(multiply(divide(hits, retrieved), relevant), axis=[-1])
        return divide(sums, cast(_relevant(labels, k), dtypes.float64))


def _repeated(labels: TensorLike | SparseTensor, k: int) -> Any:
    """Repeats the sets of labels k times in a new dimension before the last."""
    if not isinstance(labels, SparseTensor):
        ones = fill(pack([subtract(rank(labels), 1)]), 1)
        return tile(expand_dims(labels, -2), concat([ones, [k], [1]], 0))
    outer = pack([subtract(size(labels.dense_shape), 1)])
    sizes = labels.dense_shape
    last = slice_of(sizes, outer, [-1])
    expanded = concat([slice_of(sizes, [0], outer), convert_to_tensor([1], dtypes.int64), last], 0)
    once = sparse_reshape(labels, expanded)
    return once if k == 1 else sparse_concat(-2, [once] * k)


def _relevant(labels: TensorLike | SparseTensor, k: int) -> Tensor:
    """Returns the number of labels, at most k."""
    if isinstance(labels, SparseTensor):
        return minimum(set_size(labels), k)
    return minimum(reduce_sum(cast(greater_equal(labels, 0), dtypes.int64), axis=-1), k)


@export("metrics.sparse_precision_at_k")
@parameters_of(precision_at_k)
def sparse_precision_at_k(**arguments: Any) -> Result:
    """Deprecated name of `precision_at_k`."""
    return precision_at_k(**arguments)


@export("metrics.sparse_average_precision_at_k")
@parameters_of(average_precision_at_k)
def sparse_average_precision_at_k(**arguments: Any) -> Result:
    """Deprecated name of `average_precision_at_k`."""
    return average_precision_at_k(**arguments)
