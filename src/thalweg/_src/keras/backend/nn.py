"""Activations, normalization and losses of sequences of the Keras backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import ctc, ctc_decoding, nn, normalization
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.gather import gather_nd
from thalweg._src.graph.ops.math import add, log
from thalweg._src.graph.ops.reshape import expand_dims, ones, reshape, shape, squeeze, transpose, zeros
from thalweg._src.graph.ops.sparse import sparse_tensor_to_dense
from thalweg._src.graph.ops.where import sequence_mask, where
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras import activations
from thalweg._src.keras.backend.settings import epsilon as least

relu = export("keras.backend.relu")(activations.relu)
elu = export("keras.backend.elu")(activations.elu)
sigmoid = export("keras.backend.sigmoid")(activations.sigmoid)
hard_sigmoid = export("keras.backend.hard_sigmoid")(activations.hard_sigmoid)
tanh = export("keras.backend.tanh")(activations.tanh)
softplus = export("keras.backend.softplus")(activations.softplus)
softsign = export("keras.backend.softsign")(activations.softsign)


@export("keras.backend.softmax")
def softmax(x: TensorLike, axis: int = -1) -> Tensor:
    """Returns exp(x), divided by its sum along an axis.

    Args:
        axis: The axis along which the results add up to 1.
    """
    return nn.softmax(x, axis)


@export("keras.backend.l2_normalize")
def l2_normalize(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """Returns a tensor divided by its Euclidean norm along axes.

    Args:
        axis: The axis or axes of a vector; None takes all.
    """
    return normalization.l2_normalize(x, axis)


@export("keras.backend.in_top_k")
def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Tensor:
    """Returns whether the target of each example is among the k greatest predictions."""
    return nn.in_top_k(predictions, targets, k)


# -- batch normalization ----------------------------------------------------------------------------------------------


@export("keras.backend.normalize_batch_in_training")
def normalize_batch_in_training(
    x: TensorLike, gamma: TensorLike, beta: TensorLike, reduction_axes: Sequence[int], epsilon: float = 1e-3
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns a batch normalized over axes, its mean and its variance."""
    x = convert_to_tensor(x)
    axes, rank = list(reduction_axes), x._rank()
    assert rank is not None
    if axes == [0, 1, 2] and rank == 4:  # as in Keras, whose variance is that of a sample then
        size = shape(x)[3:]
        scale = ones(size, x.dtype) if gamma is None else gamma
        offset = zeros(size, x.dtype) if beta is None else beta
        return normalization.fused_batch_norm(x, scale, offset, epsilon=epsilon)
    mean, variance = normalization.moments(x, axes)
    factors: list[Any] = [mean, variance, beta, gamma]
    if sorted(axes) != list(range(rank - 1)):
        sizes = shape(x)
        target = [1 if axis in axes else sizes[axis] for axis in range(rank)]
        factors = [None if factor is None else reshape(factor, target) for factor in factors]
    center, spread, offset, scale = factors
    return normalization.batch_normalization(x, center, spread, offset, scale, epsilon), mean, variance


@export("keras.backend.batch_normalization")
def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    axis: int = -1,
    epsilon: float = 1e-3,
) -> Tensor:
    """Returns a batch normalized by a given mean and variance, then multiplied by gamma and moved by beta."""
    x = convert_to_tensor(x)
    rank = x._rank()
    if rank == 0:
        raise ValueError("x: expected at least one dimension, received a scalar")
    factors: list[Any] = [None if factor is None else convert_to_tensor(factor) for factor in (mean, var, beta, gamma)]
    if rank is not None and axis % rank != rank - 1:
        target = [-1 if index == axis % rank else 1 for index in range(rank)]
        factors = [
            reshape(factor, target) if factor is not None and factor._rank() == 1 else factor for factor in factors
        ]
    center, spread, offset, scale = factors
    return normalization.batch_normalization(x, center, spread, offset, scale, epsilon)


# -- connectionist temporal classification ----------------------------------------------------------------------------


@export("keras.backend.ctc_label_dense_to_sparse")
def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: TensorLike) -> SparseTensor:
    """Returns rows of labels, of which the first ones count, as a sparse tensor."""
    labels = convert_to_tensor(labels)
    sizes = shape(labels)
    places = where(sequence_mask(label_lengths, sizes[1]))
    return SparseTensor(places, gather_nd(labels, places), cast(sizes, dtypes.int64))


@export("keras.backend.ctc_batch_cost")
def ctc_batch_cost(
    y_true: TensorLike, y_pred: TensorLike, input_length: TensorLike, label_length: TensorLike
) -> Tensor:
    """Returns the CTC loss of each example, for probabilities of classes of which the last one is the blank.

    Args:
        y_true: Labels of each example, [batch, most labels].
        input_length: Number of time steps of each example, [batch, 1].
        label_length: Number of labels of each example, [batch, 1].
    """
    lengths = cast(squeeze(label_length, [-1]), dtypes.int32)
    labels = ctc_label_dense_to_sparse(cast(y_true, dtypes.int32), lengths)
    steps = cast(squeeze(input_length, [-1]), dtypes.int32)
    return expand_dims(ctc.ctc_loss(labels, _logarithms(y_pred), steps), 1)


@export("keras.backend.ctc_decode")
def ctc_decode(
    y_pred: TensorLike, input_length: TensorLike, greedy: bool = True, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Tensor], Tensor]:
    """Returns the most probable labels, with -1 after the last one of each example, and their log probabilities."""
    logits, steps = _logarithms(y_pred), cast(input_length, dtypes.int32)
    if greedy:
        decoded, scores = ctc_decoding.ctc_greedy_decoder(logits, steps)
    else:
        decoded, scores = ctc_decoding.ctc_beam_search_decoder(logits, steps, beam_width, top_paths)
    return [sparse_tensor_to_dense(labels, -1) for labels in decoded], scores


def _logarithms(probabilities: TensorLike) -> Tensor:
    """Returns the logarithms of probabilities with the time first."""
    return log(add(transpose(probabilities, [1, 0, 2]), least()))
