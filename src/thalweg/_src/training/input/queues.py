"""Queues: the graph API of tf.QueueBase and its subclasses."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from thalweg._src.base import dtypes as types_, shapes as shapes_
from thalweg._src.base.dtypes import DType, DTypeLike
from thalweg._src.base.errors import require_kind
from thalweg._src.base.export import export
from thalweg._src.base.read_only import ReadOnly
from thalweg._src.base.shapes import Shape, ShapeLike, TensorShape
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.default import get_default_graph
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import queues as ops
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.seeds import get_seed
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike


def _as_types(types: DTypeLike | Sequence[DTypeLike]) -> list[DType]:
    """Returns the dtypes of components; a single one need not be in a list."""
    many = types if isinstance(types, list | tuple) else [types]
    return [types_.as_dtype(one) for one in many]


def _as_shapes(
    shapes: Sequence[ShapeLike] | ShapeLike,
    count: int,
    unknown_dim_allowed: bool = False,
    unknown_rank_allowed: bool = False,
) -> list[Shape] | None:
    """Returns the shapes of components; a single one need not be in a list."""
    if shapes is None:
        return None
    if isinstance(shapes, TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, list | tuple):
        raise TypeError(f"shapes: expected a shape, or a list of shapes, received {shapes!r}")
    if all(shape is None or isinstance(shape, int) for shape in shapes):
        shapes = [shapes]
    result = [shapes_.as_shape(shape) for shape in shapes]
    if not unknown_dim_allowed and not all(map(shapes_.is_fully_defined, result)):
        raise ValueError(f"All shapes must be fully defined: {[shapes_.TensorShape(shape) for shape in result]}")
    if not unknown_rank_allowed and None in result:
        raise ValueError(f"shapes: all must have a defined rank, received {', '.join(map(shapes_.show, result))}")
    return result


def _as_names(names: Sequence[str] | None, count: int) -> list[str] | None:
    if names is None:
        return None
    many = [names] if isinstance(names, str) else names
    if not isinstance(many, list | tuple):
        raise TypeError(f"names: expected a name, or a list of names, received {names!r}")
    if len(many) != count:
        raise ValueError(f"names: expected one for each of the {count} components, received {len(many)}")
    return list(many)


@export("QueueBase", "io.QueueBase", "queue.QueueBase")
class QueueBase:
    """The base class of queues: enqueue and dequeue operations block while the queue is full or empty.

    An element has one or more components, each a tensor.

    Args:
        dtypes: Element type of each component of an element.
        shapes: Static shape of each component; None leaves the shapes open.
        queue_ref: Handle of the queue.
    """

    queue_ref = ReadOnly[Tensor]("The handle of the queue.")
    name = ReadOnly[str]("The name of the queue.", "_queue_ref.source_name")
    dtypes = ReadOnly[list[DType]]("The dtype of each component.")
    names = ReadOnly[list[str] | None]("The name of each component, or None.")

    def __init__(
        self,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | None,
        names: Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        self._dtypes = _as_types(dtypes)
        component_shapes = None if shapes is None else [shapes_.as_shape(shape) for shape in shapes]
        if component_shapes is not None and len(component_shapes) != len(self._dtypes):
            raise ValueError(
                f"shapes: expected one for each of the {len(self._dtypes)} dtypes, received {len(component_shapes)}"
            )
        self._shapes: list[Shape] = [None] * len(self._dtypes) if component_shapes is None else component_shapes
        self._names = _as_names(names, len(self._dtypes))
        self._queue_ref = queue_ref
        require_kind("queue_ref", queue_ref, Tensor, "the handle of a queue")
        self._name = queue_ref.source_name.rpartition("/")[2]

    @staticmethod
    def from_list(index: TensorLike, queues: Sequence[QueueBase]) -> QueueBase:
        """Returns the queue with this index, which may be computed in a step."""
        if not queues or not isinstance(queues, list) or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError(f"queues: expected a list of queues, received {queues!r}")
        first = queues[0]
        if not all(queue.dtypes == first.dtypes for queue in queues[1:]):
            raise TypeError("the queues do not have the same component dtypes")
        if not all(queue.names == first.names for queue in queues[1:]):
            raise TypeError("the queues do not have the same component names")
        shapes = [
            functools.reduce(shapes_.most_general, candidates)
            for candidates in zip(*[queue._shapes for queue in queues])
        ]
        handle = ops.select_handle_op(index, [queue.queue_ref for queue in queues])
        return QueueBase(first.dtypes, shapes, first.names, handle)

    @property
    def shapes(self) -> list[TensorShape]:
        """The shape of each component."""
        return [TensorShape(shape) for shape in self._shapes]

    def _components(self, vals: Any) -> list[Tensor]:
        """Returns the value to enqueue as one tensor per component."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError(f"queue {self.name!r} has no names: it takes a tensor or a list, not a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(f"queue {self.name!r} has components {sorted(self._names)}, received {sorted(vals)}")
            vals = [vals[name] for name in self._names]
        else:
            if self._names:
                raise ValueError(f"queue {self.name!r} has names: it takes a dictionary")
            vals = vals if isinstance(vals, list | tuple) else [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(f"queue {self.name!r} has {len(self._dtypes)} components, received {len(vals)}")
        return [
            convert_to_tensor(val, dtype=dtype, name=f"component_{i}")
            for i, (val, dtype) in enumerate(zip(vals, self._dtypes))
        ]

    def _require_shape(self, index: int, shape: Shape) -> None:
        if not shapes_.compatible(shape, self._shapes[index]):
            raise ValueError(
                f"queue {self.name!r}: component {index} has shape {shapes_.show(self._shapes[index])}, "
                f"received {shapes_.show(shape)}"
            )

    def _returned(self, tensors: Sequence[Tensor]) -> Any:
        """Returns the dequeued components in the user's structure: by name, as a list, or a single one."""
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else list(tensors)

    def enqueue(self, vals: TensorLike | Mapping[str, TensorLike], name: str | None = None) -> Operation:
        """Returns an operation that enqueues one element."""
        with name_scope(name, f"{self._name}_enqueue", _values(vals)) as scope:
            components = self._components(vals)
            for index, component in enumerate(components):
                self._require_shape(index, component.dims)
            return ops.queue_enqueue_op.operation(self._queue_ref, components, name=scope)

    def enqueue_many(self, vals: TensorLike | Mapping[str, TensorLike], name: str | None = None) -> Operation:
        """Returns an operation that enqueues many elements, along the first dimension of each component."""
        with name_scope(name, f"{self._name}_EnqueueMany", _values(vals)) as scope:
            components = self._components(vals)
            size: Shape = None
            for index, component in enumerate(components):
                shape = component.dims
                if shape is not None and not shape:
                    raise ValueError(f"queue {self.name!r}: component {index} is a scalar, expected many elements")
                if shape is not None:
                    size = shapes_.merge(size, shape[:1])
                    self._require_shape(index, shape[1:])
            return ops.queue_enqueue_many_op.operation(self._queue_ref, components, name=scope)

    def dequeue(self, name: str | None = None) -> Any:
        """Dequeues one element."""
        taken = ops.queue_dequeue_op.many(
            self._queue_ref, component_types=self._dtypes, name=name or f"{self._name}_Dequeue"
        )
        return self._shaped(taken, ())

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Any:
        """Dequeues n elements, stacked; fails if the queue is closed before there are as many."""
        taken = ops.queue_dequeue_many_op.many(
            self._queue_ref, n, component_types=self._dtypes, name=name or f"{self._name}_DequeueMany"
        )
        value = None if taken[0].is_eager else taken[0].op.inputs[1].static_value
        return self._shaped(taken, (None if value is None or value is False else int(value),))

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Any:
        """Dequeues n elements, stacked, or fewer if the queue is closed and has no more."""
        taken = ops.queue_dequeue_up_to_op.many(
            self._queue_ref, n, component_types=self._dtypes, name=name or f"{self._name}_DequeueUpTo"
        )
        return self._shaped(taken, (None,))

    def _shaped(self, taken: Sequence[Tensor], lead: tuple[int | None, ...]) -> Any:
        for tensor, shape in zip(taken, self._shapes):
            tensor.set_shape(shapes_.concatenate(lead, shape))
        return self._returned(taken)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Returns an operation that closes the queue, after pending enqueues or cancelling them."""
        return ops.queue_close_op.operation(
            self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name or f"{self._name}_Close"
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Returns a boolean tensor: whether the queue is closed."""
        return ops.queue_is_closed_op(self._queue_ref, name=name or f"{self._name}_Is_Closed")

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements in the queue."""
        return ops.queue_size_op(self._queue_ref, name=name or f"{self._name}_Size")


def _values(vals: Any) -> list[Any]:
    return list(vals.values()) if isinstance(vals, dict) else list(vals) if isinstance(vals, list | tuple) else [vals]


def _create(definition: OpDef, types: list[DType], shapes: list[Shape] | None, **attrs: Any) -> Tensor:
    """Adds the operation of a queue and returns its handle."""
    container = get_default_graph().scopes.container
    return definition(component_types=types, shapes=shapes or (), container=container, **attrs)


@export("FIFOQueue", "io.FIFOQueue", "queue.FIFOQueue")
class FIFOQueue(QueueBase):
    """A first-in, first-out queue.

    Args:
        dtypes: Element type of each component of an element.
        shapes: Static shape of each component; None leaves the shapes open.
        name: A name for the queue.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | ShapeLike | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        types = _as_types(dtypes)
        component_shapes = _as_shapes(shapes, len(types))
        handle = _create(
            ops.fifo_queue_op, types, component_shapes, capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__(types, component_shapes, names, handle)


@export("RandomShuffleQueue", "io.RandomShuffleQueue", "queue.RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """A queue with dequeue in random order; min_after_dequeue elements remain to choose from until it is closed.

    Args:
        min_after_dequeue: Number of elements that stay in the queue until it is closed, to choose from.
        dtypes: Element type of each component of an element.
        shapes: Static shape of each component; None leaves the shapes open.
        seed: Seed of this operation; together with the graph's seed it fixes the random sequence.
        name: A name for the queue.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | ShapeLike | None = None,
        names: Sequence[str] | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types = _as_types(dtypes)
        component_shapes = _as_shapes(shapes, len(types))
        first, second = get_seed(seed)
        if seed is None and first is not None and shared_name is not None:
            # Graphs that share the queue have operations with different seeds: the name alone identifies it.
            text = f"{get_default_graph().seed}{shared_name}".encode()
            second = int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF
        handle = _create(
            ops.random_shuffle_queue_op,
            types,
            component_shapes,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=first or 0,
            seed2=second or 0,
            shared_name=shared_name,
            name=name,
        )
        super().__init__(types, component_shapes, names, handle)


@export("PriorityQueue", "io.PriorityQueue", "queue.PriorityQueue")
class PriorityQueue(QueueBase):
    """A queue whose elements have an int64 priority as first component: the lowest is dequeued first.

    Args:
        types: Element types of the components that follow the priority.
        shapes: Static shape of each component; None leaves the shapes open.
        name: A name for the queue.
    """

    def __init__(
        self,
        capacity: int,
        types: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | ShapeLike | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        value_types = _as_types(types)
        value_shapes = _as_shapes(shapes, len(value_types)) if value_types else []
        handle = _create(
            ops.priority_queue_op, value_types, value_shapes, capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__(
            [types_.int64, *value_types], None if value_shapes is None else [(), *value_shapes], names, handle
        )


@export("PaddingFIFOQueue", "io.PaddingFIFOQueue", "queue.PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """A FIFO queue with components of variable size: batches are padded with zeros.

    Args:
        dtypes: Element type of each component of an element.
        shapes: Static shape of each component; unknown sizes are padded.
        name: A name for the queue.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: DTypeLike | Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | ShapeLike,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = _as_types(dtypes)
        component_shapes = _as_shapes(shapes, len(types), unknown_dim_allowed=True)
        if component_shapes is None or len(component_shapes) != len(types):
            raise ValueError(f"shapes: expected one for each of the {len(types)} dtypes, received {shapes!r}")
        handle = _create(
            ops.padding_fifo_queue_op, types, component_shapes, capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__(types, component_shapes, names, handle)
