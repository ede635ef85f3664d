"""Kernels that move values: feeds, Send and Recv over the step's rendezvous."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg.graph.step_graph import Node
from thalweg.kernels.registry import STEP, Call, Input, kernel
from thalweg.resources.rendezvous import rendezvous_key


def _key(node: Node) -> str:
    return rendezvous_key(node.attrs["send_device"], node.attrs["recv_device"], node.attrs["tensor_name"])


@kernel("_Send")
def bind_send(node: Node, device: Any) -> Call:
    key = _key(node)

    def send(step: Any, value: Any) -> None:
        step.rendezvous.send(key, value)

    return Call(send, (STEP, Input(0)))


@kernel("_Recv")
def bind_recv(node: Node, device: Any) -> Callable[..., None]:
    key, where = _key(node), device.torch

    def receive(step: Any, finish: Callable[[Any], None]) -> None:
        def arrive(value: Any) -> None:
            if isinstance(value, torch.Tensor) and value.device != where:
                value = value.to(where, non_blocking=where.type != "cpu")
            finish(value)

        step.rendezvous.receive(key, arrive)

    return receive


@kernel("_CopyToHost")
def bind_copy_to_host(node: Node, device: Any) -> Call:
    return Call(torch.Tensor.cpu, (Input(0),))


@kernel("_CopyToDevice")
def bind_copy_to_device(node: Node, device: Any) -> Call:
    return Call(torch.Tensor.to, (Input(0), device.torch), {"non_blocking": True})
