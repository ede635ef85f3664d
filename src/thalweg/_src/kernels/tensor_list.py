"""Kernels of tensor lists: immutable linked lists, each either empty or a pair of its predecessor and last element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.kernels.registry import Call, Input, Known, kernel, plain_kernel
from thalweg._src.kernels.types import TORCH
from thalweg._src.resources.devices import Device
from thalweg._src.resources.swap import SwappedTensor, swap_out

List = tuple[Any, ...]
_EMPTY: List = ()


def push(before: List, value: Any) -> List:
    return (before, value)


def pop(elements: List, shape: Any = None) -> List:
    if not elements:
        raise invalid("cannot pop from an empty list")
    return elements


def push_swapped(before: List, value: Any) -> List:
    """Pushes a value that is swapped out of device memory."""
    return (before, swap_out(value))


def pop_back(elements: List) -> List:
    """Pops a value, which may have been swapped out."""
    before, value = pop(elements)
    return (before, value.value() if isinstance(value, SwappedTensor) else value)


plain_kernel("EmptyTensorList")(Known(_EMPTY))


@kernel("TensorListPushBack")
def bind_push(node: Node, device: Device) -> Callable[..., Any]:
    return push_swapped if node.attrs.get("_swap_memory") else push


@kernel("TensorListPopBack")
def bind_pop(node: Node, device: Device) -> Call:
    return Call(pop_back if node.attrs.get("_swap_memory") else pop, (Input(0),))


@kernel("_ListRows")
def bind_rows(node: Node, device: Device) -> Callable[..., Any]:
    nothing = torch.empty((0, node.attrs["width"]), dtype=TORCH[node.dtypes[0]], device=device.torch)

    def rows(elements: List) -> Any:
        return torch.cat(_elements(elements)) if elements else nothing

    return rows


def add_lists(*lists: List) -> List:
    """Adds lists element-wise; an empty one stands for zeros."""
    longest = max(map(_length, lists))
    columns = [_elements(one) for one in lists if one]
    if any(len(column) != longest for column in columns):
        raise invalid("tensor lists of different lengths cannot be added")
    total: List = _EMPTY
    for row in zip(*columns):
        element = row[0]
        for other in row[1:]:
            element = add_lists(element, other) if isinstance(element, tuple) else element + other
        total = (total, element)
    return total


def _length(elements: List) -> int:
    return len(_elements(elements))


def _elements(elements: List) -> list[Any]:
    result = []
    while elements:
        elements, last = elements
        result.append(last.value() if isinstance(last, SwappedTensor) else last)
    return result[::-1]
