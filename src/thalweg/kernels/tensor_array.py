"""Kernels of tensor arrays: a Python list with what was promised about its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg import dtypes, errors
from thalweg.graph.step_graph import Node
from thalweg.kernels.registry import kernel
from thalweg.kernels.types import TORCH
from thalweg.shapes import Shape, compatible, merge, show

_MAX_SIZE = 1 << 26  # elements; the list itself would fill the memory before anything was written
_FLOW = torch.tensor(0.0)


class Elements:
    """The elements of one array in one step."""

    __slots__ = ("accumulates", "clears", "dtype", "device", "dynamic", "gradients", "items", "name", "same", "shape", "was_read")

    def __init__(
        self, dtype: Any, size: int, shape: Shape, *, dynamic: bool, clears: bool, same: bool, accumulates: bool, name: str, device: Any
    ) -> None:
        if not 0 <= size <= _MAX_SIZE:
            raise _refused(f"TensorArray {name!r} cannot have {size} elements")
        self.dtype = dtype
        self.items: list[Any] = [None] * size
        self.shape = shape
        self.dynamic = dynamic
        self.clears = clears
        self.same = same
        self.accumulates = accumulates
        self.name = name
        self.device = device
        self.was_read: set[int] = set()
        self.gradients: dict[str, Elements] = {}

    def write(self, index: int, value: Any) -> None:
        items = self.items
        if not 0 <= index < len(items):
            self._grow(index)
        shape = tuple(value.shape)
        if shape != self.shape:
            self._admit(shape)
        before = items[index]
        if before is None:
            items[index] = value
        elif self.accumulates:
            items[index] = before + value
        elif index in self.was_read:
            raise _refused(f"TensorArray {self.name}: Could not write to index {index} because it has already been read.")
        else:
            raise _refused(
                f"TensorArray {self.name}: Could not write to index {index} because it has already been written to."
            )

    def _grow(self, index: int) -> None:
        if index < 0 or not self.dynamic:
            raise _refused(
                f"TensorArray {self.name}: Tried to write to index {index} but array is not resizeable and size is: "
                f"{len(self.items)}"
            )
        if index >= _MAX_SIZE:
            raise _refused(f"TensorArray {self.name} cannot have {index + 1} elements")
        self.items += [None] * (index + 1 - len(self.items))

    def _admit(self, shape: tuple[int, ...]) -> None:
        if not compatible(self.shape, shape):
            raise _refused(
                f"TensorArray {self.name}: Could not write an element of shape {show(shape)}: "
                f"expected {show(self.shape)}"
            )
        if self.same:
            self.shape = merge(self.shape, shape)

    def read(self, index: int) -> Any:
        items = self.items
        if not 0 <= index < len(items):
            raise _refused(f"TensorArray {self.name}: Tried to read from index {index} but array size is: {len(items)}")
        value = items[index]
        if value is None:
            return self._missing(index)
        if self.clears:
            items[index] = None
        self.was_read.add(index)
        return value

    def _missing(self, index: int) -> Any:
        if index in self.was_read and self.clears:
            raise _refused(
                f"TensorArray {self.name}: Could not read index {index} twice because it was cleared after a previous "
                "read (perhaps try setting clear_after_read = false?)."
            )
        if self.shape is not None and None not in self.shape:
            if self.dtype is dtypes.string:
                return np.full(self.shape, b"", dtype=object)
            return torch.zeros(self.shape, dtype=TORCH[self.dtype], device=self.device)  # type: ignore[arg-type]
        raise _refused(
            f"TensorArray {self.name}: Could not read from TensorArray index {index} because it has not been written to "
            "and its element shape is not fully defined."
        )


def _refused(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


@kernel("TensorArrayV3")
def bind_tensor_array(node: Node, device: Any) -> Callable[[Any], Any]:
    attrs, name = node.attrs, node.attrs["tensor_array_name"] or node.name
    settings = {
        "dynamic": attrs["dynamic_size"],
        "clears": attrs["clear_after_read"],
        "same": attrs["identical_element_shapes"],
        "accumulates": False,
        "name": name,
        "device": device.torch,
    }
    flow = _FLOW.to(device.torch)

    def make(size: Any) -> tuple[Elements, Any]:
        return Elements(attrs["dtype"], size.item(), attrs["element_shape"], **settings), flow

    return make


@kernel("TensorArrayGradV3")
def bind_tensor_array_grad(node: Node, device: Any) -> Callable[[Elements, Any], Any]:
    source = node.attrs["source"]

    def gradient_of(array: Elements, flow: Any) -> tuple[Elements, Any]:
        found = array.gradients.get(source)
        if found is None:
            found = array.gradients[source] = Elements(
                array.dtype,
                len(array.items),
                array.shape,
                dynamic=False,
                clears=False,
                same=array.same,
                accumulates=True,
                name=f"{array.name}@{source}",
                device=array.device,
            )
        return found, flow

    return gradient_of


def _write(array: Elements, index: Any, value: Any, flow: Any) -> Any:
    array.write(int(index), value)
    return flow


def _read(array: Elements, index: Any, flow: Any) -> Any:
    return array.read(int(index))


@kernel("TensorArrayWriteV3")
def bind_write(node: Node, device: Any) -> Callable[..., Any]:
    return _write


@kernel("TensorArrayReadV3")
def bind_read(node: Node, device: Any) -> Callable[..., Any]:
    return _read


@kernel("TensorArrayGatherV3")
def bind_gather(node: Node, device: Any) -> Callable[..., Any]:
    wanted, dtype = node.attrs["element_shape"], node.attrs["dtype"]
    target = device.torch

    def gather(array: Elements, indices: Any, flow: Any) -> Any:
        values = [array.read(index) for index in indices.tolist()]
        if values:
            _require_equal_shapes(array, values)
            return np.stack(values) if dtype is dtypes.string else torch.stack(values)
        shape = wanted if wanted is not None else array.shape
        if shape is None or None in shape:
            raise _refused(
                f"TensorArray {array.name} has size zero, but element shape {show(shape)} is not fully defined. "
                "Currently only static shapes are supported when packing zero-size TensorArrays."
            )
        if dtype is dtypes.string:
            return np.empty((0, *shape), dtype=object)
        return torch.zeros((0, *shape), dtype=TORCH[dtype], device=target)

    return gather


def _require_equal_shapes(array: Elements, values: list[Any]) -> None:
    first = values[0].shape
    for index, value in enumerate(values):
        if value.shape != first:
            raise _refused(
                f"TensorArray {array.name} has inconsistent shapes.  Index 0 has shape: {show(tuple(first))} but index "
                f"{index} has shape: {show(tuple(value.shape))}"
            )


@kernel("TensorArrayScatterV3")
def bind_scatter(node: Node, device: Any) -> Callable[..., Any]:
    def scatter(array: Elements, indices: Any, value: Any, flow: Any) -> Any:
        numbers = indices.tolist()
        if len(numbers) != value.shape[0]:
            raise _refused(f"TensorArray {array.name}: {len(numbers)} indices for {value.shape[0]} values")
        for index, element in zip(numbers, value if isinstance(value, np.ndarray) else value.unbind(0)):
            array.write(index, np.asarray(element, dtype=object) if isinstance(value, np.ndarray) else element)
        return flow

    return scatter


@kernel("TensorArrayConcatV3")
def bind_concat(node: Node, device: Any) -> Callable[..., Any]:
    rest, dtype, target = node.attrs["element_shape_except0"], node.attrs["dtype"], device.torch

    def concat(array: Elements, flow: Any) -> tuple[Any, Any]:
        values = [array.read(index) for index in range(len(array.items))]
        lengths = torch.tensor([value.shape[0] if len(value.shape) else -1 for value in values], dtype=torch.int64)
        if values:
            for index, value in enumerate(values):
                if len(value.shape) == 0 or value.shape[1:] != values[0].shape[1:]:
                    raise _refused(
                        f"TensorArray {array.name}: cannot concatenate element {index} of shape "
                        f"{show(tuple(value.shape))} with element 0 of shape {show(tuple(values[0].shape))}"
                    )
            return (np.concatenate(values) if dtype is dtypes.string else torch.cat(values)), lengths
        if rest is None or None in rest:
            raise _refused(f"TensorArray {array.name} has size zero, but its elements' shape is not fully defined.")
        if dtype is dtypes.string:
            return np.empty((0, *rest), dtype=object), lengths
        return torch.zeros((0, *rest), dtype=TORCH[dtype], device=target), lengths

    return concat


@kernel("TensorArraySplitV3")
def bind_split(node: Node, device: Any) -> Callable[..., Any]:
    def split(array: Elements, value: Any, lengths: Any, flow: Any) -> Any:
        sizes = lengths.tolist()
        if not isinstance(sizes, list) or not len(value.shape) or min(sizes, default=0) < 0 or sum(sizes) != value.shape[0]:
            raise _refused(
                f"TensorArray {array.name}: Expected sum of lengths to be equal to values.shape[0], but sum of lengths "
                f"is {sizes} and value's shape is: {show(tuple(value.shape))}"
            )
        if not array.dynamic and len(sizes) != len(array.items):
            raise _refused(
                f"TensorArray {array.name}: TensorArray's size is not equal to the size of lengths "
                f"({len(array.items)} vs. {len(sizes)}), and the TensorArray is not marked as dynamically resizeable."
            )
        start = 0
        for index, size in enumerate(sizes):
            array.write(index, value[start : start + size])
            start += size
        return flow

    return split


@kernel("TensorArraySizeV3")
def bind_size(node: Node, device: Any) -> Callable[..., Any]:
    def size(array: Elements, flow: Any) -> Any:
        return torch.tensor(len(array.items), dtype=torch.int32)

    return size


@kernel("TensorArrayCloseV3")
def bind_close(node: Node, device: Any) -> Callable[..., Any]:
    def close(array: Elements) -> None:
        array.items.clear()

    return close
