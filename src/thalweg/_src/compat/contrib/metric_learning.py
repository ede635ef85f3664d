"""tf.contrib.losses.metric_learning: losses of embeddings by the labels of their examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater, logical_and, logical_not
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.cross_entropy import softmax_cross_entropy_with_logits
from thalweg._src.graph.ops.diagonal import matrix_set_diag
from thalweg._src.graph.ops.math import exp, log, maximum, multiply, sqrt, square
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.printing import Print
from thalweg._src.graph.ops.reduction import reduce_any, reduce_max, reduce_mean, reduce_min, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, reshape, shape, transpose, zeros, zeros_like
from thalweg._src.graph.ops.sparse import sparse_tensor_to_dense
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.statistics import reduce_logsumexp

_SPACE = "contrib.losses.metric_learning"
_TINY = 1e-16


def _distances(embeddings: Tensor, squared: bool) -> Tensor:
    """Returns the distances between all rows; gradients are zero where a distance is."""
    squares = reduce_sum(square(embeddings), 1, keepdims=True)
    distances = maximum(squares - 2.0 * matmul(embeddings, embeddings, transpose_b=True) + transpose(squares), 0.0)
    if not squared:
        is_zero = cast(equal(distances, 0.0), distances.dtype)
        distances = multiply(sqrt(distances + is_zero * _TINY), 1.0 - is_zero)
    return _without_diagonal(distances)


def _without_diagonal(matrix: Tensor) -> Tensor:
    return matrix_set_diag(matrix, zeros([shape(matrix)[0]], matrix.dtype))


def _same_label(labels: TensorLike) -> Tensor:
    column = reshape(convert_to_tensor(labels, name="labels"), [-1, 1])
    return equal(column, transpose(column))


@export(f"{_SPACE}.contrastive_loss")
def contrastive_loss(
    labels: TensorLike, embeddings_anchor: TensorLike, embeddings_positive: TensorLike, margin: float = 1.0
) -> Tensor:
    """Returns the mean loss of pairs, which pulls pairs of label 1 together and pushes others apart up to a margin.

    Args:
        labels: The label of each example, or of contrastive_loss whether each pair is one of equals.
    """
    with name_scope(None, "contrastive_loss", [labels, embeddings_anchor, embeddings_positive]):
        anchor = convert_to_tensor(embeddings_anchor)
        squares = reduce_sum(square(anchor - embeddings_positive), 1)
        is_same = cast(convert_to_tensor(labels), anchor.dtype)
        apart = maximum(margin - sqrt(squares), 0.0)
        return reduce_mean(is_same * squares + (1.0 - is_same) * square(apart), name="contrastive_loss")


@export(f"{_SPACE}.triplet_semihard_loss")
def triplet_semihard_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """Returns the triplet loss with semi-hard negatives: the nearest beyond the positive, or else the farthest.

    Distances are squared. The loss is the mean over all pairs of examples with one label.

    Args:
        labels: The label of each example, or of contrastive_loss whether each pair is one of equals.
    """
    with name_scope(None, "triplet_semihard_loss", [labels, embeddings]):
        distances = _distances(convert_to_tensor(embeddings), squared=True)
        same = _same_label(labels)
        negative = logical_not(same)
        # [anchor, positive, negative]
        is_farther = logical_and(
            greater(expand_dims(distances, 1), expand_dims(distances, 2)), expand_dims(negative, 1)
        )
        excluded = (1.0 - cast(is_farther, distances.dtype)) * (reduce_max(distances) + 1.0)
        nearest_farther = reduce_min(expand_dims(distances, 1) + excluded, 2)
        farthest = reduce_max(where(negative, distances, zeros_like(distances)), 1, keepdims=True)
        chosen = where(reduce_any(is_farther, 2), nearest_farther, farthest + zeros_like(distances))
        is_positive = _without_diagonal(cast(same, distances.dtype))
        losses = maximum((margin + distances - chosen) * is_positive, 0.0)
        return reduce_sum(losses) / reduce_sum(is_positive)


def _regularized(anchor: Tensor, positive: Tensor, reg_lambda: float) -> Tensor:
    norms = reduce_mean(reduce_sum(square(anchor), 1)) + reduce_mean(reduce_sum(square(positive), 1))
    return multiply(0.25 * reg_lambda, norms, name="l2loss")


def _npairs(targets: Tensor, anchor: Tensor, positive: Tensor, reg_lambda: float, print_losses: bool) -> Tensor:
    penalty = _regularized(anchor, positive, reg_lambda)
    similarity = matmul(anchor, positive, transpose_b=True)
    targets /= reduce_sum(targets, 1, keepdims=True)
    entropy = reduce_mean(softmax_cross_entropy_with_logits(logits=similarity, labels=targets), name="xentropy")
    if print_losses:
        entropy = Print(entropy, ["cross entropy:", entropy, "l2loss:", penalty])
    return penalty + entropy


@export(f"{_SPACE}.npairs_loss")
def npairs_loss(
    labels: TensorLike,
    embeddings_anchor: TensorLike,
    embeddings_positive: TensorLike,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """Returns the N-pairs loss: the cross entropy of choosing a positive of the anchor's label by similarity.

    Args:
        labels: The label of each example, or of contrastive_loss whether each pair is one of equals.
    """
    with name_scope(None, "npairs_loss", [labels, embeddings_anchor, embeddings_positive]):
        anchor, positive = convert_to_tensor(embeddings_anchor), convert_to_tensor(embeddings_positive)
        return _npairs(cast(_same_label(labels), anchor.dtype), anchor, positive, reg_lambda, print_losses)


@export(f"{_SPACE}.npairs_loss_multilabel")
def npairs_loss_multilabel(
    sparse_labels: Sequence[Any],
    embeddings_anchor: TensorLike,
    embeddings_positive: TensorLike,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """Returns the N-pairs loss of examples with several labels, weighted by the number of labels in common."""
    with name_scope(None, "npairs_loss_multilabel", [embeddings_anchor, embeddings_positive]):
        anchor, positive = convert_to_tensor(embeddings_anchor), convert_to_tensor(embeddings_positive)
        rows = [reshape(cast(sparse_tensor_to_dense(labels), anchor.dtype), [-1]) for labels in sparse_labels]
        dense = stack(rows)
        return _npairs(matmul(dense, dense, transpose_b=True), anchor, positive, reg_lambda, print_losses)


@export(f"{_SPACE}.lifted_struct_loss")
def lifted_struct_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """Returns the lifted structured loss, which compares each pair of one label with all negatives of both.

    Args:
        labels: The label of each example, or of contrastive_loss whether each pair is one of equals.
    """
    with name_scope(None, "lifted_struct_loss", [labels, embeddings]):
        distances = _distances(convert_to_tensor(embeddings), squared=False)
        same = _same_label(labels)
        hidden = zeros_like(distances) + distances.dtype.min / 2
        negatives = reduce_logsumexp(where(same, hidden, margin - distances), 1, keepdims=True)
        both = maximum(negatives, transpose(negatives))
        joined = both + log(exp(negatives - both) + exp(transpose(negatives) - both))
        is_positive = _without_diagonal(cast(same, distances.dtype))
        losses = square(maximum((joined + distances) * is_positive, 0.0))
        return 0.25 * reduce_sum(losses) / (reduce_sum(is_positive) / 2.0)
