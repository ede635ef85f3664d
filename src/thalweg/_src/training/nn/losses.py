"""Loss functions: weighted, reduced to a scalar and added to a collection."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameter, taking
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly, get_default_graph
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater, not_equal
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import (
    abs as absolute,
    add,
    add_n,
    div_no_nan,
    log,
    maximum,
    minimum,
    multiply,
    square,
    squared_difference,
    subtract,
)
from thalweg._src.graph.ops.nn import relu
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import ones_like, rank, shape, size, zeros_like
from thalweg._src.graph.ops.sequences import range
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, control_dependencies, get_collection, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.weights import (
    assert_broadcastable,
    broadcast_weights,
    require_compatible,
    squeeze_to_common_rank,
    squeeze_to_rank,
)


@export("losses.Reduction")
class Reduction:
    """How weighted losses are reduced: not at all, to a sum, or to one of three means."""

    NONE = "none"
    SUM = "weighted_sum"
    MEAN = "weighted_mean"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Returns all reductions."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError if the key is not a reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}; it is one of {', '.join(dict.fromkeys(cls.all()))}.")


_BY_NONZERO_WEIGHTS = Reduction.SUM_BY_NONZERO_WEIGHTS
_REDUCTION = [
    parameter("scope", None),
    parameter("loss_collection", GraphKeys.LOSSES),
    parameter("reduction", _BY_NONZERO_WEIGHTS),
]


# -- collections ------------------------------------------------------------------------------------------------------


@export("losses.add_loss", "contrib.losses.add_loss", "contrib.slim.losses.add_loss")
def add_loss(loss: TensorLike, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection, if one is given.

    Args:
        loss: The loss.
    """
    if loss_collection and not executing_eagerly():  # losses of steps that have run would never be freed
        add_to_collection(loss_collection, loss)


@export("losses.get_losses", "contrib.losses.get_losses", "contrib.slim.losses.get_losses")
def get_losses(scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES) -> list[Any]:
    """Returns the losses of a collection.

    Args:
        scope: Regular expression that names must match at their start; None takes all.
    """
    return get_collection(loss_collection, scope)


@export(
    "losses.get_regularization_losses",
    "contrib.losses.get_regularization_losses",
    "contrib.slim.losses.get_regularization_losses",
)
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Returns the regularization losses.

    Args:
        scope: Regular expression that names must match at their start; None takes all.
    """
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export("losses.get_regularization_loss")
def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """Returns the sum of the regularization losses; 0 if there are none.

    Args:
        scope: Regular expression that names must match at their start; None takes all.
    """
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


@export("losses.get_total_loss", "contrib.losses.get_total_loss", "contrib.slim.losses.get_total_loss")
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Returns the sum of all losses, optionally with the regularization losses.

    Args:
        add_regularization_losses: Whether the regularization losses are added.
        scope: Regular expression that names must match at their start; None takes all.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = losses + get_regularization_losses(scope)
    return add_n(losses, name=name)


# -- weights and reductions -------------------------------------------------------------------------------------------


@export("losses.compute_weighted_loss")
def compute_weighted_loss(
    losses: TensorLike,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the weighted losses, reduced; weights are a scalar or broadcast to the losses."""
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        losses = convert_to_tensor(losses)
        values = cast(losses, dtypes.float32)
        if isinstance(weights, int | float) and weights == 1:  # the most frequent case needs no weights
            loss = _reduced(values, size(values), reduction)
        else:
            weights = cast(convert_to_tensor(weights, name="weights"), dtypes.float32)
            with control_dependencies([assert_broadcastable(weights, losses)]):
                loss = _reduced(multiply(values, weights), _count(values, weights, reduction), reduction)
        result: Tensor = cast(loss, losses.dtype)
        get_default_graph().singleton("last_loss", dict)["reduction"] = reduction
        add_loss(result, loss_collection)
        return result


def _count(losses: Tensor, weights: Tensor, reduction: str) -> Tensor | None:
    """Returns the divisor of the sum of the weighted losses."""
    if reduction == Reduction.MEAN:
        return reduce_sum(multiply(ones_like(losses), weights))
    if reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
        return reduce_sum(_present(losses, weights), name="num_present")
    return size(losses) if reduction == Reduction.SUM_OVER_BATCH_SIZE else None


def _reduced(weighted: Tensor, count: Tensor | None, reduction: str) -> Tensor:
    if reduction == Reduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if count is None or reduction == Reduction.SUM:
        return total
    return div_no_nan(total, cast(count, dtypes.float32), name="value")


def _present(losses: Tensor, weights: Tensor) -> Tensor:
    """Returns 1 for each loss with nonzero weight, and 0 for the others."""
    return broadcast_weights(cast(not_equal(weights, 0.0), dtypes.float32), losses)


def _require(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is None:
            raise ValueError(f"Argument `{name}` must not be None.")


def _as_float(labels: Any, predictions: Any) -> tuple[Tensor, Tensor]:
    """Returns both as float32 tensors, whose shapes must agree."""
    predictions, labels = cast(predictions, dtypes.float32), cast(labels, dtypes.float32)
    require_compatible(predictions, labels)
    return labels, predictions


def weighted(title: str) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Decorator: weights and reduces the losses that a function of labels, predictions and weights returns.

    The parameters `scope`, `loss_collection` and `reduction` are added.
    """

    def declare(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        signature = inspect.signature(function)
        labels, predictions = list(signature.parameters)[:2]

        @wraps(function)
        def loss(scope: str | None, loss_collection: str | None, reduction: str, **arguments: Any) -> Tensor:
            _require(**{name: arguments[name] for name in (labels, predictions)})
            weights = arguments["weights"]
            with name_scope(scope, title, [arguments[predictions], arguments[labels], weights]) as name:
                return compute_weighted_loss(function(**arguments), weights, name, loss_collection, reduction)

        return taking(signature.replace(parameters=[*signature.parameters.values(), *_REDUCTION]), loss)

    return declare


# -- the losses -------------------------------------------------------------------------------------------------------


@export("losses.absolute_difference")
@weighted("absolute_difference")
def absolute_difference(labels: TensorLike, predictions: TensorLike, weights: TensorLike = 1.0) -> Tensor:
    """Returns the weighted mean absolute difference."""
    labels, predictions = _as_float(labels, predictions)
    return absolute(subtract(predictions, labels))  # type: ignore[no-any-return]


@export("losses.cosine_distance")
def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """Returns the weighted cosine distance 1 - sum(predictions * labels) along an axis, for unit vectors."""
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'.")
    axis = dim if axis is None else axis
    _require(axis=axis, labels=labels, predictions=predictions)
    assert axis is not None
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as name:
        labels, predictions = _as_float(labels, predictions)
        losses = subtract(1.0, reduce_sum(multiply(predictions, labels), axis=[axis], keepdims=True))
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


@export("losses.hinge_loss")
@weighted("hinge_loss")
def hinge_loss(labels: TensorLike, logits: TensorLike, weights: TensorLike = 1.0) -> Tensor:
    """Returns the weighted hinge loss max(0, 1 - (2 labels - 1) logits), for labels 0 and 1.

    Args:
        labels: Labels 0 and 1.
    """
    labels, logits = _as_float(labels, logits)
    signs = subtract(multiply(2.0, labels), ones_like(labels))
    return relu(subtract(1.0, multiply(signs, logits)))


@export("losses.huber_loss")
@weighted("huber_loss")
def huber_loss(labels: TensorLike, predictions: TensorLike, weights: TensorLike = 1.0, delta: float = 1.0) -> Tensor:
    """Returns the weighted Huber loss: half the squared error up to `delta`, linear beyond."""
    labels, predictions = _as_float(labels, predictions)
    errors = absolute(subtract(predictions, labels))
    # The part beyond delta is computed by subtraction, whose gradient is right at both ends.
    near = minimum(errors, delta)
    far = subtract(errors, near)
    return add(multiply(0.5, multiply(near, near)), multiply(delta, far))


@export("losses.log_loss")
@weighted("log_loss")
def log_loss(labels: TensorLike, predictions: TensorLike, weights: TensorLike = 1.0, epsilon: float = 1e-7) -> Tensor:
    """Returns the weighted log loss -labels log(predictions) - (1 - labels) log(1 - predictions).

    Args:
        labels: Labels 0 and 1.
        epsilon: A small number that keeps logarithms finite.
    """
    labels, predictions = _as_float(labels, predictions)
    positive = multiply(labels, log(add(predictions, epsilon)))
    negative = multiply(subtract(1.0, labels), log(add(subtract(1.0, predictions), epsilon)))
    return subtract(-positive, negative)


@export("losses.mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """Returns the weighted mean squared error of the differences between all pairs within each example.

    Args:
        labels: The true values [batch, ...].
    """
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        weights, labels = cast(weights, dtypes.float32), cast(labels, dtypes.float32)
        with control_dependencies([assert_broadcastable(weights, labels)]):
            labels, predictions = _as_float(labels, predictions)
            differences = subtract(predictions, labels)
            axis = range(1, rank(differences))
            count = reduce_sum(_present(differences, weights), axis=axis, keepdims=True, name="num_present")
            others = subtract(count, 1.0)
            squares = reduce_sum(square(differences), axis=axis, keepdims=True)
            sums = reduce_sum(differences, axis=axis, keepdims=True)
            first = multiply(2.0, div_no_nan(squares, maximum(others, 0.0)))
            second = multiply(2.0, div_no_nan(square(sums), maximum(multiply(count, others), 0.0)))
            total = reduce_sum(multiply(subtract(first, second), weights))
            loss = where(greater(reduce_sum(count), 0.0), total, zeros_like(total), name="value")
        add_loss(loss, loss_collection)
        return loss


@export("losses.mean_squared_error")
@weighted("mean_squared_error")
def mean_squared_error(labels: TensorLike, predictions: TensorLike, weights: TensorLike = 1.0) -> Tensor:
    """Returns the weighted mean squared error."""
    labels, predictions = _as_float(labels, predictions)
    return squared_difference(predictions, labels)


@export("losses.sigmoid_cross_entropy")
@weighted("sigmoid_cross_entropy_loss")
def sigmoid_cross_entropy(
    multi_class_labels: TensorLike, logits: TensorLike, weights: TensorLike = 1.0, label_smoothing: float = 0
) -> Tensor:
    """Returns the weighted cross entropy of independent classes; smoothing moves labels towards 1/2."""
    logits = convert_to_tensor(logits)
    labels = cast(multi_class_labels, logits.dtype)
    require_compatible(logits, labels)
    if label_smoothing > 0:
        labels = add(multiply(labels, 1 - label_smoothing), 0.5 * label_smoothing)
    return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")


@export("losses.softmax_cross_entropy")
@weighted("softmax_cross_entropy_loss")
def softmax_cross_entropy(
    onehot_labels: TensorLike, logits: TensorLike, weights: TensorLike = 1.0, label_smoothing: float = 0
) -> Tensor:
    """Returns the weighted cross entropy of exclusive classes; smoothing moves labels towards 1 / classes."""
    logits = convert_to_tensor(logits)
    labels = cast(onehot_labels, logits.dtype)
    require_compatible(logits, labels)
    if label_smoothing > 0:
        classes: Any = cast(shape(labels)[-1], logits.dtype)
        labels = add(multiply(labels, 1.0 - label_smoothing), label_smoothing / classes)
    labels = stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")


@export("losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Returns the weighted cross entropy of exclusive classes, for integer labels.

    Args:
        labels: Class of each example.
    """
    _require(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as name:
        labels, logits = squeeze_to_common_rank(labels, logits, expected_rank_diff=1)
        weights = squeeze_to_rank(weights, labels)
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)
