"""Losses by logits: cross entropies of softmax and sigmoid, and the Poisson loss."""

from __future__ import annotations

import numbers
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import compatible, merge
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops import (
    cast as cast_ops,
    comparison,
    math,
    reduction,
    reshape as reshape_ops,
)
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.nn import relu, softmax_cross_entropy_op, sparse_softmax_cross_entropy_op, swap_with_last
from thalweg._src.graph.ops.reshape import reshape, transpose, zeros_like
from thalweg._src.graph.ops.where import where
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _in_float32(x: Tensor) -> Tensor:
    return cast_ops.cast(x, dtypes.float32) if x.dtype in (dtypes.float16, dtypes.bfloat16) else x


def _unless_cast(scope: str, x: Tensor, dtype: dtypes.DType) -> str | None:
    """Returns the result's name for the op that computes it, unless a final cast takes it."""
    return scope if x.dtype is dtype else None


def _require_both(labels: object, logits: object) -> None:
    if labels is None or logits is None:
        raise ValueError("labels or logits is missing")


@export("nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike, logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Computes the cross entropy of softmax(logits) with labels along an axis; gradients flow into both.

    Args:
        labels: Distributions over the classes.
        axis: The axis of the classes; the last by default.
    """
    _require_both(labels, logits)
    axis = reduction.one_of("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        dtype, shape = logits.dtype, logits.dims
        if shape == ():
            raise ValueError("logits: expected at least one dimension, received a scalar")
        logits = _in_float32(logits)
        target: Tensor = cast_ops.cast(labels, logits.dtype)
        if shape is not None and len(shape) == 2 and axis in (-1, 1) and target.dims and len(target.dims) == 2:
            loss: Tensor = softmax_cross_entropy_op.many(logits, target, name=_unless_cast(scope, logits, dtype))[0]
            return loss if dtype is loss.dtype else cast_ops.cast(loss, dtype, name=scope)
        last = isinstance(axis, numbers.Integral) and (axis == -1 or (shape is not None and axis == len(shape) - 1))
        if not last:
            order = swap_with_last(logits, axis)
            logits, target = transpose(logits, order), transpose(target, order)
        outer = reshape_ops.shape(logits)[:-1]
        classes = logits.dims[-1] if logits.dims is not None else None
        flat = [-1, reshape_ops.shape(logits)[-1] if classes is None else classes]
        loss = softmax_cross_entropy_op.many(reshape(logits, flat), reshape(target, flat))[0]
        loss = reshape(loss, outer, name=_unless_cast(scope, loss, dtype))
        if last and shape is not None:
            loss.set_shape(shape[:-1])
        return loss if dtype is loss.dtype else cast_ops.cast(loss, dtype, name=scope)


@export("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Computes the cross entropy of softmax(logits) with labels; no gradient flows into the labels.

    Args:
        labels: Distributions over the classes.
        axis: The axis of the classes; the last by default.
    """
    _require_both(labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = stop_gradient(convert_to_tensor(labels, name="labels"))
        return softmax_cross_entropy_with_logits_v2(labels, logits, axis=dim if axis is None else axis, name=scope)


@export("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(
    labels: Any = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Computes the cross entropy of softmax(logits) with one class index per row.

    Args:
        labels: Class of each example.
    """
    _require_both(labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        if labels.dtype not in dtypes.INDEX:
            labels = cast_ops.cast(labels, dtypes.int64)
        dtype, shape, labels_shape = logits.dtype, logits.dims, labels.dims
        logits = _in_float32(logits)
        if shape == ():
            raise ValueError(f"Logits cannot be scalars - received shape {shape}.")
        if shape is not None and labels_shape is not None and len(labels_shape) != len(shape) - 1:
            raise ValueError(
                "Rank mismatch: Rank of labels (received "
                f"{len(labels_shape)}) should equal rank of logits minus 1 (received {len(shape)})."
            )
        if shape is not None and len(shape) == 2 and labels_shape is not None:
            loss: Tensor = sparse_softmax_cross_entropy_op.many(logits, labels, name=name)[0]
            return loss if dtype is loss.dtype else cast_ops.cast(loss, dtype)
        if shape is not None and labels_shape is not None:
            merge(shape[:-1], labels_shape)
        classes = reshape_ops.shape(logits)[-1] if shape is None or shape[-1] is None else shape[-1]
        rows = reshape(logits, [-1, classes])
        flat = sparse_softmax_cross_entropy_op.many(rows, reshape(labels, [-1]))[0]
        loss = reshape(flat, reshape_ops.shape(labels))
        loss.set_shape(labels_shape)
        return loss if dtype is loss.dtype else cast_ops.cast(loss, dtype)


def _of_one_shape(logits: Any, labels: Any) -> tuple[Tensor, Tensor]:
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, logits.dtype, name="labels")
    if not compatible(labels.dims, logits.dims):
        raise ValueError(f"logits and labels must have the same shape ({logits.shape} vs {labels.shape})")
    return logits, labels


@export("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Computes the cross entropy of independent probabilities sigmoid(logits) with labels.

    Args:
        labels: Labels in [0, 1], of the shape of the logits.
    """
    _require_both(labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = _of_one_shape(logits, labels)
        # max(x, 0) - x * z + log(1 + exp(-|x|)), whose exponentials cannot overflow; the condition, unlike max and
        # abs, has the right gradient at zero.
        positive = logits >= zeros_like(logits)
        rectified = where(positive, logits, zeros_like(logits))
        minus_abs = where(positive, -logits, logits)
        return math.add(rectified - logits * labels, math.log1p(math.exp(minus_abs)), name=scope)


@export("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: TensorLike | None = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Tensor:
    """Computes the sigmoid cross entropy with positive labels weighted by pos_weight.

    Args:
        labels: Labels in [0, 1], of the shape of the logits.
        pos_weight: Weight of the positive labels.
        targets: Deprecated name of `labels`.
    """
    labels = reduction.one_of("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        logits, labels = _of_one_shape(logits, labels)
        weight = 1 + (pos_weight - 1) * labels
        return math.add(
            (1 - labels) * logits, weight * (math.log1p(math.exp(-math.abs(logits))) + relu(-logits)), name=scope
        )


@export("nn.log_poisson_loss")
def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """Computes exp(c) - z * c, with Stirling's approximation of log(z!) on request.

    Args:
        targets: The observed counts.
        log_input: Logarithm of the prediction.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        log_input = convert_to_tensor(log_input, name="log_input")
        targets = convert_to_tensor(targets, log_input.dtype, name="targets")
        if not compatible(targets.dims, log_input.dims):
            raise ValueError(f"log_input and targets must have the same shape ({log_input.shape} vs {targets.shape})")
        loss: Tensor = math.exp(log_input) - log_input * targets
        if compute_full_loss:
            stirling = targets * math.log(targets) - targets + 0.5 * math.log(2 * 3.141592653589793 * targets)
            small = comparison.logical_and(targets >= 0.0, targets <= 1.0)
            loss += where(small, zeros_like(targets), stirling)
        return loss
