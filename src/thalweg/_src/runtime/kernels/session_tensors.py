"""Kernels of session tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from thalweg._src.base.formats.objects import object_array
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import TensorValue
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.session_tensors import SessionTensors, StoredTensor

Function = Callable[..., Any]


def _tensors(device: Device) -> SessionTensors:
    return device.resources.lookup_or_create("", "session tensors", "", SessionTensors)


@kernel("GetSessionHandle")
def bind_handle(node: Node, device: Device) -> Function:
    tensors, dtype, name = _tensors(device), node.attrs["T"], node.name

    def keep(value: TensorValue) -> Any:
        # A copy, since a kept value must not change with a variable or a feed.
        copy = value.clone() if isinstance(value, torch.Tensor) else value.copy()
        return object_array([tensors.add(name, StoredTensor(copy, dtype)).encode()], ())

    return keep


@kernel("GetSessionTensor")
def bind_tensor(node: Node, device: Device) -> Function:
    tensors, dtype, where = _tensors(device), node.attrs["dtype"], device.torch

    def get(handle: np.ndarray[Any, Any]) -> Any:
        value = tensors.get(handle.item().decode(), dtype)
        if isinstance(value, torch.Tensor) and device.stream is not None and value.device == where:
            value.record_stream(device.stream)
        return value.to(where) if isinstance(value, torch.Tensor) else value

    return get


@kernel("DeleteSessionTensor", devices=("CPU",))
def bind_delete(node: Node, device: Device) -> Function:
    tensors = _tensors(device)

    def delete(handle: np.ndarray[Any, Any]) -> None:
        tensors.delete(handle.item().decode())

    return delete
