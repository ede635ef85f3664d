"""Kernels of element-wise arithmetic and elementary functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg.errors import ShapeError
from thalweg.graph.step_graph import Node
from thalweg.kernels.registry import Call, Input, kernel
from thalweg.kernels.types import TORCH

_PLAIN: dict[str, Callable[..., Any]] = {
    "Add": torch.add,
    "AddV2": torch.add,
    "Sub": torch.sub,
    "Mul": torch.mul,
    "RealDiv": torch.div,
    "Neg": torch.neg,
    "Square": torch.square,
    "Sqrt": torch.sqrt,
    "Exp": torch.exp,
    "Log": torch.log,
    "Tanh": torch.tanh,
    "Sigmoid": torch.sigmoid,
    "Conj": torch.conj,
}


@kernel(*_PLAIN)
def bind_plain(node: Node, device: Any) -> Callable[..., Any]:
    return _PLAIN[node.type]


@kernel("SqrtGrad")
def bind_sqrt_grad(node: Node, device: Any) -> Call:
    return Call(torch.div, (Call(torch.mul, (Input(1), 0.5)), Input(0)))


@kernel("TanhGrad")
def bind_tanh_grad(node: Node, device: Any) -> Call:
    return Call(torch.ops.aten.tanh_backward, (Input(1), Input(0)))


@kernel("SigmoidGrad")
def bind_sigmoid_grad(node: Node, device: Any) -> Call:
    return Call(torch.ops.aten.sigmoid_backward, (Input(1), Input(0)))


@kernel("Cast")
def bind_cast(node: Node, device: Any) -> Call:
    return Call(torch.Tensor.to, (Input(0), TORCH[node.attrs["DstT"]]))


@kernel("AddN", "AccumulateNV2")
def bind_add_n(node: Node, device: Any) -> Callable[..., Any]:
    def add_n(*values: torch.Tensor) -> torch.Tensor:
        if any(v.shape != values[0].shape for v in values):
            raise ShapeError("shapes of the inputs differ", expected="equal shapes")
        if len(values) == 1:
            return values[0]
        total = torch.add(values[0], values[1])
        for value in values[2:]:
            total.add_(value)
        return total

    return add_n
