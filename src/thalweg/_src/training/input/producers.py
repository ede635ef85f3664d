"""Input producers: queues of file names, indices or slices, filled by queue runners for a number of epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import ShapeLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.files import matching_files
from thalweg._src.graph.ops.gather import gather
from thalweg._src.graph.ops.identity import identity
from thalweg._src.graph.ops.printing import Assert
from thalweg._src.graph.ops.random import random_shuffle
from thalweg._src.graph.ops.reshape import shape as shape_of, size
from thalweg._src.graph.ops.sequences import range as range_
from thalweg._src.graph.ops.summary import scalar_summary
from thalweg._src.graph.scopes import GraphKeys, add_to_collection, control_dependencies, name_scope
from thalweg._src.graph.sparse_tensor import convert_to_tensor_or_indexed_slices
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.queue_runner import QueueRunner, add_queue_runner
from thalweg._src.training.input.queues import FIFOQueue
from thalweg._src.training.variables.variables import Variable


def add_fraction_summary(name: str, amount: Tensor, of: int) -> None:
    """Adds a summary of the fill level of a queue."""
    with name_scope(name) as scope:
        fraction = cast(amount, dtypes.float32) * (1.0 / of)
        add_to_collection(GraphKeys.SUMMARIES, scalar_summary(scope.rstrip("/"), fraction, name=scope))


@export("train.limit_epochs")
def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """Returns the tensor `num_epochs` times, then raises OutOfRangeError; a local variable counts.

    Args:
        tensor: The tensor.
        num_epochs: How often the tensor is given; None sets no limit.
    """
    if num_epochs is None:
        return convert_to_tensor(tensor)
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0, received {num_epochs}")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, dtypes.int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES]
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


@export("io.match_filenames_once", "train.match_filenames_once")
def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """Returns a local variable with the names of the files that match a pattern when it is initialized.

    Args:
        pattern: Pattern of file names, or a list of patterns.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            initial_value=matching_files(pattern),
            trainable=False,
            validate_shape=False,
            name=scope,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


@export("train.input_producer")
def input_producer(
    input_tensor: TensorLike,
    element_shape: ShapeLike = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> FIFOQueue:
    """Returns a queue of the rows of a tensor, reshuffled in each epoch, and adds its queue runner.

    Args:
        input_tensor: The rows to enqueue.
        element_shape: Static shape of a row, if it is not known from the tensor.
        shuffle: Whether elements are shuffled in each epoch.
        summary_name: Name of a summary of how full the queue is.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        element = shapes.merge(None if rows.dims is None else rows.dims[1:], shapes.as_shape(element_shape))
        if not shapes.is_fully_defined(element):
            raise ValueError(
                f"the shape of a row of {rows.label} is {shapes.show(element)}: expected a fully defined one, "
                "from the tensor or from element_shape"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity, [rows.dtype], shapes=[element], shared_name=shared_name, name=name or "input_producer"
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            add_fraction_summary(summary_name, queue.size(), capacity)
        return queue


@export("train.string_input_producer")
@parameters_of(input_producer, without=["input_tensor", "element_shape", "summary_name"], before="num_epochs")
def string_input_producer(string_tensor: Any, capacity: int, name: str | None, **arguments: Any) -> FIFOQueue:
    """Returns a queue of strings, such as file names, and adds its queue runner."""
    empty = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor | Variable) and len(string_tensor) == 0:
        raise ValueError(empty)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=dtypes.string)
        with control_dependencies([Assert(greater(size(strings), 0), [empty])]):
            strings = identity(strings)
        full = f"fraction_of_{capacity}_full"
        return input_producer(strings, [], capacity=capacity, summary_name=full, name=scope, **arguments)


@export("train.range_input_producer")
@parameters_of(string_input_producer, without=["string_tensor", "cancel_op"], before="num_epochs")
def range_input_producer(limit: TensorLike, capacity: int, name: str | None, **arguments: Any) -> FIFOQueue:
    """Returns a queue of the integers from 0 to limit - 1, and adds its queue runner."""
    with name_scope(name, "input_producer", [limit]) as scope:
        full = f"fraction_of_{capacity}_full"
        return input_producer(range_(limit), [], capacity=capacity, summary_name=full, name=scope, **arguments)


@export("train.slice_input_producer")
@parameters_of(range_input_producer, without=["limit"], before="num_epochs")
def slice_input_producer(tensor_list: Sequence[TensorLike], name: str | None, **arguments: Any) -> list[Tensor]:
    """Returns one row of each tensor, all with the same index, a different one in each step."""
    with name_scope(name, "input_producer", list(tensor_list)):
        tensors = [convert_to_tensor_or_indexed_slices(tensor) for tensor in tensor_list]
        if not tensors:
            raise ValueError("slice_input_producer needs at least one tensor")
        queue = range_input_producer(shape_of(tensors[0])[0], **arguments)
        index = queue.dequeue()
        return [gather(tensor, index) for tensor in tensors]
