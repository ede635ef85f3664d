"""Kernels of collectives: of groups of one member, and of what the members at several tasks do together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import compatible, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import STEP, Call, Input, kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.kernels.waiting import failure
from thalweg._src.runtime.resources.collectives import Action, Collectives, Group, Pending
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]
_use_count = torch._C._storage_Use_Count


@kernel("CollectiveReduce", "CollectiveGather", "CollectiveBcastSend", "CollectiveBcastRecv")
def bind_alone(node: Node, device: Device) -> Function:
    """Returns the kernel of a group of one member; larger groups are lowered."""
    if node.attrs["group_size"] != 1 or not node.inputs:
        raise invalid("collectives in unstructured control flow cannot run")
    shape = node.attrs.get("shape")

    def alone(step: Step, finish: Function, value: torch.Tensor) -> None:
        if node.type == "CollectiveBcastSend" and not compatible(tuple(value.shape), shape):
            raise invalid(f"the shape {list(value.shape)} of the input is not that of the broadcast, {show(shape)}")
        if node.type == "CollectiveGather" and not value.dim():
            raise invalid("a scalar cannot be gathered; expected rank 1 or more")
        finish(value)

    return alone


def _group(node: Node, device: Device) -> tuple[Collectives, Group]:
    if device.collectives is None:
        raise invalid("its group has members at other tasks, and this session is not connected to a server")
    return device.collectives, Group(*(node.attrs[key] for key in ("group_key", "group_size", "local_size")))


@kernel("_CollectiveBegin")
def bind_begin(node: Node, device: Device) -> Call:
    (collectives, group), fail = _group(node, device), failure(node, device)
    plan, count = node.attrs["plan"], node.attrs["count"]

    def begin(step: Step) -> None:
        collectives.begin(group, step, plan, count, fail)

    return Call(begin, (STEP,))


@kernel("_CollectiveStart")
def bind_start(node: Node, device: Device) -> Call:
    (collectives, group), fail = _group(node, device), failure(node, device)
    attrs, dtype, where = node.attrs, TORCH[node.attrs["dtype"]], device.torch
    kind, is_planned = attrs["action"], attrs["is_planned"]
    divisor = group.size if attrs["final_op"] == "Div" else 1
    shape, bucket = attrs["shape"], _Bucket()
    if kind == "receive" and (shape is None or None in shape):
        raise invalid(f"the shape of a broadcast must be known, received {show(shape)}")

    def start(step: Step, *values: torch.Tensor) -> _Started:
        shapes = [value.shape for value in values]
        if kind == "reduce":
            buffer = values[0] if attrs["is_owned"] and _is_alone(values[0]) else bucket.fill(values)
        elif kind == "receive":
            shapes = [torch.Size(shape)]
            buffer = torch.empty(shape, dtype=dtype, device=where)
        else:
            buffer = values[0].contiguous()
        plan = "" if is_planned else _describe(node, shapes)
        pending = collectives.start(group, step, Action(kind, attrs["merge_op"], plan), buffer, fail)
        return _Started(pending, shapes if kind != "gather" else [torch.Size([-1, *shapes[0][1:]])], divisor)

    return Call(start, (STEP, *(Input(index) for index in range(len(node.inputs)))))


def _describe(node: Node, shapes: Sequence[torch.Size]) -> str:
    """Returns what all tasks have to agree on, for a collective whose shapes the plan of the step does not contain."""
    attrs = node.attrs
    kind = "broadcast" if attrs["action"] in ("send", "receive") else attrs["action"]
    what = [f"{kind} {','.join(map(str, attrs['instance_keys']))}: {attrs['dtype'].name}"]
    what += [str(list(shape)) for shape in shapes]
    return " ".join([*what, attrs["merge_op"], attrs["final_op"], f"in a group of {attrs['group_size']}"])


def _is_alone(value: torch.Tensor) -> bool:
    """Returns whether no other tensor has the memory of one that only this kernel uses."""
    storage = value.untyped_storage()
    return value.is_contiguous() and storage.resizable() and _use_count(storage._cdata) == 2


class _Bucket:
    """The buffer of a bucket, which the next step uses again if nothing refers to its memory any more.

    New pages take several times as long as copying.
    """

    __slots__ = ("_free",)

    def __init__(self) -> None:
        self._free: list[torch.Tensor] = []  # taken out while it is filled, since steps may run at the same time

    def fill(self, values: Sequence[torch.Tensor]) -> torch.Tensor:
        """Returns the values, flat, in one tensor."""
        flat = [value.reshape(-1) for value in values]
        buffer = self._free.pop() if self._free else None
        if buffer is None or buffer.numel() != sum(vector.numel() for vector in flat) or not _is_alone(buffer):
            buffer = torch.cat(flat) if len(flat) > 1 else flat[0].clone()
        elif len(flat) > 1:
            torch.cat(flat, out=buffer)
        else:
            buffer.copy_(flat[0])  # a few percent faster
        filled = buffer.view(-1)  # a tensor of its own, so that its users count as users of the memory
        if buffer.device.type == "cpu":
            self._free = [buffer]
        return filled


class _Started:
    """A collective that has started, and what its result consists of."""

    __slots__ = ("_divisor", "_pending", "_shapes")

    def __init__(self, pending: Pending, shapes: Sequence[torch.Size], divisor: int) -> None:
        self._pending = pending
        self._shapes = shapes
        self._divisor = divisor

    def wait(self, finish: Function) -> None:
        def arrive(result: torch.Tensor) -> None:
            if self._divisor != 1:
                result.div_(self._divisor, rounding_mode=None if result.is_floating_point() else "trunc")
            finish(*self._split(result))

        self._pending.wait(arrive)

    def _split(self, result: torch.Tensor) -> list[torch.Tensor]:
        shapes = self._shapes
        if len(shapes) == 1:
            return [result.view(shapes[0])]
        pieces = torch.split_with_sizes(result, [shape.numel() for shape in shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, shapes)]


@kernel("_CollectiveWait")
def bind_wait(node: Node, device: Device) -> Function:
    def wait(step: Step, finish: Function, started: _Started) -> None:
        started.wait(finish)

    return wait
