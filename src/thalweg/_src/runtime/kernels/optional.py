"""Kernels of optionals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from thalweg._src.base import errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import compatible, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Constant, kernel, plain_kernel
from thalweg._src.runtime.kernels.waiting import failure
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.iterators import IteratorResource
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """The components of an element with their types, or no value."""

    types: tuple[Any, ...] = ()
    components: tuple[Any, ...] | None = None


_NOTHING = OptionalValue()


def _require_optional(value: object) -> OptionalValue:
    if not isinstance(value, OptionalValue):
        raise invalid(f"the variant is not an optional: {value!r}")
    return value


@kernel("OptionalFromValue", devices=("CPU",))
def bind_from_value(node: Node, device: Device) -> Function:
    types = tuple(node.attrs["Toutput_types"])
    return lambda *components: OptionalValue(types, components)


plain_kernel("OptionalNone", devices=("CPU",))(Constant(_NOTHING))
plain_kernel("OptionalHasValue", devices=("CPU",))(
    lambda optional: torch.tensor(_require_optional(optional).components is not None)
)


@kernel("OptionalGetValue", devices=("CPU",))
def bind_get_value(node: Node, device: Device) -> Function:
    types, shapes = tuple(node.attrs["output_types"]), node.attrs["output_shapes"]

    def get(optional: object) -> Any:
        held = _require_optional(optional)
        if held.components is None:
            raise invalid("The given optional does not have a value.")
        if held.types != types:
            actual, asked = (", ".join(dtype.name for dtype in side) for side in (held.types, types))
            raise invalid(f"the optional holds ({actual}), but ({asked}) is requested")
        for index, (value, shape) in enumerate(zip(held.components, shapes)):
            if not compatible(tuple(getattr(value, "shape", ())), shape):
                raise invalid(f"component {index} has shape {show(tuple(value.shape))}, but {show(shape)} is requested")
        return held.components[0] if len(types) == 1 else held.components

    return get


@kernel("IteratorGetNextAsOptional", devices=("CPU",))
def bind_next_as_optional(node: Node, device: Device) -> Function:
    types, fail = tuple(node.attrs["output_types"]), failure(node, device)

    def get_next(step: Step, finish: Function, handle: object) -> None:
        if not isinstance(handle, IteratorResource):
            raise invalid(f"the handle is not an iterator: {handle!r}")
        if handle.types != types:
            actual, asked = (", ".join(dtype.name for dtype in side) for side in (handle.types, types))
            raise invalid(f"the iterator {handle.name!r} has elements of ({actual}), but is used with ({asked})")

        def end(step: Step, error: errors.OpError) -> None:
            if isinstance(error, errors.OutOfRangeError):
                finish(_NOTHING)
            else:
                fail(step, error)

        handle.get_next(step, lambda *components: finish(OptionalValue(types, components)), end)

    return get_next
