"""Placement of eager operations: the device of each, and copies of inputs that are in another memory.

Outside of `tf.device`, an operation runs on the first accelerator that has a kernel for it, unless all its inputs are
integers in host memory, such as shapes and counters. An operation on a resource runs where the resource is. Inputs are
copied without a word, as by TensorFlow's default policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.dtypes import DType
from thalweg._src.compiler.partition.host_memory import arguments
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.eager.tensor import Kind
from thalweg._src.runtime.kernels.registry import device_types
from thalweg._src.runtime.kernels.tensor_list import map_tensors
from thalweg._src.runtime.kernels.transfer import copy_to
from thalweg._src.runtime.resources.devices import Device

Function = Callable[..., Any]
_COUNTING = (dtypes.int32, dtypes.int64, dtypes.bool)


def default_device(devices: Sequence[Device]) -> Device:
    """Returns the device that is preferred outside of `tf.device`: the first accelerator, or the host."""
    return next((device for device in devices if device.type != "CPU"), devices[0])


def for_value(dtype: DType, device: Device, host: Device) -> Device:
    """Returns where a new value is created: on an accelerator if it is a floating-point or complex number."""
    return device if dtype.is_floating or dtype.is_complex else host


def choose(node: Node, kinds: Sequence[Kind], requested: Device | None, devices: Sequence[Device]) -> Device:
    """Returns the device of an operation."""
    host = devices[0]
    device = next((kind.device for kind in kinds if kind.dtype is dtypes.resource), requested)
    if device is None:
        on_host = kinds and all(kind.dtype in _COUNTING and kind.device.type == "CPU" for kind in kinds)
        device = host if on_host else default_device(devices)
    return device if device.type == "CPU" or device.type in device_types(node) else host


def copying(function: Function, node: Node, kinds: Sequence[Kind], device: Device, host: Device) -> Function:
    """Returns a kernel as a function of values in the memories in which the inputs are."""
    copies: dict[int, Function] = {}
    for i, (kind, arg) in enumerate(zip(kinds, arguments(node.definition.inputs, node.attrs, len(kinds)))):
        needed = host if arg.name in node.definition.host else device
        if kind.device.torch != needed.torch and kind.dtype not in (dtypes.resource, dtypes.string):
            copies[i] = copy_to(needed)
    if not copies:
        return function

    def run(*values: Any) -> Any:
        moved = list(values)
        for i, copy in copies.items():
            moved[i] = map_tensors(copy, values[i])
        return function(*moved)

    return run
