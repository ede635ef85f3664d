"""Batches of examples that are sampled by probabilities of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.check import assert_greater_equal, assert_less_equal
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.math import div_no_nan
from thalweg._src.graph.ops.random import random_uniform
from thalweg._src.graph.ops.reduction import reduce_max, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, shape, squeeze
from thalweg._src.graph.ops.where import one_hot
from thalweg._src.graph.scopes import GraphKeys, control_dependencies, name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.batches import batch, maybe_batch
from thalweg._src.training.variables.variables import Variable


@export("contrib.training.rejection_sample")
def rejection_sample(
    tensors: Sequence[TensorLike],
    accept_prob_fn: Callable[[list[Tensor]], TensorLike],
    batch_size: int,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Tensor]:
    """Returns batches of examples, each of which is accepted with a probability of its own.

    Args:
        tensors: Tensors of one example, or of several if `enqueue_many`.
        accept_prob_fn: Function from the tensors of an example to the probability that it is accepted.
        batch_size: Size of the batches.
        queue_threads: Number of threads that fill the queue.
        enqueue_many: Whether the tensors hold several examples.
        prebatch_capacity: Number of examples that are held before they are accepted.
        prebatch_threads: Number of threads that provide them.
        runtime_checks: Whether probabilities outside of [0, 1] are errors.
    """
    with name_scope(name, "rejection_sample", list(tensors)):
        examples = [convert_to_tensor(tensor) for tensor in tensors]
        if enqueue_many:
            # A batch of one, so that the function sees single examples.
            ones = batch(
                examples, batch_size=1, num_threads=prebatch_threads, capacity=prebatch_capacity, enqueue_many=True
            )
            ones = ones if isinstance(ones, list | tuple) else [ones]
            examples = [squeeze(one, [0]) for one in ones]
        probability = convert_to_tensor(accept_prob_fn(examples), dtypes.float32)
        if runtime_checks:
            checks = [assert_less_equal(probability, 1.0), assert_greater_equal(probability, 0.0)]
            with control_dependencies(checks):
                probability = identity(probability)
        keep = random_uniform([]) < probability
        accepted = maybe_batch(examples, keep, batch_size, num_threads=queue_threads)
        return list(accepted) if isinstance(accepted, list | tuple) else [accepted]


@export("contrib.training.stratified_sample")
def stratified_sample(
    tensors: Sequence[TensorLike],
    labels: TensorLike,
    target_probs: TensorLike,
    batch_size: int,
    init_probs: TensorLike | None = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Tensor], Tensor]:
    """Returns batches of examples and of labels in which the classes have given probabilities.

    Examples of classes that are too frequent are dropped at random.

    Args:
        tensors: Tensors of one example, or of several if `enqueue_many`.
        labels: The class of each example.
        target_probs: The probability of each class in the batches.
        batch_size: Size of the batches.
        init_probs: The probability of each class among the examples; None estimates them.
        enqueue_many: Whether the tensors hold several examples.
        queue_capacity: Number of examples that the queue holds.
        threads_per_queue: Number of threads that fill the queue.
    """
    with name_scope(name, "stratified_sample", [*tensors, labels]):
        examples, classes = [convert_to_tensor(tensor) for tensor in tensors], convert_to_tensor(labels)
        if not enqueue_many:
            examples, classes = [expand_dims(example, 0) for example in examples], expand_dims(classes, 0)
        target = convert_to_tensor(target_probs, dtypes.float32)
        initial = _estimated(classes, target) if init_probs is None else convert_to_tensor(init_probs, dtypes.float32)
        ratios = div_no_nan(target, initial)
        keep = random_uniform(shape(classes)) < gather(ratios / reduce_max(ratios), classes)
        keep.set_shape(classes.dims)
        *batches, batched_labels = maybe_batch(
            [*examples, classes],
            keep,
            batch_size,
            num_threads=threads_per_queue,
            capacity=queue_capacity,
            enqueue_many=True,
        )
        return batches, batched_labels


def _estimated(classes: Tensor, like: Tensor) -> Tensor:
    """Returns the fraction of each class among the examples so far."""
    if not like.dims:
        raise ValueError(f"target_probs: expected a vector, received shape {like.shape}")
    number = like.dims[0]
    if number is None:
        raise ValueError("target_probs: expected a known number of classes")
    counts = Variable([1.0] * number, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name="class_counts")
    updated = counts.assign_add(reduce_sum(one_hot(cast(classes, dtypes.int32), number), 0))
    fractions: Tensor = updated / reduce_sum(updated)
    return fractions
