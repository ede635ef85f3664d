"""Kernels of data transfer: feeds, Send and Recv over the step's rendezvous."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.kernels.registry import STEP, Call, Input, kernel
from thalweg._src.resources.devices import Device
from thalweg._src.resources.rendezvous import Many, rendezvous_key
from thalweg._src.resources.step import Step

_INLINE_BYTES = 64 << 10  # bytes that a driver copies within the call


def _key(node: Node) -> str:
    return rendezvous_key(node.attrs["send_device"], node.attrs["recv_device"], node.attrs["tensor_name"])


@kernel("_Send")
def bind_send(node: Node, device: Device) -> Call:
    key = _key(node)

    def send(step: Step, value: Any) -> None:
        step.rendezvous.send(key, value)

    return Call(send, (STEP, Input(0)))


@kernel("_Recv")
def bind_recv(node: Node, device: Device) -> Callable[..., None]:
    key, where = _key(node), device.torch

    def receive(step: Step, finish: Callable[[Any], None]) -> None:
        def arrive(value: Any) -> None:
            finish(_moved(value, where))

        step.rendezvous.receive(key, arrive)

    return receive


@kernel("_SendMany")
def bind_send_many(node: Node, device: Device) -> Call:
    key = _key(node)

    def send(step: Step, *values: Any) -> None:
        step.rendezvous.send(key, Many(values))

    return Call(send, (STEP, *(Input(index) for index in range(len(node.inputs)))))


@kernel("_RecvMany")
def bind_recv_many(node: Node, device: Device) -> Callable[..., None]:
    key, where = _key(node), device.torch

    def receive(step: Step, finish: Callable[..., None]) -> None:
        def arrive(values: Many) -> None:
            finish(*[_moved(value, where) for value in values.values])

        step.rendezvous.receive(key, arrive)

    return receive


def _moved(value: Any, where: torch.device) -> Any:
    if isinstance(value, torch.Tensor) and value.device != where:
        return value.to(where, non_blocking=where.type != "cpu")
    return value


@kernel("_CopyToHost")
def bind_copy_to_host(node: Node, device: Device) -> Call:
    later = "_fetched" in node.attrs and device.torch.type != "cpu"  # the step waits for it before it ends
    return Call(torch.Tensor.to, (Input(0), device.host), {"non_blocking": later, "copy": True})


@kernel("_CopyToDevice")
def bind_copy_to_device(node: Node, device: Device) -> Call:
    if device.accelerator is None or not device.accelerator.has_pinned_memory():
        return Call(torch.Tensor.to, (Input(0), device.torch), {"copy": True})
    copy_stream: Any = None

    def to_device(value: torch.Tensor) -> torch.Tensor:
        """Copies to the device asynchronously, from pinned memory; a copy from pageable memory would block."""
        nonlocal copy_stream
        if value.nbytes <= _INLINE_BYTES:
            return value.to(device.torch, non_blocking=True)
        here = torch.accelerator.current_stream(device.torch)
        if copy_stream is None:
            copy_stream = torch.Stream(device.torch)
        with copy_stream:
            copy = value.pin_memory().to(device.torch, non_blocking=True)
        here.wait_stream(copy_stream)
        copy.record_stream(here)
        return copy

    return Call(to_device, (Input(0),))
