"""Kernels of functional ops: calls are inlined before a step is compiled, so that only FakeParam ever runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Constant, kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device


@kernel(
    *("PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient"),
    *("If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"),
)
def bind_inlined(node: Node, device: Device) -> Callable[..., Any]:
    """Never called: a step contains the nodes of the functions."""
    return lambda *values: values


@kernel("FakeParam")
def bind_fake_param(node: Node, device: Device) -> Constant:
    dtype = node.dtypes[0]
    if dtype not in TORCH:
        return Constant(() if dtype is dtypes.variant else None)
    return Constant(
        torch.zeros([size or 0 for size in node.attrs["shape"] or ()], dtype=TORCH[dtype], device=device.torch)
    )
