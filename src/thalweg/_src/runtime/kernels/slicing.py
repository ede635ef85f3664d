"""Kernels of slicing."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from thalweg._src.base.shapes import Shape, is_fully_defined, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.graph.ops.slicing import Item, index_of, items_of
from thalweg._src.runtime.kernels.registry import Call, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.reshape import STRINGS, Function, flip, flip_function
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device


def _slice_index(shape: Sequence[int], begin: Sequence[int], size: Sequence[int]) -> tuple[builtins.slice, ...]:
    """Returns the index of a Slice, after checking its bounds, which torch would clamp silently."""
    require(
        len(begin) == len(size) == len(shape),
        f"begin {list(begin)} and size {list(size)} for shape {show(tuple(shape))}",
    )
    index = []
    for axis, (dim, first, count) in enumerate(zip(shape, begin, size)):
        last = dim if count == -1 else first + count
        require(
            0 <= first <= last <= dim,
            f"begin[{axis}] is {first} and size[{axis}] is {count}",
            expected=f"a part of dimension {axis} of size {dim}",
        )
        index.append(builtins.slice(first, last))
    return tuple(index)


@kernel("Slice")
def bind_slice(node: Node, device: Device) -> Function | Call:
    shape, begin, size = node.input_shape(0), node.constant(1), node.constant(2)
    if is_fully_defined(shape) and begin is not None and size is not None:
        return Call(operator.getitem, (Input(0), _slice_index(shape, begin.tolist(), size.tolist())))  # type: ignore[arg-type]
    return _slice


@plain_kernel("Slice", **STRINGS)
def _slice(value: TensorValue, begin: torch.Tensor, size: torch.Tensor) -> Any:
    return value[_slice_index(value.shape, begin.tolist(), size.tolist())]


def forward_index(items: Sequence[Item], shape: Sequence[int | None]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Returns an index with positive steps, as torch requires, and the dimensions of its result to reverse."""
    forward: list[Item] = []
    flipped: list[int] = []
    axis = dimension = 0
    for item in items:
        if item.kind == "range" and item.stride < 0:
            size = shape[axis]
            assert size is not None
            positions = range(*builtins.slice(item.begin, item.end, item.stride).indices(size))
            if positions:
                item = Item("range", positions[-1], positions[0] + 1, -item.stride)
                flipped.append(dimension)
            else:
                item = Item("range", 0, 0)
        forward.append(item)
        axis += item.kind != "new"
        dimension += item.kind != "index"
    return index_of(forward), tuple(flipped)


def _constant_items(node: Node, start: int, shape: Shape) -> list[Item] | None:
    begin, end, strides = (node.constant(i) for i in range(start, start + 3))
    if shape is None or begin is None or end is None or strides is None:
        return None
    items = items_of(node.attrs, begin.tolist(), end.tolist(), strides.tolist(), len(shape))
    backward = any(item.kind == "range" and item.stride < 0 for item in items)
    return None if backward and None in shape else items


@kernel("StridedSlice")
def bind_strided_slice(node: Node, device: Device) -> Function | Call:
    shape, attrs = node.input_shape(0), node.attrs
    items = _constant_items(node, 1, shape)
    if items is not None:
        index, flipped = forward_index(items, shape)  # type: ignore[arg-type]
        sliced = Call(operator.getitem, (Input(0), index))
        return Call(flip_function(node), (sliced, flipped)) if flipped else sliced

    def strided_slice(
        value: torch.Tensor, begin: torch.Tensor, end: torch.Tensor, strides: torch.Tensor
    ) -> torch.Tensor:
        items = items_of(attrs, begin.tolist(), end.tolist(), strides.tolist(), value.ndim)
        index, flipped = forward_index(items, value.shape)
        sliced = value[index]
        return flip(sliced, flipped) if flipped else sliced

    return strided_slice


@kernel("StridedSlice", **STRINGS)
def bind_strided_slice_strings(node: Node, device: Device) -> Function:
    attrs = node.attrs

    def strided_slice(value: TensorValue, begin: torch.Tensor, end: torch.Tensor, strides: torch.Tensor) -> Any:
        items = items_of(attrs, begin.tolist(), end.tolist(), strides.tolist(), value.ndim)
        return np.asarray(value[index_of(items)], dtype=object)

    return strided_slice


@kernel("StridedSliceGrad")
def bind_strided_slice_grad(node: Node, device: Device) -> Function:
    attrs = node.attrs

    def scatter(
        shape: torch.Tensor, begin: torch.Tensor, end: torch.Tensor, strides: torch.Tensor, dy: torch.Tensor
    ) -> torch.Tensor:
        sizes = shape.tolist()
        items = items_of(attrs, begin.tolist(), end.tolist(), strides.tolist(), len(sizes))
        index, flipped = forward_index(items, sizes)
        result = dy.new_zeros(sizes)
        region = result[index]
        require(region.shape == dy.shape, f"dy has shape {show(tuple(dy.shape))}", expected=show(tuple(region.shape)))
        result[index] = flip(dy, flipped) if flipped else dy
        return result

    return scatter
