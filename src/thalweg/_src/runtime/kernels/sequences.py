"""Kernels of range and linspace."""

from __future__ import annotations

from collections.abc import Callable

import torch

from thalweg._src.base.errors import ShapeError
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.kernels.types import TORCH, UNSIGNED
from thalweg._src.runtime.resources.devices import Device


@kernel("Range")
def bind_range(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    dtype, where = TORCH[node.dtypes[0]], device.torch
    # torch supports ranges of types it can add; unsigned ones are converted from int64.
    counted = torch.int64 if node.dtypes[0] in UNSIGNED else dtype

    def count(start: torch.Tensor, limit: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        first, last, step = start.item(), limit.item(), delta.item()
        if step == 0:
            raise ShapeError("delta is 0", expected="a step other than 0", hint=None)
        if (last - first) * step < 0:
            raise ShapeError(
                f"the step {step} does not reach {last} from {first}",
                expected="start <= limit with a positive delta, start >= limit with a negative one",
                hint=None,
            )
        if first != last and abs(step) > abs(last - first):
            step = last - first  # one element in either case; torch's count of integers would overflow
        return torch.arange(first, last, step, dtype=counted, device=where).to(dtype)

    return count


@kernel("LinSpace")
def bind_linspace(node: Node, device: Device) -> Callable[..., torch.Tensor]:
    dtype, where = TORCH[node.dtypes[0]], device.torch

    def linspace(start: torch.Tensor, stop: torch.Tensor, num: torch.Tensor) -> torch.Tensor:
        count = int(num)
        if count <= 0:
            raise ShapeError(f"num is {count}", expected="num > 0", hint=None)
        return torch.linspace(start.item(), stop.item(), count, dtype=dtype, device=where)

    return linspace
