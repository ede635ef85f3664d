"""Kernels of tensor lists: immutable linked lists, each either empty or a pair of its predecessor and last element.

Elements are read and set by index in an IndexedList, which may also be the first part of a linked list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base import shapes
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import Shape
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Constant, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH, TensorValue
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.swap import SwappedTensor, swap_out

List = tuple[Any, ...]
_EMPTY: List = ()


class IndexedList(list[Any]):
    """A list whose elements are set by index; it is copied when one is set. Elements that were not set are None.

    shape: the shape of the elements, None where it is unknown
    """

    __slots__ = ("shape",)

    def __init__(self, elements: Iterable[Any], shape: Shape) -> None:
        super().__init__(elements)
        self.shape = shape


def push(before: List, value: object) -> List:
    return (before, value)


def pop(elements: List, shape: torch.Tensor | None = None) -> List:
    if not elements:
        raise invalid("cannot pop from an empty list")
    if isinstance(elements, IndexedList):
        return (IndexedList(elements[:-1], elements.shape), elements[-1])
    return elements


def push_swapped(before: List, value: object) -> List:
    """Pushes a value that is swapped out of device memory."""
    return (before, swap_out(value))


def pop_back(elements: List) -> List:
    """Pops a value, which may have been swapped out."""
    before, value = pop(elements)
    return (before, value.value() if isinstance(value, SwappedTensor) else value)


plain_kernel("EmptyTensorList")(Constant(_EMPTY))


@kernel("TensorListPushBack")
def bind_push(node: Node, device: Device) -> Callable[..., Any]:
    return push_swapped if node.attrs.get("_swap_memory") else push


@kernel("TensorListPopBack")
def bind_pop(node: Node, device: Device) -> Callable[..., Any] | Call:
    function = pop_back if node.attrs.get("_swap_memory") else pop
    if not node.attrs.get("_or_zeros"):
        return Call(function, (Input(0),))
    dtype = node.dtypes[1]

    def pop_or_zeros(elements: List, shape: torch.Tensor) -> List:
        if elements:
            return function(elements)
        is_list = dtype not in TORCH
        return _EMPTY, _EMPTY if is_list else torch.zeros(shape.tolist(), dtype=TORCH[dtype], device=device.torch)

    return pop_or_zeros


@kernel("_ListRows")
def bind_rows(node: Node, device: Device) -> Callable[..., Any]:
    nothing = torch.empty((0, node.attrs["width"]), dtype=TORCH[node.dtypes[0]], device=device.torch)

    def rows(elements: List) -> Any:
        return torch.cat(_elements(elements)) if elements else nothing

    return rows


def add_lists(*lists: Any) -> Any:
    """Adds lists element-wise; an empty one stands for zeros, and so does an element that was not set."""
    longest = max(map(_length, lists))
    columns = [_elements(one) for one in lists if one]
    if any(len(column) != longest for column in columns):
        raise invalid("tensor lists of different lengths cannot be added")
    total = [_sum(row) for row in zip(*columns)]
    indexed = next((one for one in lists if isinstance(one, IndexedList)), None)
    return _linked(total) if indexed is None else IndexedList(total, indexed.shape)


def _sum(row: Sequence[Any]) -> Any:
    present = [element for element in row if element is not None]
    total = present[0] if present else None
    for other in present[1:]:
        total = add_lists(total, other) if is_list(total) else total + other
    return total


def _linked(elements: Iterable[Any]) -> List:
    result: List = _EMPTY
    for element in elements:
        result = (result, element)
    return result


def is_list(value: object) -> bool:
    return isinstance(value, tuple | IndexedList)


def map_tensors(function: Callable[[torch.Tensor], Any], value: object) -> Any:
    """Applies a function to a tensor, or to every tensor of a list."""
    if isinstance(value, torch.Tensor):
        return function(value)
    if not is_list(value):
        return value
    mapped = [map_tensors(function, element) for element in _elements(value)]
    return IndexedList(mapped, value.shape) if isinstance(value, IndexedList) else _linked(mapped)


def _length(elements: object) -> int:
    return len(_elements(elements))


def _elements(elements: Any) -> list[Any]:
    result = []
    while elements and not isinstance(elements, IndexedList):
        elements, last = elements
        result.append(last.value() if isinstance(last, SwappedTensor) else last)
    return [*elements, *result[::-1]]


# -- elements by index ------------------------------------------------------------------------------------------------


def _indexed(elements: object) -> IndexedList:
    return elements if isinstance(elements, IndexedList) else IndexedList(_elements(elements), None)


def _shape(value: TensorValue) -> Shape:
    """Returns the shape that a tensor describes: a vector, or -1 for an unknown rank."""
    sizes = value.tolist()
    return tuple(None if size < 0 else size for size in sizes) if isinstance(sizes, list) else None


@kernel("TensorListReserve")
def bind_reserve(node: Node, device: Device) -> Callable[..., Any]:
    def reserve(shape: torch.Tensor, count: Any) -> IndexedList:
        if int(count) < 0:
            raise invalid(f"a list cannot have {int(count)} elements")
        return IndexedList([None] * int(count), _shape(shape))

    return reserve


@plain_kernel("TensorListFromTensor")
def from_tensor(tensor: Any, shape: torch.Tensor) -> IndexedList:
    if tensor.ndim == 0:
        raise invalid("a list is made of a tensor with at least one dimension, not of a scalar")
    return IndexedList(_slices(tensor), _shape(shape) or tuple(tensor.shape[1:]))


def _slices(tensor: TensorValue) -> list[Any]:
    """Returns the slices of a tensor along its first dimension; those of a vector of strings are arrays, too."""
    return [np.asarray(row, object) for row in tensor] if isinstance(tensor, np.ndarray) else list(tensor)


@plain_kernel("TensorListLength")
def length(elements: object) -> Any:
    return torch.tensor(_length(elements), dtype=torch.int32)


@kernel("TensorListElementShape")
def bind_element_shape(node: Node, device: Device) -> Callable[..., Any]:
    def element_shape(elements: object) -> Any:
        shape = _indexed(elements).shape
        sizes: Any = -1 if shape is None else [-1 if size is None else size for size in shape]
        return torch.tensor(sizes, dtype=TORCH[node.dtypes[0]])

    return element_shape


@plain_kernel("TensorListResize")
def resize(elements: object, size: torch.Tensor) -> IndexedList:
    items, count = _indexed(elements), int(size)
    if count < 0:
        raise invalid(f"a list cannot have {count} elements")
    return IndexedList([*items[:count], *[None] * (count - len(items))], items.shape)


def _place(elements: IndexedList, index: torch.Tensor) -> int:
    place = int(index)
    if not 0 <= place < len(elements):
        raise invalid(f"Trying to access element {place} in a list with {len(elements)} elements.")
    return place


@kernel("TensorListSetItem")
def bind_set_item(node: Node, device: Device) -> Callable[..., Any]:
    grows = node.attrs["resize_if_index_out_of_bounds"]

    def set_item(elements: object, index: torch.Tensor, item: object) -> IndexedList:
        items = _indexed(elements)
        missing = int(index) + 1 - len(items) if grows else 0
        result = IndexedList([*items, *[None] * missing], items.shape)
        result[_place(result, index)] = item
        return result

    return set_item


def _filled(elements: Iterable[Any], declared: Shape, shape: Shape, node: Node, device: Device) -> list[Any]:
    """Returns elements with zeros for those that were not set, whose shape must follow from what is known."""
    result = list(elements)
    if any(element is None for element in result):
        present = next((tuple(element.shape) for element in result if element is not None), None)
        sizes: Any = shapes.merge(shapes.merge(declared, shape), present)
        if not shapes.is_fully_defined(sizes):
            raise invalid("Trying to read an element of a list that was not set, and whose shape is not fully defined.")
        zeros = (
            torch.zeros(sizes, dtype=TORCH[node.dtypes[0]], device=device.torch)
            if node.dtypes[0] in TORCH
            else np.full(sizes, b"", dtype=object)
        )
        result = [zeros if element is None else element for element in result]
    return result


def _stack(elements: Sequence[Any], shape: Shape, node: Node, device: Device) -> Any:
    if not elements:
        if not shapes.is_fully_defined(shape):
            raise invalid("Tried to stack a list with no elements, whose element shape is not fully defined.")
        sizes: Any = [0, *(shape or ())]
        is_text = node.dtypes[0] not in TORCH
        return (
            np.empty(sizes, object) if is_text else torch.empty(sizes, dtype=TORCH[node.dtypes[0]], device=device.torch)
        )
    if any(tuple(element.shape) != tuple(elements[0].shape) for element in elements):
        raise invalid("Tried to stack elements of a list that have different shapes.")
    return np.stack(elements) if isinstance(elements[0], np.ndarray) else torch.stack(list(elements))


@kernel("TensorListGetItem")
def bind_get_item(node: Node, device: Device) -> Callable[..., Any]:
    def get_item(elements: object, index: torch.Tensor, shape: torch.Tensor) -> Any:
        items = _indexed(elements)
        item = items[_place(items, index)]
        return _filled([item], items.shape, _shape(shape), node, device)[0] if item is None else item

    return get_item


@kernel("TensorListStack")
def bind_stack(node: Node, device: Device) -> Callable[..., Any]:
    count = node.attrs["num_elements"]

    def stack(elements: object, shape: torch.Tensor) -> Any:
        items, asked = _indexed(elements), _shape(shape)
        if count not in (-1, len(items)):
            raise invalid(f"Operation expected a list with {count} elements but got a list with {len(items)} elements.")
        return _stack(_filled(items, items.shape, asked, node, device), shapes.merge(items.shape, asked), node, device)

    return stack


@kernel("TensorListGather")
def bind_gather(node: Node, device: Device) -> Callable[..., Any]:
    def gather(elements: object, indices: torch.Tensor, shape: torch.Tensor) -> Any:
        items, asked = _indexed(elements), _shape(shape)
        chosen = [items[_place(items, index)] for index in indices.tolist()]
        return _stack(_filled(chosen, items.shape, asked, node, device), shapes.merge(items.shape, asked), node, device)

    return gather


@plain_kernel("TensorListScatterV2")
def scatter(tensor: torch.Tensor, indices: torch.Tensor, shape: torch.Tensor, count: torch.Tensor) -> IndexedList:
    places = indices.tolist()
    if len(places) != len(tensor):
        raise invalid(f"Expected one index for each of the {len(tensor)} slices, received {len(places)}.")
    longest = max([int(count), *(place + 1 for place in places)])
    if int(count) >= 0 and longest > int(count):
        raise invalid(f"Trying to scatter to index {longest - 1}, but the list has {int(count)} elements.")
    result = IndexedList([None] * max(longest, 0), _shape(shape))
    for place, item in zip(places, _slices(tensor)):
        result[_place(result, place)] = item
    return result


@kernel("TensorListConcatV2")
def bind_concat(node: Node, device: Device) -> Callable[..., Any]:
    def concat(elements: object, shape: torch.Tensor, leading: torch.Tensor) -> Any:
        items, asked = _indexed(elements), _shape(shape)
        rows = _filled(items, items.shape, asked, node, device)
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
        if not rows:
            rest = shapes.merge(items.shape, asked)
            rows = [_stack([], None if rest is None else rest[1:], node, device)]
        return (np.concatenate if isinstance(rows[0], np.ndarray) else torch.cat)(rows), lengths

    return concat


@plain_kernel("TensorListSplit")
def split(tensor: Any, shape: torch.Tensor, lengths: torch.Tensor) -> IndexedList:
    sizes = lengths.tolist()
    if any(size < 0 for size in sizes) or sum(sizes) != len(tensor):
        raise invalid(f"lengths has sum {sum(sizes)}, but the tensor has {len(tensor)} rows.")
    ends = np.cumsum(sizes).tolist()
    return IndexedList([tensor[end - size : end] for size, end in zip(sizes, ends)], _shape(shape))
