"""Queue ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg._src.base.shapes import Shape, compatible, concatenate, show
from thalweg._src.graph import attr
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.declarations import stateful_op
from thalweg._src.graph.ops.shape_functions import no_outputs, require, scalar, scalar_value
from thalweg._src.graph.tensor import Tensor

QUEUES = ("FIFOQueueV2", "RandomShuffleQueueV2", "PriorityQueueV2", "PaddingFIFOQueueV2")


def maker_of(handle: Tensor, makers: Sequence[str]) -> Operation | None:
    """Returns the operation that created a handle, if it is statically known."""
    if not isinstance(handle, Tensor):
        return None  # at run time the kernel receives the resource itself
    operation = handle.op
    while operation.type not in makers:
        passed = [t for t in operation.inputs if t.dtype is handle.dtype]
        if not passed or passed[0].op.id >= operation.id:
            return None
        operation = passed[0].op
    return operation


def component_shapes(queue: Operation, count: int) -> list[Shape]:
    """Returns the shapes of the components of an element, unknown where the queue does not specify them."""
    shapes = list(queue.attrs["shapes"])
    if queue.type == "PriorityQueueV2" and (shapes or not queue.attrs["component_types"]):
        shapes = [(), *shapes]
    return shapes if len(shapes) == count else [None] * count


def _taken(c: Inference, *lead: int | None) -> Sequence[Shape]:
    queue = maker_of(c.sources[0], QUEUES)
    shapes = [None] * c.num_outputs if queue is None else component_shapes(queue, c.num_outputs)
    return [concatenate(lead, shape) for shape in shapes]


def _one(c: Inference) -> Sequence[Shape]:
    return _taken(c)


def _many(c: Inference) -> Sequence[Shape]:
    return _taken(c, _count(c))


def _some(c: Inference) -> Sequence[Shape]:
    _count(c)
    return _taken(c, None)


def _count(c: Inference) -> int | None:
    count: int | None = scalar_value(c, 1)
    require(count is None or count >= 0, f"n is {count}", expected="a non-negative number of elements")
    return count


def _entering(c: Inference, many: bool) -> Sequence[Shape]:
    size: int | None = None
    shapes = c.shapes[1:]
    queue = maker_of(c.sources[0], QUEUES)
    declared = [None] * len(shapes) if queue is None else component_shapes(queue, len(shapes))
    for index, (shape, component) in enumerate(zip(shapes, declared)):
        if many and shape is not None:
            require(
                len(shape) > 0,
                f"component {index} is a scalar",
                expected="components with a dimension for the elements",
            )
            require(
                size is None or shape[0] is None or shape[0] == size,
                f"component {index} has {shape[0]} elements, the first has {size}",
                expected="the same number of elements in each component",
            )
            size = shape[0] if size is None else size
            shape = shape[1:]
        require(
            compatible(shape, component),
            f"component {index} has shape {show(shape)}",
            expected=f"{show(component)}, as the queue was created with",
        )
    return []


def _make(name: str, doc: str, **attrs: Any) -> OpDef:
    fields: dict[str, Any] = {"component_types": attr.type_list(1), "shapes": attr.AttrDef("list(shape)", (), None, 0)}
    fields.update(capacity=-1, container="", shared_name="")
    return stateful_op(name, "-> handle: resource", doc, infer=scalar, **{**fields, **attrs})


fifo_queue_op = _make("FIFOQueueV2", "Creates a first-in first-out queue and returns its handle.")
random_shuffle_queue_op = _make(
    "RandomShuffleQueueV2",
    "Creates a queue that dequeues in random order and returns its handle.",
    min_after_dequeue=0,
    seed=0,
    seed2=0,
)
priority_queue_op = _make(
    "PriorityQueueV2",
    "Creates a queue that dequeues the lowest priority first and returns its handle.",
    component_types=attr.type_list(0, ()),
    shapes=attr.AttrDef("list(shape)", attr.REQUIRED, None, 0),
)
padding_fifo_queue_op = _make(
    "PaddingFIFOQueueV2", "Creates a queue that pads elements to one size in dequeue_many and returns its handle."
)

_TYPES = {"component_types": attr.type_list(1), "timeout_ms": -1}
queue_enqueue_op = stateful_op(
    "QueueEnqueueV2",
    "handle: resource, components: list(Tcomponents) ->",
    "Enqueues one element; blocks while the queue is full.",
    Tcomponents=attr.type_list(1),
    timeout_ms=-1,
    waits=True,
    infer=lambda c: _entering(c, many=False),
)
queue_enqueue_many_op = stateful_op(
    "QueueEnqueueManyV2",
    "handle: resource, components: list(Tcomponents) ->",
    "Enqueues several elements in order; blocks while the queue is full.",
    Tcomponents=attr.type_list(1),
    timeout_ms=-1,
    waits=True,
    infer=lambda c: _entering(c, many=True),
)
queue_dequeue_op = stateful_op(
    "QueueDequeueV2",
    "handle: resource -> components: list(component_types)",
    "Dequeues one element; blocks until there is one.",
    **_TYPES,
    waits=True,
    infer=_one,
)
queue_dequeue_many_op = stateful_op(
    "QueueDequeueManyV2",
    "handle: resource, n: int32 -> components: list(component_types)",
    "Dequeues n elements, stacked; blocks until there are enough.",
    **_TYPES,
    host="n",
    waits=True,
    infer=_many,
)
queue_dequeue_up_to_op = stateful_op(
    "QueueDequeueUpToV2",
    "handle: resource, n: int32 -> components: list(component_types)",
    "Dequeues n elements, or the remaining ones of a closed queue.",
    **_TYPES,
    host="n",
    waits=True,
    infer=_some,
)
queue_close_op = stateful_op(
    "QueueCloseV2",
    "handle: resource ->",
    "Closes a queue, after pending enqueue operations unless they are to be cancelled.",
    cancel_pending_enqueues=False,
    waits=True,
    infer=no_outputs,
)
queue_size_op = stateful_op(
    "QueueSizeV2", "handle: resource -> size: int32", "Returns the number of elements in a queue.", infer=scalar
)
queue_is_closed_op = stateful_op(
    "QueueIsClosedV2", "handle: resource -> is_closed: bool", "Returns whether a queue is closed.", infer=scalar
)


def _chosen(c: Inference) -> Sequence[Shape]:
    index = scalar_value(c, 0)
    count = len(c.shapes) - 1
    require(index is None or 0 <= index < count, f"index is {index}", expected=f"one of the {count} handles")
    return [()]


select_handle_op = stateful_op(
    "_SelectHandle",
    "index: int32, handles: N*resource -> handle: resource",
    "Selects one of several handles.",
    host="index",
    infer=_chosen,
)
