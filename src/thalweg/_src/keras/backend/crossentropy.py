"""Crossentropies of the Keras backend, of probabilities or of logits.

Where probabilities are the outputs of a softmax or sigmoid operation in a graph, its inputs are the logits, from which
the crossentropy is computed without loss of precision.
"""

from __future__ import annotations

from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import executing_eagerly_outside_functions
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from thalweg._src.graph.ops.math import add, clip_by_value, divide, log, multiply, negative, subtract
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import reshape, shape, transpose
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.keras.backend.settings import epsilon


def _logits(output: Tensor, activation: str) -> Tensor | None:
    """Returns the input of the activation that has computed probabilities in a graph; None if it is not known.

    A model that runs eagerly calls layers again, so that it cannot use what is inside of one.
    """
    if output.is_eager or output.op.type != activation:
        return None
    is_inside = executing_eagerly_outside_functions() and hasattr(output, "_keras_history")
    return None if is_inside else output.op.inputs[0]


def _inside(probabilities: Tensor) -> Tensor:
    """Returns probabilities clipped to where their logarithms, and those of their complements, are finite."""
    return clip_by_value(probabilities, epsilon(), 1.0 - epsilon())  # type: ignore[no-any-return]


@export("keras.backend.categorical_crossentropy")
def categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Returns the crossentropy of distributions over classes; probabilities are scaled to sum to 1.

    Args:
        target: The targets.
        output: The predictions.
        axis: The axis of the classes.
    """
    output = convert_to_tensor(output)
    target = convert_to_tensor(target, preferred_dtype=output.dtype)
    logits = output if from_logits else _logits(output, "Softmax")
    if logits is not None:
        return softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, axis=axis)
    scaled = divide(output, reduce_sum(output, axis, keepdims=True))
    return negative(reduce_sum(multiply(target, log(_inside(scaled))), axis))


@export("keras.backend.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(
    target: TensorLike, output: TensorLike, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Returns the crossentropy of classes, given by number, and distributions over classes.

    Args:
        target: The targets.
        output: The predictions.
        axis: The axis of the classes.
    """
    output = convert_to_tensor(output)
    logits = output if from_logits else _logits(output, "Softmax")
    if logits is None:
        logits = log(_inside(output))
    rank = None if logits.dims is None else len(logits.dims)
    if rank == 0:
        raise ValueError("output: expected a distribution over classes, received a scalar")
    if rank is not None and axis % rank != rank - 1:
        others = [dimension for dimension in range(rank) if dimension != axis % rank]
        logits = transpose(logits, [*others, axis % rank])
    sizes = shape(logits)
    classes: Any = sizes[-1] if logits.dims is None or logits.dims[-1] is None else logits.dims[-1]
    labels = cast(reshape(target, [-1]), dtypes.int64)
    losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=reshape(logits, [-1, classes]))
    return losses if rank is not None and rank < 3 else reshape(losses, sizes[:-1])


@export("keras.backend.binary_crossentropy")
def binary_crossentropy(target: TensorLike, output: TensorLike, from_logits: bool = False) -> Tensor:
    """Returns the crossentropy of each target and each probability by itself.

    Args:
        target: The targets.
        output: The predictions.
    """
    output = convert_to_tensor(output)
    target = convert_to_tensor(target, preferred_dtype=output.dtype)
    logits = output if from_logits else _logits(output, "Sigmoid")
    if logits is not None:
        return sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    inside = _inside(output)
    positive = multiply(target, log(add(inside, epsilon())))
    return negative(add(positive, multiply(subtract(1.0, target), log(add(subtract(1.0, inside), epsilon())))))
