"""Kernels of NCCL ops: the tensors of several devices are reduced at one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import compatible, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.step import Step

Function = Callable[..., Any]
_REDUCTIONS: dict[str, Function] = {
    "sum": torch.add,
    "prod": torch.mul,
    "min": torch.minimum,
    "max": torch.maximum,
}


@kernel("NcclAllReduce")
def bind_alone(node: Node, device: Device) -> Function:
    """Returns the kernel of a group of one device; larger groups are lowered."""
    if node.attrs["num_devices"] != 1:
        raise invalid("NcclAllReduce in unstructured control flow cannot run")

    def alone(step: Step, finish: Function, value: object) -> None:
        finish(value)

    return alone


@kernel("NcclReduce")
def bind_reduce(node: Node, device: Device) -> Function:
    combine = _REDUCTIONS[node.attrs["reduction"]]

    def reduced(*values: object) -> Any:
        return reduce(combine, values)

    return reduced


@kernel("NcclBroadcast")
def bind_broadcast(node: Node, device: Device) -> Function:
    shape = node.attrs["shape"]

    def same(value: TensorValue) -> Any:
        if not compatible(tuple(value.shape), shape):
            raise invalid(f"the shape {list(value.shape)} of the input is not that of the broadcast, {show(shape)}")
        return value

    return same
