"""Kernels of control flow, for inspection of single nodes only: the execution engines route the values themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Constant, Input, kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device


def _same(value: object) -> Any:
    return value


@kernel("Enter", "Exit", "NextIteration", "LoopCond", "Switch", "Merge", "_Choose", "_Alive", "_While", "_Cluster")
def bind_by_engine(node: Node, device: Device) -> Callable[..., Any]:
    """Never called: the engines decide which values are live."""
    return _same


plain_kernel("ControlTrigger")(Constant())


@kernel("_AsNumber")
def bind_as_number(node: Node, device: Device) -> Callable[..., Any] | Constant:
    return torch.Tensor.item if node.inputs else Constant(node.attrs["value"].item())


@kernel("_AsTensor")
def bind_as_tensor(node: Node, device: Device) -> Call:
    return Call(torch.tensor, (Input(0),), {"dtype": TORCH[node.dtypes[0]]})
