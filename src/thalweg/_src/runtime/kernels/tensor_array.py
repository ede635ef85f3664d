"""Kernels of TensorArrays: a Python list with the declared properties of its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.dtypes import DType
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import Shape, compatible, merge, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH, TensorValue
from thalweg._src.runtime.resources.devices import Device

_MAX_SIZE = 1 << 26  # elements; a longer list alone would fill memory
_FLOW = torch.tensor(0.0)


class Elements:
    """The elements of one array in one step."""

    __slots__ = (
        "clears",
        "device",
        "dtype",
        "dynamic",
        "gradients",
        "items",
        "name",
        "of",
        "same",
        "shape",
        "were_read",
    )

    def __init__(
        self,
        dtype: DType,
        size: int,
        shape: Shape,
        *,
        dynamic: bool,
        clears: bool,
        same: bool,
        name: str,
        device: torch.device,
        of: Elements | None = None,
    ) -> None:
        if not 0 <= size <= _MAX_SIZE:
            raise invalid(f"TensorArray {name!r} cannot have {size} elements")
        self.dtype = dtype
        self.items: list[Any] = [None] * size
        self.shape = shape
        self.dynamic = dynamic
        self.clears = clears
        self.same = same
        self.name = name
        self.device = device
        self.of = of  # the array whose gradients this one holds
        self.were_read: dict[int, Any] = {}  # indices of cleared elements, with their shapes
        self.gradients: dict[str, Elements] = {}

    def write(self, index: int, value: TensorValue) -> None:
        items = self.items
        if not 0 <= index < len(items):
            self._grow(index)
        shape = tuple(value.shape)
        if shape != self.shape:
            self._admit(shape)
        before = items[index]
        if before is None:
            items[index] = value
        elif self.of is not None:
            items[index] = before + value
        else:
            done = "read" if index in self.were_read else "written to"
            text = f"Could not write to TensorArray index {index} because it has already been {done}"
            raise invalid(f"TensorArray {self.name}: {text}.")

    def _grow(self, index: int) -> None:
        if index < 0 or not self.dynamic:
            why = "" if self.dynamic else "array is not resizeable and "
            size = len(self.items)
            raise invalid(f"TensorArray {self.name}: Tried to write to index {index} but {why}size is: {size}")
        if index >= _MAX_SIZE:
            raise invalid(f"TensorArray {self.name!r} cannot have {index + 1} elements")
        self.items += [None] * (index + 1 - len(self.items))

    def _admit(self, shape: tuple[int, ...]) -> None:
        if not compatible(self.shape, shape):
            raise invalid(
                f"TensorArray {self.name!r}: an element of shape {show(shape)} does not fit, "
                f"its elements have shape {show(self.shape)}"
            )
        if self.same:
            self.shape = merge(self.shape, shape)

    def read(self, index: int) -> Any:
        items = self.items
        if not 0 <= index < len(items):
            text = f"Tried to read from index {index} but array size is: {len(items)}"
            raise invalid(f"TensorArray {self.name}: {text}")
        value = items[index]
        if value is None:
            return self._missing(index)
        if self.clears:
            items[index] = None
        self.were_read[index] = value.shape
        return value

    def _missing(self, index: int) -> Any:
        """Returns zeros for an element that was never written."""
        if index in self.were_read and self.clears:
            raise invalid(
                f"TensorArray {self.name}: Could not read index {index} twice because it was cleared after a previous "
                "read (perhaps try setting clear_after_read = false?)."
            )
        shape = self.shape if self.of is None else self.of.shape_at(index)
        if shape is None or None in shape:
            raise invalid(
                f"TensorArray {self.name}: Could not read from TensorArray index {index}.  Furthermore, the element "
                f"shape is not fully defined: {show(shape)}. It was never written."
            )
        if self.dtype is dtypes.string:
            return np.full(shape, b"", dtype=object)
        return torch.zeros(shape, dtype=TORCH[self.dtype], device=self.device)  # type: ignore[arg-type]

    def shape_at(self, index: int) -> Shape:
        """Returns the static shape of one element, which may have been cleared."""
        value = self.items[index]
        shape = value.shape if value is not None else self.were_read.get(index)
        return self.shape if shape is None else tuple(shape)


def _nothing_to_join(array: Elements, shape: Shape) -> errors.UnimplementedError:
    text = f"TensorArray {array.name!r}: no elements to concatenate, and their shape, {show(shape)}, is not known"
    return errors.UnimplementedError(None, None, text)


@kernel("TensorArrayV3")
def bind_tensor_array(node: Node, device: Device) -> Callable[[Any], Any]:
    attrs, name = node.attrs, node.attrs["tensor_array_name"] or node.name
    settings = {
        "dynamic": attrs["dynamic_size"],
        "clears": attrs["clear_after_read"],
        "same": attrs["identical_element_shapes"],
        "name": name,
        "device": device.torch,
    }
    flow = _FLOW.to(device.torch)

    def make(size: torch.Tensor) -> tuple[Elements, Any]:
        return Elements(attrs["dtype"], int(size), attrs["element_shape"], **settings), flow

    return make


@kernel("TensorArrayGradV3")
def bind_tensor_array_grad(node: Node, device: Device) -> Callable[[Elements, Any], Any]:
    source = node.attrs["source"]

    def gradient_of(array: Elements, flow: torch.Tensor) -> tuple[Elements, Any]:
        _require_array(array)
        gradient = array.gradients.get(source)
        if gradient is None:
            gradient = array.gradients[source] = Elements(
                array.dtype,
                len(array.items),
                array.shape,
                dynamic=False,
                clears=False,
                same=array.same,
                name=f"{array.name}@{source}",
                device=array.device,
                of=array,
            )
        return gradient, flow

    return gradient_of


def _require_array(handle: object) -> None:
    if type(handle) is not Elements:
        raise invalid("the handle is not a TensorArray")


@plain_kernel("TensorArrayWriteV3")
def _write(array: Elements, index: torch.Tensor, value: TensorValue, flow: torch.Tensor) -> Any:
    _require_array(array)
    array.write(int(index), value)
    return flow


@plain_kernel("TensorArrayReadV3")
def _read(array: Elements, index: torch.Tensor, flow: torch.Tensor) -> Any:
    _require_array(array)
    return array.read(int(index))


@kernel("TensorArrayGatherV3")
def bind_gather(node: Node, device: Device) -> Callable[..., Any]:
    element_shape, dtype = node.attrs["element_shape"], node.attrs["dtype"]
    target = device.torch

    def gather(array: Elements, indices: torch.Tensor, flow: torch.Tensor) -> Any:
        _require_array(array)
        values = [array.read(index) for index in indices.tolist()]
        if values:
            _require_equal_shapes(array, values)
            return np.stack(values) if dtype is dtypes.string else torch.stack(values)
        shape = element_shape if element_shape is not None else array.shape
        if shape is None or None in shape:
            raise _nothing_to_join(array, shape)
        if dtype is dtypes.string:
            return np.empty((0, *shape), dtype=object)
        return torch.zeros((0, *shape), dtype=TORCH[dtype], device=target)

    return gather


def _require_equal_shapes(array: Elements, values: list[Any]) -> None:
    first = values[0].shape
    for index, value in enumerate(values):
        if value.shape != first:
            raise invalid(
                f"TensorArray {array.name!r}: elements to stack differ in shape: the first has {show(tuple(first))}, "
                f"number {index} has {show(tuple(value.shape))}"
            )


@plain_kernel("TensorArrayScatterV3")
def _scatter(array: Elements, indices: torch.Tensor, value: TensorValue, flow: torch.Tensor) -> Any:
    _require_array(array)
    numbers = indices.tolist()
    if len(numbers) != value.shape[0]:
        raise invalid(f"TensorArray {array.name!r}: {len(numbers)} indices for {value.shape[0]} values")
    for index, element in zip(numbers, value if isinstance(value, np.ndarray) else value.unbind(0)):
        array.write(index, np.asarray(element, dtype=object) if isinstance(value, np.ndarray) else element)
    return flow


@kernel("TensorArrayConcatV3")
def bind_concat(node: Node, device: Device) -> Callable[..., Any]:
    rest, dtype, target = node.attrs["element_shape_except0"], node.attrs["dtype"], device.torch

    def concat(array: Elements, flow: torch.Tensor) -> tuple[Any, Any]:
        _require_array(array)
        values = [array.read(index) for index in range(len(array.items))]
        lengths = torch.tensor([value.shape[0] if len(value.shape) else -1 for value in values], dtype=torch.int64)
        if values:
            for index, value in enumerate(values):
                if len(value.shape) == 0 or value.shape[1:] != values[0].shape[1:]:
                    raise invalid(
                        f"TensorArray {array.name!r}: cannot concatenate element {index} of shape "
                        f"{show(tuple(value.shape))} with element 0 of shape {show(tuple(values[0].shape))}"
                    )
            return (np.concatenate(values) if dtype is dtypes.string else torch.cat(values)), lengths
        if rest is None or None in rest:
            raise _nothing_to_join(array, rest)
        if dtype is dtypes.string:
            return np.empty((0, *rest), dtype=object), lengths
        return torch.zeros((0, *rest), dtype=TORCH[dtype], device=target), lengths

    return concat


@plain_kernel("TensorArraySplitV3")
def _split(array: Elements, value: TensorValue, lengths: torch.Tensor, flow: torch.Tensor) -> Any:
    _require_array(array)
    sizes = lengths.tolist()
    if not isinstance(sizes, list) or not len(value.shape) or min(sizes, default=0) < 0 or sum(sizes) != value.shape[0]:
        raise invalid(
            f"TensorArray {array.name!r}: lengths {sizes} do not add up to the rows of a value of shape "
            f"{show(tuple(value.shape))}"
        )
    if not array.dynamic and len(sizes) != len(array.items):
        raise invalid(
            f"TensorArray {array.name!r}: {len(sizes)} lengths for an array of {len(array.items)} that has no "
            "dynamic_size"
        )
    start = 0
    for index, size in enumerate(sizes):
        array.write(index, value[start : start + size])
        start += size
    return flow


@plain_kernel("TensorArraySizeV3")
def _size(array: Elements, flow: torch.Tensor) -> Any:
    _require_array(array)
    return torch.tensor(len(array.items), dtype=torch.int32)


@plain_kernel("TensorArrayCloseV3")
def _close(array: Elements) -> None:
    _require_array(array)
    array.items.clear()
