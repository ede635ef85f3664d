"""Kernels of variables: a variable is looked up once, when the step is compiled, and each step calls its methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base import dtypes, errors
from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import compatible, most_general, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.graph.ops.slicing import items_of, sliced_shape
from thalweg._src.runtime.kernels.registry import Call, Constant, Input, kernel
from thalweg._src.runtime.kernels.reshape import flip
from thalweg._src.runtime.kernels.scatter import SCATTER, gather, gather_nd, gather_rows, scatter_nd
from thalweg._src.runtime.kernels.slicing import forward_index
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.variables import VariableResource

_TENSORS = dtypes.ALL - {dtypes.string}
# Addition and subtraction wrap around, so that the signed type of the same width yields the same bits.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def find_variable(node: Node, device: Device) -> VariableResource:
    """Returns the variable of a handle node on a device, created on first use."""
    dtype, shape = node.attrs["dtype"], node.attrs["shape"]
    name = node.attrs["shared_name"] or node.name
    variable: VariableResource = device.resources.lookup_or_create(
        node.attrs["container"], "variable", name, lambda: VariableResource(name, dtype, shape, device.torch)
    )
    if variable.dtype is not dtype or not compatible(variable.shape, shape):
        raise invalid(
            errors.describe(
                f"variable {name!r} already exists with another type or shape",
                expected=f"{variable.dtype.name}{show(variable.shape)}",
                received=f"{dtype.name}{show(shape)}",
            )
        )
    variable.shape = most_general(variable.shape, shape)
    return variable


def variable_of(node: Node, device: Device) -> VariableResource | None:
    """Returns the variable of a node's handle, if the handle is known before the step."""
    producer = node.inputs[0][0]
    return find_variable(producer, device) if producer.type == "VarHandleOp" else None


def call_method(node: Node, device: Device, method: str, *args: object) -> Call:
    """Binds a method of the node's variable; a handle known only at run time is its first argument."""
    variable = variable_of(node, device)
    if variable is None:
        return Call(getattr(VariableResource, method), (Input(0), *args))
    return Call(getattr(variable, method), args)


@kernel("VarHandleOp", dtype=_TENSORS)
@kernel("VarHandleOp", devices=("CPU",), dtype=[dtypes.string])
def bind_handle(node: Node, device: Device) -> Constant:
    return Constant(find_variable(node, device))


@kernel("ReadVariableOp", dtype=_TENSORS)
@kernel("ReadVariableOp", devices=("CPU",), dtype=[dtypes.string])
def bind_read(node: Node, device: Device) -> Call:
    variable = variable_of(node, device)
    call = call_method(node, device, "read")
    if variable is not None and variable.device != device.torch:
        return Call(torch.Tensor.to, (call, device.torch))
    return call


@kernel("AssignVariableOp", dtype=_TENSORS)
@kernel("AssignVariableOp", devices=("CPU",), dtype=[dtypes.string])
def bind_assign(node: Node, device: Device) -> Call:
    variable = variable_of(node, device)
    if variable is not None and node.attrs.get("_any_shape"):
        variable.shape = None
    return call_method(node, device, "replace" if device.compiling else "assign", Input(1))


def _require_same_shape(buffer: torch.Tensor, value: torch.Tensor) -> None:
    if buffer.shape != value.shape:
        shape = show(tuple(buffer.shape))
        raise errors.ShapeError(
            f"cannot update a variable of shape {shape} with a value of shape {show(tuple(value.shape))}",
            expected=f"a value of shape {shape}",
        )


def add(buffer: torch.Tensor, value: torch.Tensor) -> None:
    _require_same_shape(buffer, value)
    buffer.add_(value)


def subtract(buffer: torch.Tensor, value: torch.Tensor) -> None:
    _require_same_shape(buffer, value)
    buffer.sub_(value)


def _in_signed(change: Callable[..., None], signed: torch.dtype) -> Callable[..., None]:
    def changed(buffer: torch.Tensor, value: torch.Tensor) -> None:
        change(buffer.view(signed), value.view(signed))

    return changed


@kernel("AssignAddVariableOp", dtype=dtypes.NUMERIC)
def bind_assign_add(node: Node, device: Device) -> Call:
    return _bind_update(node, device, add)


@kernel("AssignSubVariableOp", dtype=dtypes.NUMERIC)
def bind_assign_sub(node: Node, device: Device) -> Call:
    return _bind_update(node, device, subtract)


def _bind_update(node: Node, device: Device, change: Callable[..., None]) -> Call:
    signed = _SIGNED.get(TORCH[node.attrs["dtype"]])
    return call_method(node, device, "update", change if signed is None else _in_signed(change, signed), Input(1))


@kernel("VarIsInitializedOp")
def bind_is_initialized(node: Node, device: Device) -> Call:
    def is_initialized(variable: VariableResource) -> torch.Tensor:
        return torch.tensor(variable.is_initialized)

    return Call(is_initialized, (variable_of(node, device) or Input(0),))


@kernel("DestroyResourceOp")
def bind_destroy(node: Node, device: Device) -> Call:
    variable = variable_of(node, device)

    def destroy(resource: Any) -> None:
        resource.destroy()

    return Call(destroy, (Input(0),)) if variable is None else Call(variable.destroy, ())


@kernel("VariableShape")
def bind_shape(node: Node, device: Device) -> Call:
    variable, out_type = variable_of(node, device), TORCH[node.attrs["out_type"]]

    def shape(resource: VariableResource) -> torch.Tensor:
        return torch.tensor(resource.read().shape, dtype=out_type)

    return Call(shape, (Input(0) if variable is None else variable,))


@kernel("ResourceCountUpTo")
def bind_count_up_to(node: Node, device: Device) -> Call:
    limit = node.attrs["limit"]

    def count(buffer: torch.Tensor) -> torch.Tensor:
        require(buffer.ndim == 0, f"the variable has shape {show(tuple(buffer.shape))}", expected="a scalar")
        value = buffer.clone()
        if int(value) >= limit:
            raise errors.OutOfRangeError(None, None, f"Reached limit of {limit}")
        buffer.add_(1)
        return value

    return call_method(node, device, "update", count)


def _reading(node: Node, device: Device, function: Callable[..., Any], *args: object) -> Call:
    return Call(function, (call_method(node, device, "read"), *args))


@kernel("ResourceGather", dtype=_TENSORS)
@kernel("ResourceGather", devices=("CPU",), dtype=[dtypes.string])
def bind_gather(node: Node, device: Device) -> Call:
    variable, plain = variable_of(node, device), not node.attrs["batch_dims"] and node.dtypes[0].is_floating
    if plain and device.type == "CPU" and variable is not None and len(variable.shape or ()) == 2:
        return _reading(node, device, gather_rows, Input(1))
    return _reading(node, device, gather, Input(1), node.attrs["batch_dims"])


@kernel("ResourceGatherNd", dtype=_TENSORS)
@kernel("ResourceGatherNd", devices=("CPU",), dtype=[dtypes.string])
def bind_gather_nd(node: Node, device: Device) -> Call:
    return _reading(node, device, gather_nd, Input(1))


@kernel("ResourceScatterUpdate", dtype=_TENSORS)
@kernel("ResourceScatterUpdate", devices=("CPU",), dtype=[dtypes.string])
@kernel(*(f"ResourceScatter{verb}" for verb in ("Add", "Sub", "Mul", "Div")), dtype=dtypes.NUMERIC)
@kernel("ResourceScatterMin", "ResourceScatterMax", dtype=dtypes.REAL)
def bind_scatter(node: Node, device: Device) -> Call:
    change = SCATTER[node.type.removeprefix("ResourceScatter")]
    return call_method(node, device, "update_rows", change, Input(1), Input(2))


@kernel("ResourceScatterNdUpdate", T=_TENSORS)
@kernel("ResourceScatterNdUpdate", devices=("CPU",), T=[dtypes.string])
@kernel("ResourceScatterNdAdd", "ResourceScatterNdSub", T=dtypes.NUMERIC)
def bind_scatter_nd(node: Node, device: Device) -> Call:
    change = SCATTER[node.type.removeprefix("ResourceScatterNd")]
    return call_method(node, device, "update", scatter_nd, change, Input(1), Input(2))


@kernel("ResourceStridedSliceAssign", T=_TENSORS)
@kernel("ResourceStridedSliceAssign", devices=("CPU",), T=[dtypes.string])
def bind_strided_slice_assign(node: Node, device: Device) -> Call:
    masks = node.attrs

    def change(buffer: Any, begin: torch.Tensor, end: torch.Tensor, strides: torch.Tensor, value: Any) -> None:
        items = items_of(masks, begin.tolist(), end.tolist(), strides.tolist(), buffer.ndim)
        expected = sliced_shape(tuple(buffer.shape), items)
        require(
            tuple(value.shape) == expected,
            f"cannot assign a value of shape {show(tuple(value.shape))} to a slice of shape {show(expected)}",
            expected=f"a value of shape {show(expected)}",
        )
        index, flipped = forward_index(items, buffer.shape)
        if isinstance(value, np.ndarray):
            buffer[index] = np.flip(value, flipped) if flipped else value
        else:
            buffer[index] = flip(value, flipped) if flipped else value

    return call_method(node, device, "update", change, *(Input(i) for i in range(1, 5)))
