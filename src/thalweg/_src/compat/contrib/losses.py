"""tf.contrib.losses: the losses of tf.losses with predictions before labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.compat.contrib.framework.arg_scope import add_arg_scope
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.nn import relu
from thalweg._src.graph.ops.reshape import squeeze
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn import losses as plain


@export("contrib.losses.compute_weighted_loss", "contrib.slim.losses.compute_weighted_loss")
@add_arg_scope
def compute_weighted_loss(losses: TensorLike, weights: TensorLike = 1.0, scope: str | None = None) -> Tensor:
    """Returns the mean of the weighted losses over elements with nonzero weight."""
    return plain.compute_weighted_loss(losses, weights, scope)


def _swapped(function: Callable[..., Tensor]) -> Any:
    """Returns a loss of `tf.losses` with predictions before labels."""

    def loss(
        predictions: TensorLike, labels: TensorLike | None = None, weights: TensorLike = 1.0, scope: str | None = None
    ) -> Tensor:
        return function(labels, predictions, weights, scope=scope)

    name = loss.__name__ = loss.__qualname__ = function.__name__
    loss.__doc__ = (function.__doc__ or "").partition("\n")[0] or None
    return export(f"contrib.losses.{name}", f"contrib.slim.losses.{name}")(add_arg_scope(loss))


absolute_difference = _swapped(plain.absolute_difference)
mean_squared_error = _swapped(plain.mean_squared_error)
mean_pairwise_squared_error = _swapped(plain.mean_pairwise_squared_error)


@export("contrib.losses.log_loss", "contrib.slim.losses.log_loss")
@add_arg_scope
def log_loss(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
) -> Tensor:
    """Returns the cross entropy of predicted probabilities.

    Args:
        epsilon: A small number that keeps logarithms finite.
    """
    return plain.log_loss(labels, predictions, weights, epsilon, scope)


@export("contrib.losses.hinge_loss", "contrib.slim.losses.hinge_loss")
@add_arg_scope
def hinge_loss(logits: TensorLike, labels: Any = None, scope: str | None = None) -> Tensor:
    """Returns the hinge loss of each element, for labels 0 and 1.

    Args:
        labels: Labels 0 and 1.
    """
    with name_scope(scope, "hinge_loss", [logits, labels]):
        logits = convert_to_tensor(logits)
        signs: Any = 2 * cast(labels, logits.dtype) - 1
        return relu(1 - signs * logits)


@export("contrib.losses.cosine_distance", "contrib.slim.losses.cosine_distance")
@add_arg_scope
def cosine_distance(
    predictions: TensorLike,
    labels: Any = None,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Returns the cosine distance of unit vectors."""
    return plain.cosine_distance(labels, predictions, axis if dim is None else dim, weights, scope)


@export("contrib.losses.sigmoid_cross_entropy", "contrib.slim.losses.sigmoid_cross_entropy")
@add_arg_scope
def sigmoid_cross_entropy(
    logits: TensorLike,
    multi_class_labels: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Returns the cross entropy of independent classes."""
    return plain.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


@export("contrib.losses.softmax_cross_entropy", "contrib.slim.losses.softmax_cross_entropy")
@add_arg_scope
def softmax_cross_entropy(
    logits: TensorLike,
    onehot_labels: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Returns the cross entropy of mutually exclusive classes."""
    return plain.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


@export("contrib.losses.sparse_softmax_cross_entropy", "contrib.slim.losses.sparse_softmax_cross_entropy")
@add_arg_scope
def sparse_softmax_cross_entropy(
    logits: TensorLike, labels: TensorLike, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Returns the cross entropy of mutually exclusive classes, for integer labels.

    Args:
        labels: Class of each example.
    """
    labels = convert_to_tensor(labels)
    if labels.dims is not None and len(labels.dims) == 2 and labels.dims[1] == 1:
        labels = squeeze(labels, [1])
    return plain.sparse_softmax_cross_entropy(labels, logits, weights, scope)
