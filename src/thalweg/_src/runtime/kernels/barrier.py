"""Kernels of barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.base.formats.objects import object_array
from thalweg._src.base.shapes import compatible, is_fully_defined, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.queues import batches, slices
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.kernels.waiting import failure, require_same, shared, storable
from thalweg._src.runtime.resources.barrier import Barrier
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]


@kernel("Barrier", devices=("CPU",))
def bind_barrier(node: Node, device: Device) -> Constant:
    types, shapes, capacity = (node.attrs[key] for key in ("component_types", "shapes", "capacity"))
    if shapes and len(shapes) != len(types):
        raise invalid(f"{len(types)} component types, but {len(shapes)} shapes")
    for index, shape in enumerate(shapes):
        if not is_fully_defined(shape) or 0 in shape:
            raise invalid(f"component {index} has shape {show(shape)}, expected a fully defined one that is not empty")
    if capacity != -1:
        raise invalid(f"capacity is {capacity}: a barrier is unbounded, expected -1")
    barrier = shared(node, device, "barrier", lambda name: Barrier(name, types, tuple(shapes), capacity))
    actual = {"component types": barrier.dtypes, "shapes": barrier.shapes}
    require_same(barrier, {"component types": types, "shapes": shapes}, actual)
    return Constant(barrier)


def _require(handle: object) -> Barrier:
    if not isinstance(handle, Barrier):
        raise invalid(f"the handle is not a barrier: {handle!r}")
    return handle


@kernel("BarrierInsertMany", devices=("CPU",))
def bind_insert(node: Node, device: Device) -> Function:
    component, dtype = node.attrs["component_index"], node.attrs["T"]

    def insert(handle: object, keys: TensorValue, values: TensorValue) -> None:
        barrier = _require(handle)
        if not 0 <= component < len(barrier.dtypes):
            raise invalid(f"component_index is {component}, {barrier} has {len(barrier.dtypes)} components")
        if barrier.dtypes[component] is not dtype:
            raise invalid(f"component {component} of {barrier} is {barrier.dtypes[component].name}, not {dtype.name}")
        if keys.ndim != 1 or not values.ndim or len(keys) != len(values):
            raise invalid(
                f"keys has shape {show(tuple(keys.shape))}, values {show(tuple(values.shape))}: "
                "expected one value per key"
            )
        if barrier.shapes and not compatible(barrier.shapes[component], tuple(values.shape[1:])):
            raise invalid(
                f"Shape mismatch in component {component} of {barrier}. Expected {show(barrier.shapes[component])}, "
                f"got {show(tuple(values.shape[1:]))}"
            )
        barrier.insert(component, keys.tolist(), slices(storable(values), apart=True))

    return insert


@kernel("BarrierTakeMany", devices=("CPU",))
def bind_take(node: Node, device: Device) -> Function:
    types, allow_small, fail = node.attrs["component_types"], node.attrs["allow_small_batch"], failure(node, device)
    if node.attrs["timeout_ms"] != -1:
        raise invalid(f"timeout_ms is {node.attrs['timeout_ms']}: only -1 is supported; use the timeout of the step")

    def take(step: Step, finish: Function, handle: object, num_elements: torch.Tensor) -> None:
        barrier = _require(handle)
        if barrier.dtypes != types:
            raise invalid(f"{barrier} has components of {barrier.dtypes}, but is used with {types}")
        if num_elements.ndim or int(num_elements) < 0:
            raise invalid(f"num_elements is {num_elements.tolist()}, expected a non-negative integer")

        def join(elements: list[Any]) -> None:
            shapes = barrier.shapes or ((),) * len(types)
            try:
                values = batches([element[2:] for element in elements], types, shapes, False)
            except Exception as error:
                fail(step, invalid(f"elements of {barrier} cannot be stacked: {error}"))
                return
            indices = torch.tensor([element[0] for element in elements], dtype=torch.int64)
            finish(indices, object_array([element[1] for element in elements], (len(elements),)), *values)

        barrier.take(int(num_elements), allow_small, step, join, fail)

    return take


@kernel("BarrierClose", devices=("CPU",))
def bind_close(node: Node, device: Device) -> Function:
    cancel = node.attrs["cancel_pending_enqueues"]
    return lambda handle: _require(handle).close(cancel)


plain_kernel("BarrierReadySize", devices=("CPU",))(
    lambda handle: torch.tensor(_require(handle).ready_size(), dtype=torch.int32)
)
plain_kernel("BarrierIncompleteSize", devices=("CPU",))(
    lambda handle: torch.tensor(_require(handle).incomplete_size(), dtype=torch.int32)
)
