"""Kernels of stacks: Python lists with a maximum size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.resources.devices import Device


class Items:
    """The values of one stack in one step."""

    __slots__ = ("limit", "name", "values")

    def __init__(self, limit: int, name: str) -> None:
        self.limit = limit
        self.name = name
        self.values: list[Any] = []


def _require_stack(handle: object) -> None:
    if type(handle) is not Items:
        raise invalid("the handle is not a stack")


@plain_kernel("StackPushV2")
def _push(stack: Items, value: object) -> Any:
    _require_stack(stack)
    if 0 <= stack.limit <= len(stack.values):
        raise invalid(f"stack {stack.name!r} is full: it holds {len(stack.values)} values")
    stack.values.append(value)
    return value


@plain_kernel("StackPopV2")
def _pop(stack: Items) -> Any:
    _require_stack(stack)
    if not stack.values:
        raise invalid(f"stack {stack.name!r} is empty")
    return stack.values.pop()


@plain_kernel("StackCloseV2")
def _close(stack: Items) -> None:
    _require_stack(stack)
    stack.values.clear()


@kernel("StackV2")
def bind_stack(node: Node, device: Device) -> Callable[[Any], Items]:
    name = node.attrs["stack_name"] or node.name

    def make(max_size: torch.Tensor) -> Items:
        return Items(int(max_size), name)

    return make
