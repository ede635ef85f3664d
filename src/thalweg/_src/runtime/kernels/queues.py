"""Kernels of queues: elements are stored as enqueued, and stacked or padded when many are dequeued."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import Shape, compatible, is_fully_defined, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH, TensorValue
from thalweg._src.runtime.kernels.waiting import failure, require_same, shared, storable
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.queues import ByPriority, Element, InOrder, Queue, Shuffled, Store
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]

# -- handles ----------------------------------------------------------------------------------------------------------


def _bind_queue(node: Node, device: Device, make_store: Callable[[], Store], **traits: object) -> Constant:
    attrs, kind = node.attrs, node.type.removesuffix("V2")
    types, shapes, capacity = attrs["component_types"], attrs["shapes"], attrs["capacity"]
    if shapes and len(shapes) != len(types):
        raise invalid(f"{len(types)} component types, but {len(shapes)} shapes")
    component_shapes = tuple(shapes) if shapes or not types else None
    if component_shapes is not None:
        _require_shapes(component_shapes, partly="Padding" in kind)
    if "Priority" in kind:
        types = (dtypes.int64, *types)
        component_shapes = None if component_shapes is None else ((), *component_shapes)
    requested = {"kind": kind, "component types": types, "shapes": component_shapes, "capacity": capacity, **traits}

    def make(name: str) -> Queue:
        return Queue(name, kind, make_store(), types, component_shapes, capacity, tuple(traits.items()))

    queue = shared(node, device, "queue", make)
    actual = {"kind": queue.kind, "component types": queue.dtypes, "shapes": queue.shapes, "capacity": queue.capacity}
    require_same(queue, requested, {**dict.fromkeys(traits), **actual, **dict(queue.traits)})
    return Constant(queue)


def _require_shapes(shapes: Sequence[Shape], partly: bool) -> None:
    for index, shape in enumerate(shapes):
        if shape is None or not (partly or is_fully_defined(shape)):
            expected = "a shape of known rank" if partly else "a fully defined shape"
            raise invalid(f"component {index} has shape {show(shape)}, expected {expected}")


@kernel("FIFOQueueV2", "PaddingFIFOQueueV2", devices=("CPU",))
def bind_fifo(node: Node, device: Device) -> Constant:
    if node.type == "PaddingFIFOQueueV2" and not node.attrs["shapes"]:
        raise invalid("a padding queue must know the rank of each component: shapes is missing")
    return _bind_queue(node, device, InOrder)


@kernel("PriorityQueueV2", devices=("CPU",))
def bind_priority(node: Node, device: Device) -> Constant:
    return _bind_queue(node, device, ByPriority)


@kernel("RandomShuffleQueueV2", devices=("CPU",))
def bind_shuffle(node: Node, device: Device) -> Constant:
    stay, capacity = node.attrs["min_after_dequeue"], node.attrs["capacity"]
    if stay < 0:
        raise invalid(f"min_after_dequeue is {stay}, expected at least 0")
    if 0 <= capacity <= stay:
        raise invalid(f"min_after_dequeue is {stay}, expected less than the capacity {capacity}")
    seed = node.attrs["seed"] % (1 << 64), node.attrs["seed2"] % (1 << 64)
    return _bind_queue(node, device, lambda: Shuffled(stay, seed), min_after_dequeue=stay)


def require_queue(handle: object) -> Queue:
    if not isinstance(handle, Queue):
        raise invalid(f"the handle is not a queue: {handle!r}")
    return handle


def _checked(node: Node, key: str) -> Callable[[Any], Queue]:
    """Returns the check that a handle is a queue, with the component types of the op."""
    types = node.attrs[key]
    if node.attrs["timeout_ms"] != -1:
        raise invalid(f"timeout_ms is {node.attrs['timeout_ms']}: only -1 is supported; use the timeout of the step")

    def check(handle: object) -> Queue:
        queue = require_queue(handle)
        if queue.dtypes != types:
            actual, asked = (", ".join(dtype.name for dtype in side) for side in (queue.dtypes, types))
            raise invalid(f"{queue} has elements of ({actual}), but is used with ({asked})")
        return queue

    return check


# -- in ---------------------------------------------------------------------------------------------------------------


def _require_fit(queue: Queue, index: int, shape: tuple[int, ...]) -> None:
    if queue.shapes is not None and queue.shapes[index] != shape and not compatible(queue.shapes[index], shape):
        raise invalid(
            f"component {index} does not fit into {queue}: "
            f"Shape mismatch in tuple component {index}. Expected {show(queue.shapes[index])}, got {show(shape)}"
        )


@kernel("QueueEnqueueV2", devices=("CPU",))
def bind_enqueue(node: Node, device: Device) -> Function:
    check, fail = _checked(node, "Tcomponents"), failure(node, device)

    def enqueue(step: Step, finish: Function, handle: object, *components: TensorValue) -> None:
        queue = check(handle)
        if queue.shapes is not None:
            for index, component in enumerate(components):
                if component.shape != queue.shapes[index]:
                    _require_fit(queue, index, tuple(component.shape))
        queue.enqueue(tuple([storable(component) for component in components]), step, finish, fail)

    return enqueue


@kernel("QueueEnqueueManyV2", devices=("CPU",))
def bind_enqueue_many(node: Node, device: Device) -> Function:
    check, fail = _checked(node, "Tcomponents"), failure(node, device)

    def enqueue_many(step: Step, finish: Function, handle: object, *components: TensorValue) -> None:
        queue = check(handle)
        for index, component in enumerate(components):
            if not component.ndim:
                raise invalid(f"component {index} for {queue} is a scalar, expected a dimension for the elements")
            if component.shape[0] != components[0].shape[0]:
                raise invalid(
                    f"component {index} for {queue} has {component.shape[0]} elements, "
                    f"component 0 has {components[0].shape[0]}"
                )
            _require_fit(queue, index, tuple(component.shape[1:]))
        # Elements dequeued in the order of their batch may share its memory; others would keep it alive too long.
        in_order = "FIFO" in queue.kind
        elements = list(zip(*[slices(storable(component), apart=not in_order) for component in components]))
        queue.enqueue_many(elements, step, finish, fail)

    return enqueue_many


def slices(batch: TensorValue, apart: bool) -> Sequence[Any]:
    """Returns the elements of a batch, with their own memory if they are to be stored separately."""
    if isinstance(batch, torch.Tensor):
        elements: Sequence[torch.Tensor] = batch.unbind(0)
        return [element.clone() for element in elements] if apart else elements
    if batch.ndim > 1:
        return list(batch)
    return [np.array(text, dtype=object) for text in batch.tolist()]


# -- out --------------------------------------------------------------------------------------------------------------


@kernel("QueueDequeueV2", devices=("CPU",))
def bind_dequeue(node: Node, device: Device) -> Function:
    check, fail = _checked(node, "component_types"), failure(node, device)

    def dequeue(step: Step, finish: Function, handle: object) -> None:
        check(handle).dequeue(step, finish, fail)

    return dequeue


@kernel("QueueDequeueManyV2", "QueueDequeueUpToV2", devices=("CPU",))
def bind_dequeue_many(node: Node, device: Device) -> Function:
    check, fail = _checked(node, "component_types"), failure(node, device)
    allow_small = node.type == "QueueDequeueUpToV2"

    def dequeue_many(step: Step, finish: Function, handle: object, n: torch.Tensor) -> None:
        queue = check(handle)
        if n.ndim:
            raise invalid(f"n has shape {show(tuple(n.shape))}, expected a scalar")
        count = int(n)
        if count < 0:
            raise invalid(f"requested {count} elements of {queue}, expected at least 0")
        if queue.shapes is None:
            raise invalid(f"{queue} was created without shapes: dequeuing many elements requires known shapes")

        def join(elements: list[Element]) -> None:
            try:
                results = batches(elements, queue.dtypes, queue.shapes or (), "Padding" in queue.kind)
            except Exception as error:
                fail(step, invalid(f"elements of {queue} cannot be stacked: {error}"))
                return
            finish(*results)

        if count:
            queue.dequeue_many(count, allow_small, step, join, fail)
        else:
            join([])

    return dequeue_many


def batches(elements: list[Element], types: Sequence[DType], shapes: Sequence[Shape], pad: bool) -> list[Any]:
    """Returns each component of all elements, stacked; smaller ones are padded if allowed."""
    result = []
    for dtype, shape, components in zip(types, shapes, zip(*elements) if elements else [()] * len(types)):
        if pad and shape is not None and None in shape:
            result.append(_padded(components, dtype, tuple(size or 0 for size in shape)))
        elif dtype is dtypes.string:
            result.append(_stacked_strings(components, shape))
        elif components:
            result.append(torch.stack(components))
        else:
            result.append(torch.empty((0, *shape), dtype=TORCH[dtype]))  # type: ignore[misc]
    return result


def _stacked_strings(components: Sequence[Any], shape: Shape) -> Any:
    result = np.empty((len(components), *(components[0].shape if components else shape or ())), dtype=object)
    for index, component in enumerate(components):
        result[index] = component.item() if component.ndim == 0 else component
    return result


def _padded(components: Sequence[Any], dtype: DType, least: tuple[int, ...]) -> Any:
    shape = (len(components), *map(max, zip(least, *[component.shape for component in components])))
    if dtype is dtypes.string:
        result: Any = np.full(shape, b"", dtype=object)
    else:
        result = torch.zeros(shape, dtype=TORCH[dtype])
    for index, component in enumerate(components):
        result[(index, *map(slice, component.shape))] = component
    return result


@kernel("QueueCloseV2", devices=("CPU",))
def bind_close(node: Node, device: Device) -> Function:
    cancel, fail = node.attrs["cancel_pending_enqueues"], failure(node, device)

    def close(step: Step, finish: Function, handle: object) -> None:
        require_queue(handle).close(cancel, step, finish, fail)

    return close


plain_kernel("QueueSizeV2", devices=("CPU",))(
    lambda handle: torch.tensor(require_queue(handle).size(), dtype=torch.int32)
)
plain_kernel("QueueIsClosedV2", devices=("CPU",))(lambda handle: torch.tensor(require_queue(handle).is_closed))


@plain_kernel("_SelectHandle", devices=("CPU",))
def _select_handle(index: torch.Tensor, *handles: object) -> Any:
    if index.ndim or not 0 <= int(index) < len(handles):
        raise invalid(f"index is {index.tolist()}, expected one of the {len(handles)} handles")
    return handles[int(index)]
