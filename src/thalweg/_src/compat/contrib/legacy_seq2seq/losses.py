"""Sequence losses of lists of logits, and models with one graph per bucket of lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base.export import export
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.cross_entropy import sparse_softmax_cross_entropy_with_logits
from thalweg._src.graph.ops.math import add_n
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import reshape, shape
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.variables.variable_scope import get_variable_scope, variable_scope


@export("contrib.legacy_seq2seq.sequence_loss_by_example")
def sequence_loss_by_example(
    logits: Sequence[TensorLike],
    targets: Sequence[TensorLike],
    weights: Sequence[TensorLike],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the weighted cross entropy of each example, summed or averaged over the steps."""
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            f"logits, targets and weights differ in length: {len(logits)}, {len(targets)} and {len(weights)}"
        )
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        loss_of = softmax_loss_function or _cross_entropy
        losses = [loss_of(labels=y, logits=x) * weight for x, y, weight in zip(logits, targets, weights)]
        total = add_n(losses)
        return total / (add_n(list(weights)) + 1e-12) if average_across_timesteps else total


def _cross_entropy(labels: Any, logits: TensorLike) -> Tensor:
    return sparse_softmax_cross_entropy_with_logits(labels=reshape(labels, [-1]), logits=logits)


@export("contrib.legacy_seq2seq.sequence_loss")
def sequence_loss(
    logits: Sequence[TensorLike],
    targets: Sequence[TensorLike],
    weights: Sequence[TensorLike],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the weighted cross entropy of all examples, optionally averaged over the batch."""
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        cost = reduce_sum(
            sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function)
        )
        return cost / cast(shape(targets[0])[0], cost.dtype) if average_across_batch else cost


@export("contrib.legacy_seq2seq.model_with_buckets")
def model_with_buckets(
    encoder_inputs: Sequence[TensorLike],
    decoder_inputs: Sequence[TensorLike],
    targets: Sequence[TensorLike],
    weights: Sequence[TensorLike],
    buckets: Any,
    seq2seq: Callable[..., Any],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """Returns outputs and losses of one model for each pair of lengths; the models share their variables."""
    if not buckets:
        raise ValueError("buckets: expected at least one pair of lengths, received none")
    sources, steps = buckets[-1]
    for what, tensors, least in (
        ("encoder_inputs", encoder_inputs, sources),
        ("targets", targets, steps),
        ("weights", weights, steps),
    ):
        if len(tensors) < least:
            raise ValueError(f"{what} has {len(tensors)} steps, the last bucket needs {least}")
    loss_of = sequence_loss_by_example if per_example_loss else sequence_loss
    outputs, losses = [], []
    with name_scope(name, "model_with_buckets", [*encoder_inputs, *decoder_inputs, *targets, *weights]):
        for index, (sources, steps) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if index else None):
                output, _ = seq2seq(encoder_inputs[:sources], decoder_inputs[:steps])
                outputs.append(output)
                losses.append(
                    loss_of(output, targets[:steps], weights[:steps], softmax_loss_function=softmax_loss_function)
                )
    return outputs, losses
