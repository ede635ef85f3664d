"""tf.contrib.nn: sampled losses of sparse labels, alpha dropout, and losses with logits before labels."""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import cross_entropy, nn
from thalweg._src.graph.ops.candidate_sampling import log_uniform_candidate_sampler
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import log, minimum
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.reshape import reshape, shape, zeros
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.nn.dropout import _noise_shape
from thalweg._src.training.nn.embedding import embedding_lookup
from thalweg._src.training.nn.sampled_losses import _sampled_logits, sampled_softmax_loss
from thalweg._src.training.nn.statistics import reduce_logsumexp

_SATURATION = -1.7580993408473766  # what SELU tends to for large negative inputs: -scale * alpha


@export("contrib.nn.alpha_dropout")
def alpha_dropout(
    x: TensorLike,
    keep_prob: TensorLike,
    noise_shape: ShapeLike | TensorLike = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sets random elements to the negative saturation of SELU, and keeps mean and variance of normalized inputs."""
    with name_scope(name, "alpha_dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if isinstance(keep_prob, int | float):
            if not 0 < keep_prob <= 1:
                raise ValueError(f"keep_prob is {keep_prob}, expected 0 < keep_prob <= 1")
            if keep_prob == 1:
                return x
        keep = convert_to_tensor(keep_prob, x.dtype, name="keep_prob")
        mask = cast(random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype) < keep, x.dtype)
        scale = (keep + _SATURATION**2 * keep * (1 - keep)) ** -0.5
        dropped: Tensor = scale * (x * mask + _SATURATION * (1 - mask)) - scale * _SATURATION * (1 - keep)
        dropped.set_shape(x.dims)
        return dropped


@export("contrib.nn.scaled_softplus")
def scaled_softplus(
    x: TensorLike, alpha: TensorLike, clip: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Returns `alpha * softplus(x / alpha)`, a smooth relu that is sharper for smaller alpha.

    Args:
        x: The input tensor.
        alpha: Width of the bend, positive.
        clip: Upper bound of the result; None sets none.
        name: A name for the operations that are added to the graph.
    """
    with name_scope(name, "scaled_softplus", [x, alpha]):
        x = convert_to_tensor(x, name="x")
        alpha = convert_to_tensor(alpha, x.dtype, name="alpha")
        result: Tensor = alpha * nn.softplus(x / alpha)
        return result if clip is None else minimum(result, convert_to_tensor(clip, x.dtype))


@export("contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits")
def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: TensorLike, labels: TensorLike, dim: int = -1, name: str | None = None
) -> Tensor:
    """Computes the cross entropy of softmax(logits) with labels; its arguments are in the order of old releases.

    Args:
        logits: Unscaled log probabilities.
        labels: Probabilities of the classes.
        dim: The axis of the classes.
        name: A name for the operations that are added to the graph.
    """
    return cross_entropy.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


@export("contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits")
def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: TensorLike, labels: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the cross entropy of softmax(logits) with classes; its arguments are in the order of old releases.

    Args:
        logits: Unscaled log probabilities.
        labels: The true classes.
        name: A name for the operations that are added to the graph.
    """
    return cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


@export("contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits")
def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: TensorLike, targets: TensorLike, name: str | None = None
) -> Tensor:
    """Computes the cross entropy of sigmoid(logits) with targets; its arguments are in the order of old releases.

    Args:
        logits: Unscaled log odds.
        targets: Probabilities.
        name: A name for the operations that are added to the graph.
    """
    return cross_entropy.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


@export("contrib.nn.sampled_sparse_softmax_loss")
@parameters_of(sampled_softmax_loss, without=["num_true", "seed"], name="sampled_sparse_softmax_loss")
def sampled_sparse_softmax_loss(**arguments: Any) -> Tensor:
    """Returns the softmax cross entropy of each example over its one true class and the sampled classes.

    Args:
        weights: Embeddings of the classes, [classes, size], or the parts of them.
        biases: Biases of the classes.
        labels: The true values.
        inputs: The input tensor.
    """
    labels = convert_to_tensor(arguments["labels"], name="labels")
    arguments["labels"] = labels if labels.shape.ndims == 2 else reshape(labels, [-1, 1])
    logits, _ = _sampled_logits(**arguments, num_true=1, seed=None)
    first = zeros([shape(logits)[0]], dtypes.int64)  # the true class is in the first column
    return cross_entropy.sparse_softmax_cross_entropy_with_logits(labels=first, logits=logits)


@export("contrib.nn.rank_sampled_softmax_loss")
def rank_sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_resampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    resampling_temperature: TensorLike,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None = None,
) -> Tensor:
    """Returns the sampled softmax loss over those of the sampled classes that the batch scores highest.

    Args:
        weights: Embeddings of the classes, [classes, size], or the parts of them.
        num_resampled: Number of the sampled classes that are used.
        resampling_temperature: Divisor of the logits by which the sampled classes are ranked.
    """
    if num_resampled > num_sampled:
        raise ValueError(f"num_resampled is {num_resampled}, expected at most num_sampled, which is {num_sampled}")
    with name_scope(name, "rank_sampled_softmax_loss", [inputs, labels]):
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                cast(convert_to_tensor(labels), dtypes.int64), num_true, num_sampled, True, num_classes
            )
        sampled, true_expected, sampled_expected = (stop_gradient(value) for value in sampled_values)
        rows = embedding_lookup(weights, sampled, partition_strategy=partition_strategy)
        offsets = embedding_lookup(biases, sampled, partition_strategy=partition_strategy)
        logits = matmul(inputs, rows, transpose_b=True) + offsets - log(sampled_expected)
        scores = reduce_logsumexp(logits / resampling_temperature, 0)
        best = stop_gradient(nn.top_k(scores, num_resampled)[1])
        return sampled_softmax_loss(
            weights,
            biases,
            labels,
            inputs,
            num_resampled,
            num_classes,
            num_true,
            (gather(sampled, best), true_expected, gather(sampled_expected, best)),
            remove_accidental_hits,
            partition_strategy,
        )
