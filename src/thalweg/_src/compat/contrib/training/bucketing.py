"""Bucketing: batches of examples of similar length or class, by one queue per bucket."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes, errors, shapes as shapes_
from thalweg._src.base.export import export
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import equal, greater_equal
from thalweg._src.graph.ops.constants import constant, no_op
from thalweg._src.graph.ops.control import group
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import constant_value
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.batches import _Examples, _listed
from thalweg._src.training.input.producers import add_fraction_summary
from thalweg._src.training.input.queue_runner import QueueRunner, add_queue_runner
from thalweg._src.training.input.queues import FIFOQueue, PaddingFIFOQueue

_ENDS = (errors.OutOfRangeError, errors.CancelledError)


def _for_each_bucket(value: object, count: int, what: str) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value] * count
    if len(values) != count:
        raise ValueError(f"{what}: expected one for each of the {count} buckets, received {len(values)}")
    return values


def _known_size(sizes: Sequence[Any]) -> int | None:
    """Returns the static batch size, None if it is unknown."""
    static_sizes = {
        None if (value := constant_value(convert_to_tensor(size))) is None else int(value) for size in sizes
    }
    return static_sizes.pop() if len(static_sizes) == 1 else None


@export("contrib.training.bucket")
def bucket(
    tensors: Any,
    which_bucket: TensorLike,
    batch_size: TensorLike,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: TensorLike = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Returns the index of a bucket and a batch of examples from it.

    Args:
        tensors: The tensors of one example: a list or a dictionary.
        which_bucket: Number of the bucket of the example.
        batch_size: Number of examples in a batch, or one number for each bucket.
        num_threads: Number of threads that fill the queues.
        bucket_capacities: Capacity of each bucket; by default `capacity`.
    """
    sizes = _for_each_bucket(batch_size, num_buckets, "batch_size")
    capacities = _for_each_bucket(
        capacity if bucket_capacities is None else bucket_capacities, num_buckets, "bucket_capacities"
    )
    with name_scope(name, "bucket", _listed(tensors)):
        examples = _Examples([tensors], False, keep_input)
        static_shapes = examples.shapes(shapes)
        which = convert_to_tensor(which_bucket, dtype=dtypes.int32, name="which_bucket")
        kind = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            kind(
                capacities[i],
                examples.types,
                shapes=static_shapes,
                shared_name=None if shared_name is None else f"{shared_name}_{i}",
                name=f"bucket_queue_{i}",
            )
            for i in range(num_buckets)
        ]
        lead = (None if allow_smaller_final_batch else _known_size(sizes),)
        top = PaddingFIFOQueue(
            capacity,
            [dtypes.int32, *examples.types],
            shapes=[(), *[shapes_.concatenate(lead, queue_shape) for queue_shape in queues[0]._shapes]],
            shared_name=shared_name,
            name="top_queue",
        )
        _fill_buckets(queues, examples, which, num_threads)
        moves = []
        for i, (queue, size) in enumerate(zip(queues, sizes)):
            take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
            taken = take(size, name=f"read_bucket_{i}")
            components = taken if isinstance(taken, list) else [taken]
            moves.append(top.enqueue([constant(i, dtypes.int32), *components], name=f"enqueue_from_bucket_{i}"))
        add_queue_runner(QueueRunner(top, moves, queue_closed_exception_types=_ENDS))
        add_fraction_summary(f"fraction_of_{capacity}_full", top.size(), capacity)
        number, *batch = top.dequeue(name="dequeue_top")
        return number, examples.restored(batch if len(batch) > 1 else batch[0])


def _fill_buckets(queues: list[Any], examples: _Examples, which: Tensor, num_threads: int) -> None:
    """Adds the queue runner that enqueues each example in its bucket."""

    def enqueue_in(queue: Any, number: int) -> Any:
        return cond(equal(which, number), lambda: queue.enqueue(examples.lists[0]), no_op)

    def enqueue() -> Operation:
        return group(*[enqueue_in(queue, i) for i, queue in enumerate(queues)], name="group_enqueues")

    static_keep = constant_value(examples.keep_input)
    put = enqueue() if static_keep else cond(examples.keep_input, enqueue, no_op)
    operation = put.op if isinstance(put, Tensor) else put
    add_queue_runner(
        QueueRunner(
            queues[0],
            [operation] * num_threads,
            close_op=group(*[queue.close() for queue in queues], name="close_buckets"),
            cancel_op=group(*[queue.close(cancel_pending_enqueues=True) for queue in queues], name="cancel_buckets"),
            queue_closed_exception_types=_ENDS,
        )
    )


@export("contrib.training.bucket_by_sequence_length")
@parameters_of(bucket, without=["tensors", "which_bucket", "batch_size", "num_buckets"], before="num_threads")
def bucket_by_sequence_length(
    input_length: TensorLike,
    tensors: Any,
    batch_size: TensorLike,
    bucket_boundaries: Sequence[int],
    shapes: Any,
    name: str | None,
    **arguments: Any,
) -> tuple[Tensor, Any]:
    """Returns the lengths and a batch of examples from one bucket of lengths.

    Args:
        input_length: Length of the example.
        bucket_boundaries: Lengths that separate the buckets.
    """
    if not isinstance(bucket_boundaries, list | tuple):
        raise TypeError(f"bucket_boundaries: expected a list or tuple, received {bucket_boundaries!r}")
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for low, high in itertools.pairwise(bucket_boundaries):
        if not isinstance(low, int) or not isinstance(high, int):
            raise TypeError(f"bucket_boundaries: expected integers, received {low!r} and {high!r}")
        if low >= high:
            raise ValueError(f"bucket_boundaries: expected increasing lengths, received {low} before {high}")
    listed = _listed(tensors)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *listed]) as scope:
        length = convert_to_tensor(input_length, dtype=dtypes.int32, name="input_length")
        which = reduce_sum(cast(greater_equal(length, list(bucket_boundaries)), dtypes.int32))
        component_shapes = None if shapes is None else [(), *shapes]
        count = len(bucket_boundaries) + 1
        _, batch = bucket([length, *listed], which, batch_size, count, shapes=component_shapes, name=scope, **arguments)
        lengths, *components = batch
        if isinstance(tensors, dict):
            return lengths, dict(zip(sorted(tensors, key=str), components))
        return lengths, components  # a list even of one, unlike the batch of `bucket`
