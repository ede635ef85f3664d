"""sequence_loss: the weighted cross entropy of sequences of logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.cross_entropy import sparse_softmax_cross_entropy_with_logits
from thalweg._src.graph.ops.math import div_no_nan
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


@export("contrib.seq2seq.sequence_loss")
def sequence_loss(
    logits: TensorLike,
    targets: TensorLike,
    weights: TensorLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the weighted cross entropy of logits [batch, time, symbols] for targets [batch, time]."""
    logits, targets, weights = convert_to_tensor(logits), convert_to_tensor(targets), convert_to_tensor(weights)
    for what, tensor, rank in (("Logits", logits, 3), ("Targets", targets, 2), ("Weights", weights, 2)):
        if tensor.dims is not None and len(tensor.dims) != rank:
            raise ValueError(f"{what} must be a {rank}-dimensional tensor, got shape {tensor.shape}")
    if average_across_timesteps and sum_over_timesteps:
        raise ValueError("average_across_timesteps and sum_over_timesteps cannot be set to True at same time.")
    if average_across_batch and sum_over_batch:
        raise ValueError("average_across_batch and sum_over_batch cannot be set to True at same time.")
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        classes = logits.shape[2].value or shape(logits)[2]
        flat, labels = reshape(logits, [-1, classes]), reshape(targets, [-1])
        if softmax_loss_function is None:
            losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=flat)
        else:
            losses = softmax_loss_function(labels=labels, logits=flat)
        weights = cast(weights, losses.dtype)
        losses = losses * reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return div_no_nan(reduce_sum(losses), reduce_sum(weights))
        losses = reshape(losses, shape(logits)[:2])
        losses.set_shape(None if logits.dims is None else logits.dims[:2])
        return _reduced(
            losses, weights, (average_across_timesteps, sum_over_timesteps), average_across_batch, sum_over_batch
        )


def _reduced(losses: Any, weights: Any, over_time: tuple[bool, bool], average: bool, total: bool) -> Tensor:
    average_time, sum_time = over_time
    axes = [axis for axis, is_reduced in ((0, average or total), (1, average_time or sum_time)) if is_reduced]
    summed = reduce_sum(losses, axes) if axes else losses
    averaged = [axis for axis, is_reduced in ((0, average), (1, average_time)) if is_reduced]
    if not averaged:
        return summed
    if len(averaged) < len(axes):  # one axis is summed, so that the count is along the other alone
        counts = reduce_sum(weights, averaged, keepdims=True)
        return reduce_sum(div_no_nan(losses, counts + weights * 0), axes)
    return div_no_nan(summed, reduce_sum(weights, averaged))
