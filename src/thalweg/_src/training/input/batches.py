"""Batching by queues: queue runners enqueue single examples, and a step dequeues batches of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from thalweg._src.base import dtypes, shapes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, ShapeLike
from thalweg._src.base.signatures import parameters_of
from thalweg._src.graph.control_flow.cond import cond
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import no_op
from thalweg._src.graph.ops.gather import boolean_mask
from thalweg._src.graph.ops.math import maximum
from thalweg._src.graph.ops.reshape import constant_value
from thalweg._src.graph.ops.sparse_serial import deserialize_many_sparse, serialize_many_sparse, serialize_sparse
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike
from thalweg._src.training.input.producers import add_fraction_summary
from thalweg._src.training.input.queue_runner import QueueRunner, add_queue_runner
from thalweg._src.training.input.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue


class _Sparse(NamedTuple):
    """The type and shape of a sparse tensor that is enqueued in serialized form."""

    dtype: Any
    rank: int | None


class _Examples:
    """The tensors of an example, from one or several enqueueing threads."""

    def __init__(self, lists: Sequence[Any], enqueue_many: bool, keep_input: TensorLike) -> None:
        self._original = lists[0]
        self.enqueue_many = enqueue_many
        self.keep_input = _keep_input(keep_input, enqueue_many)
        tensors = [[convert_to_tensor_or_sparse_tensor(tensor) for tensor in _listed(example)] for example in lists]
        if not tensors[0]:
            raise ValueError("a batch needs at least one tensor")
        self._sparse = [_sparse_info(example, enqueue_many) for example in tensors[0]]
        if any(len(example) != len(tensors[0]) for example in tensors):
            raise ValueError("all lists of tensors must have the same length")
        self.lists = [[self._written(tensor) for tensor in example] for example in tensors]
        self.types = [tensor.dtype for tensor in self.lists[0]]
        for other in self.lists[1:]:
            if [tensor.dtype for tensor in other] != self.types:
                shown = [", ".join(tensor.dtype.name for tensor in example) for example in (self.lists[0], other)]
                raise TypeError(f"the tensors of all lists must have the same types: {shown[0]} and {shown[1]}")

    def _written(self, tensor: Tensor | SparseTensor) -> Tensor:
        if not isinstance(tensor, SparseTensor):
            return tensor
        return serialize_many_sparse(tensor) if self.enqueue_many else serialize_sparse(tensor)

    def shapes(self, requested_shapes: Sequence[ShapeLike] | ShapeLike) -> Any:
        """Returns the shape of each component of one example."""
        if requested_shapes is not None:
            return requested_shapes
        result: list[Shape] = []
        for index in range(len(self.types)):
            merged: Shape = None
            for example in self.lists:
                shape = example[index].dims
                if shape is None or (self.enqueue_many and not shape):
                    raise ValueError(f"Cannot infer Tensor's rank: {example[index]}; pass shapes")
                merged = shapes.merge(merged, shape[1:] if self.enqueue_many else shape)
            result.append(merged)
        return result

    def fill(self, queue: QueueBase, num_threads: int = 1) -> None:
        """Adds the queue runner that enqueues the examples."""
        add_queue_runner(QueueRunner(queue, [self._enqueue(queue, example) for example in self.lists] * num_threads))

    def _enqueue(self, queue: QueueBase, tensors: list[Tensor]) -> Operation:
        put: Callable[[Any], Operation] = queue.enqueue_many if self.enqueue_many else queue.enqueue
        if self.keep_input.dims:
            return put([boolean_mask(tensor, self.keep_input) for tensor in tensors])
        static_keep = constant_value(self.keep_input)
        if static_keep is not None:
            return put(tensors) if static_keep else no_op()
        result = cond(self.keep_input, lambda: put(tensors), no_op)
        return result.op if isinstance(result, Tensor) else result

    def restored(self, taken: Tensor | Sequence[Tensor]) -> Any:
        """Returns a batch in the structure of the examples: with sparse tensors, and as a dictionary if given so."""
        components = list(taken) if isinstance(taken, list) else [taken]
        components = [
            component if sparse is None else deserialize_many_sparse(component, sparse.dtype, _plus_one(sparse.rank))
            for component, sparse in zip(components, self._sparse)
        ]
        if isinstance(self._original, dict):
            return dict(zip(sorted(self._original, key=str), components))
        return components if isinstance(taken, list) else components[0]


def _listed(tensors: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    if isinstance(tensors, dict):
        return [tensors[key] for key in sorted(tensors, key=str)]
    if isinstance(tensors, Tensor | str):
        raise TypeError(f"expected a list or a dictionary of tensors, received {tensors!r}")
    return list(tensors)


def _lists(tensors_list: Iterable[Any]) -> list[Any]:
    lists = list(tensors_list)
    if not lists:
        raise ValueError("expected at least one list of tensors")
    if isinstance(lists[0], dict) and any(
        not isinstance(example, dict) or set(example) != set(lists[0]) for example in lists
    ):
        raise ValueError("all dictionaries of tensors must have the same keys")
    return lists


def _sparse_info(tensor: Tensor | SparseTensor, enqueue_many: bool) -> _Sparse | None:
    if not isinstance(tensor, SparseTensor):
        return None
    dimensions = tensor.dense_shape.dims
    rank = dimensions[0] if dimensions else None
    return _Sparse(tensor.dtype, rank if rank is None or not enqueue_many else rank - 1)


def _plus_one(rank: int | None) -> int | None:
    return None if rank is None else rank + 1


def _keep_input(keep_input: TensorLike, enqueue_many: bool) -> Tensor:
    tensor = convert_to_tensor(keep_input, dtype=dtypes.bool, name="keep_input")
    if tensor.dims is None:
        raise ValueError("keep_input: its rank must be known statically")
    if len(tensor.dims) > 1 or (tensor.dims and not enqueue_many):
        expectation = "a scalar or a vector" if enqueue_many else "a scalar, since each step has one example"
        raise ValueError(f"keep_input: expected {expectation}, received shape {shapes.show(tensor.dims)}")
    return tensor


def _taken(queue: QueueBase, batch_size: TensorLike, allow_smaller: bool, examples: _Examples, name: str) -> Any:
    take = queue.dequeue_up_to if allow_smaller else queue.dequeue_many
    return examples.restored(take(batch_size, name=name))


def _flat(lists: Sequence[Any]) -> list[Any]:
    return [tensor for example in lists for tensor in _listed(example)]


def _batch(
    default: str,
    lists: list[Any],
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | ShapeLike | None = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    with name_scope(name, default, [*_flat(lists), keep_input]) as scope:
        examples = _Examples(lists, enqueue_many, keep_input)
        queue_type = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = queue_type(capacity, examples.types, shapes=examples.shapes(shapes), shared_name=shared_name)
        examples.fill(queue, num_threads)
        add_fraction_summary(f"fraction_of_{capacity}_full", queue.size(), capacity)
        return _taken(queue, batch_size, allow_smaller_final_batch, examples, scope)


@export("train.maybe_batch")
@parameters_of(_batch, without=["default", "lists"], before="keep_input")
def maybe_batch(tensors: Sequence[Any] | Mapping[str, Any], **arguments: Any) -> Any:
    """Returns batches of those examples for which keep_input is true.

    Args:
        tensors: The tensors of one example: a list or a dictionary.
    """
    return _batch("batch", [tensors], **arguments)


@export("train.batch")
@parameters_of(maybe_batch, without=["keep_input"])
def batch(**arguments: Any) -> Any:
    """Returns batches of examples; each enqueueing thread provides one example per step, or many."""
    return maybe_batch(keep_input=True, **arguments)


@export("train.maybe_batch_join")
@parameters_of(_batch, without=["default", "lists", "num_threads"], before="keep_input")
def maybe_batch_join(tensors_list: Iterable[Any], **arguments: Any) -> Any:
    """Returns batches of those examples from several sources for which keep_input is true."""
    return _batch("batch_join", _lists(tensors_list), **arguments)


@export("train.batch_join")
@parameters_of(maybe_batch_join, without=["keep_input"])
def batch_join(**arguments: Any) -> Any:
    """Returns batches of examples from several sources, with one thread each."""
    return maybe_batch_join(keep_input=True, **arguments)


def _shuffle_batch(
    default: str,
    lists: list[Any],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Sequence[ShapeLike] | ShapeLike | None = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    with name_scope(name, default, [*_flat(lists), keep_input]) as scope:
        if capacity <= min_after_dequeue:
            raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")
        examples = _Examples(lists, enqueue_many, keep_input)
        queue = RandomShuffleQueue(
            capacity,
            min_after_dequeue,
            examples.types,
            shapes=examples.shapes(shapes),
            seed=seed,
            shared_name=shared_name,
        )
        examples.fill(queue, num_threads)
        over, most = maximum(0, queue.size() - min_after_dequeue), capacity - min_after_dequeue
        add_fraction_summary(f"fraction_over_{min_after_dequeue}_of_{most}_full", over, most)
        return _taken(queue, batch_size, allow_smaller_final_batch, examples, scope)


@export("train.maybe_shuffle_batch")
@parameters_of(_shuffle_batch, without=["default", "lists"], before="batch_size")
def maybe_shuffle_batch(tensors: Sequence[Any] | Mapping[str, Any], **arguments: Any) -> Any:
    """Returns batches in random order of those examples for which keep_input is true.

    Args:
        tensors: The tensors of one example: a list or a dictionary.
    """
    return _shuffle_batch("shuffle_batch", [tensors], **arguments)


@export("train.shuffle_batch")
@parameters_of(maybe_shuffle_batch, without=["keep_input"])
def shuffle_batch(**arguments: Any) -> Any:
    """Returns batches of examples in random order, drawn from at least min_after_dequeue."""
    return maybe_shuffle_batch(keep_input=True, **arguments)


@export("train.maybe_shuffle_batch_join")
@parameters_of(_shuffle_batch, without=["default", "lists", "num_threads"], before="batch_size")
def maybe_shuffle_batch_join(tensors_list: Iterable[Any], **arguments: Any) -> Any:
    """Returns batches in random order of those examples from several sources for which keep_input is true."""
    return _shuffle_batch("shuffle_batch_join", _lists(tensors_list), **arguments)


@export("train.shuffle_batch_join")
@parameters_of(maybe_shuffle_batch_join, without=["keep_input"])
def shuffle_batch_join(**arguments: Any) -> Any:
    """Returns batches in random order of examples from several sources, with one thread each."""
    return maybe_shuffle_batch_join(keep_input=True, **arguments)
