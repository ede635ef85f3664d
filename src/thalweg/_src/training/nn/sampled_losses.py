"""Sampled losses over many classes: nce_loss and sampled_softmax_loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.candidate_sampling import compute_accidental_hits, log_uniform_candidate_sampler
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat, stack
from thalweg._src.graph.ops.cross_entropy import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits_v2
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import log, multiply
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, ones_like, reshape, shape, zeros_like
from thalweg._src.graph.ops.sparse import sparse_to_dense
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.embedding import embedding_lookup


@export("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Sequence[Tensor] | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Returns the softmax cross entropy of each example over its true and the sampled classes.

    Args:
        weights: Class vectors [classes, size], or a list of parts.
        biases: Class biases [classes].
        labels: True classes, int64 [batch, num_true].
        inputs: Outputs of the network [batch, size].
    """
    logits, targets = _sampled_logits(**locals())
    return softmax_cross_entropy_with_logits_v2(
        labels=stop_gradient(targets, name="labels_stop_gradient"), logits=logits
    )


@export("nn.nce_loss")
@parameters_of(sampled_softmax_loss, without=["seed"], remove_accidental_hits=False, name="nce_loss")
def nce_loss(**arguments: Any) -> Tensor:
    """Returns the noise-contrastive estimation loss of each example."""
    logits, targets = _sampled_logits(**arguments, seed=None)
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    return reduce_sum(losses, 1)


def _sampled_logits(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Sequence[Tensor] | None,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Returns logits and targets: columns of the true classes, then of the sampled ones.

    The log of the expected count of each class in the sample is subtracted from its logit.
    """
    partitions = weights if isinstance(weights, list | tuple) else [weights]
    with name_scope(name, "compute_sampled_logits", [*partitions, biases, inputs, labels]):
        inputs, labels = convert_to_tensor(inputs, name="inputs"), convert_to_tensor(labels, name="labels")
        labels = labels if labels.dtype is dtypes.int64 else cast(labels, dtypes.int64)
        flat = reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed)
        sampled, true_expected, sampled_expected = (stop_gradient(value) for value in sampled_values)
        sampled = cast(sampled, dtypes.int64)
        ids, count = concat([flat, sampled], 0), shape(flat)[0]
        # One lookup each, so that each gradient is one set of rows.
        rows = _looked_up(weights, ids, partition_strategy, inputs)
        offsets = _looked_up(biases, ids, partition_strategy, inputs)
        true_rows = reshape(rows[:count], concat([[-1, num_true], shape(rows)[1:]], 0))
        true_logits = reduce_sum(multiply(expand_dims(inputs, 1), true_rows), 2)
        true_logits += reshape(offsets[:count], [-1, num_true])
        sampled_logits = matmul(inputs, rows[count:], transpose_b=True) + offsets[count:]
        if remove_accidental_hits:
            sampled_logits += _accidental_hits(labels, sampled, num_true, num_sampled, sampled_logits.dtype)
        true_logits -= log(true_expected)
        sampled_logits -= log(sampled_expected)
        targets = [ones_like(true_logits) / num_true, zeros_like(sampled_logits)]
        return concat([true_logits, sampled_logits], 1), concat(targets, 1)


def _looked_up(table: TensorLike, ids: Tensor, partition_strategy: str, like: Tensor) -> Tensor:
    rows = embedding_lookup(table, ids, partition_strategy=partition_strategy)
    return rows if rows.dtype is like.dtype else cast(rows, like.dtype)


def _accidental_hits(labels: Tensor, sampled: Tensor, num_true: int, num_sampled: int, dtype: dtypes.DType) -> Tensor:
    """Returns a sparse tensor that, added to the logits, masks sampled classes that are true ones."""
    indices, ids, weights = compute_accidental_hits(labels, sampled, num_true)
    places = stack([indices, cast(ids, dtypes.int32)], 1)
    sizes = stack([shape(labels)[0], num_sampled])
    return sparse_to_dense(places, sizes, cast(weights, dtype), 0.0, validate_indices=False)
