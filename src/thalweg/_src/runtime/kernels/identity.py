"""Kernels of identity ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from thalweg._src.base import dtypes
from thalweg._src.base.errors import ShapeError
from thalweg._src.base.shapes import compatible, show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.kernels.types import TORCH, TensorValue
from thalweg._src.runtime.resources.devices import Device


@plain_kernel("Identity", "StopGradient", "PreventGradient")
def _same(value: object) -> Any:
    return value


def _all_the_same(*values: object) -> tuple[Any, ...]:
    return values


@kernel("IdentityN")
def bind_identity_n(node: Node, device: Device) -> Callable[..., Any]:
    return _same if len(node.inputs) == 1 else _all_the_same


@kernel("EnsureShape")
def bind_ensure_shape(node: Node, device: Device) -> Callable[[Any], Any]:
    shape = node.attrs["shape"]
    if node.input_dtype(0) is dtypes.resource:
        return _same  # a handle is a scalar, whatever the shape of its variable

    def ensure(value: TensorValue) -> Any:
        if not compatible(shape, tuple(value.shape)):
            raise ShapeError(f"the value has shape {show(tuple(value.shape))}", expected=show(shape), hint=None)
        return value

    return ensure


@kernel("Bitcast")
def bind_bitcast(node: Node, device: Device) -> Callable[[torch.Tensor], torch.Tensor]:
    kind, old, new = TORCH[node.dtypes[0]], node.input_dtype(0).size, node.dtypes[0].size

    def bitcast(value: torch.Tensor) -> torch.Tensor:
        if old == new:
            return value.view(kind)
        if old > new:
            return value.unsqueeze(-1).view(kind)
        require(
            value.ndim > 0 and value.shape[-1] == new // old,
            f"the last dimension of {show(tuple(value.shape))} does not match",
        )
        return value.contiguous().view(kind).squeeze(-1)

    return bitcast
