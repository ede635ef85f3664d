"""Kernels of data transfer: feeds, Send and Recv over the step's rendezvous."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.devices import DeviceSpec, task_of
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import STEP, Call, Input, kernel
from thalweg._src.runtime.kernels.tensor_list import is_list, map_tensors
from thalweg._src.runtime.resources.devices import Device
from thalweg._src.runtime.resources.rendezvous import Many, rendezvous_key
from thalweg._src.runtime.resources.step import Step

_HANDLES = (dtypes.resource, dtypes.variant)
_INLINE_BYTES = 64 << 10  # bytes that a driver copies within the call


def _key(node: Node) -> str:
    return rendezvous_key(node.attrs["send_device"], node.attrs["recv_device"], node.attrs["tensor_name"])


@dataclass(frozen=True, slots=True)
class Launched:
    """A value for another stream, and the event after which it is complete."""

    value: Any
    event: Any

    def on(self, device: Device) -> Any:
        """Returns the value on the stream of a device."""

        def moved(tensor: torch.Tensor) -> torch.Tensor:
            for where in {tensor.device, device.torch}:  # a copy between cards uses a stream of each
                stream = torch.get_device_module(where).current_stream(where)
                stream.wait_event(self.event)
                tensor.record_stream(stream)
            return tensor.to(device.torch, non_blocking=True)

        with device.current():
            return map_tensors(moved, self.value)


def _sent(node: Node, device: Device) -> Callable[[Any], Any]:
    """Returns a function that makes a value usable outside of the stream of its device.

    The copy is ordered before later changes of a variable whose buffer the value is.
    """
    if device.stream is None:
        return lambda value: value
    destination = node.attrs["recv_device"]
    if task_of(destination) != task_of(device.name) or DeviceSpec.from_string(destination).device_type == "CPU":
        return lambda value: map_tensors(lambda tensor: tensor.to(device.host), value)
    return lambda value: Launched(map_tensors(torch.clone, value), device.stream.record_event())


@kernel("_Send")
def bind_send(node: Node, device: Device) -> Call:
    key, sent = _key(node), _sent(node, device)

    def send(step: Step, value: object) -> None:
        step.rendezvous.send(key, sent(value))

    return Call(send, (STEP, Input(0)))


@kernel("_Recv")
def bind_recv(node: Node, device: Device) -> Callable[..., None]:
    key = _key(node)

    def receive(step: Step, finish: Callable[[Any], None]) -> None:
        def arrive(value: Any) -> None:
            finish(_received(value, device))

        step.rendezvous.receive(key, arrive)

    return receive


@kernel("_SendMany")
def bind_send_many(node: Node, device: Device) -> Call:
    key, sent = _key(node), _sent(node, device)

    def send(step: Step, *values: object) -> None:
        step.rendezvous.send(key, Many([sent(value) for value in values]))

    return Call(send, (STEP, *(Input(index) for index in range(len(node.inputs)))))


@kernel("_RecvMany")
def bind_recv_many(node: Node, device: Device) -> Callable[..., None]:
    key = _key(node)

    def receive(step: Step, finish: Callable[..., None]) -> None:
        def arrive(values: Many) -> None:
            finish(*[_received(value, device) for value in values.values])

        step.rendezvous.receive(key, arrive)

    return receive


def _received(value: Any, device: Device) -> Any:
    if isinstance(value, Launched):
        return value.on(device)
    where, last = device.torch, value
    while is_list(last) and last:  # the elements of a list are on one device
        last = last[1] if isinstance(last, tuple) else next((element for element in last if element is not None), None)
    if getattr(last, "device", where) == where:
        return value
    with device.current():
        return map_tensors(lambda tensor: tensor.to(where, non_blocking=where.type != "cpu"), value)


@kernel("_CopyToHost")
def bind_copy_to_host(node: Node, device: Device) -> Call | Callable[[Any], Any]:
    if node.input_dtype(0) in _HANDLES:
        return _unchanged
    later = "_fetched" in node.attrs and device.torch.type != "cpu"  # the step waits for it before it ends
    return Call(torch.Tensor.to, (Input(0), device.host), {"non_blocking": later, "copy": True})


def _unchanged(elements: object) -> Any:
    """Passes on a list or a TensorArray, whose elements stay on the device that reads them."""
    return elements


@functools.cache
def _copy_stream(card: torch.device) -> Any:
    """Returns the stream of copies to a card: one, since torch has 32 and then repeats them."""
    return torch.get_device_module(card).Stream(card)


@kernel("_CopyToDevice")
def bind_copy_to_device(node: Node, device: Device) -> Call | Callable[[Any], Any]:
    if node.input_dtype(0) in _HANDLES:
        return _unchanged
    if device.accelerator is None or not device.accelerator.has_pinned_memory():
        return Call(torch.Tensor.to, (Input(0), device.torch), {"copy": True})
    return Call(copy_to(device), (Input(0),))


def copy_to(device: Device) -> Callable[[torch.Tensor], torch.Tensor]:
    """Returns a function that copies a tensor to a device, asynchronously if that can be done."""
    if device.accelerator is None or not device.accelerator.has_pinned_memory():
        return lambda value: value.to(device.torch)

    module = device.accelerator.module

    def to_device(value: torch.Tensor) -> torch.Tensor:
        """Copies to the device asynchronously, from pinned memory; a copy from pageable memory would block."""
        if value.nbytes <= _INLINE_BYTES or not value.is_cpu:
            return value.to(device.torch, non_blocking=True)
        here, copy_stream = module.current_stream(device.torch), _copy_stream(device.torch)
        with module.stream(copy_stream):
            copy = value.pin_memory().to(device.torch, non_blocking=True)
        here.wait_stream(copy_stream)
        copy.record_stream(here)
        return copy

    return to_device
