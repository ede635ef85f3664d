"""Kernels of casts."""

from __future__ import annotations

import torch

from thalweg._src.base import errors
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.kernels.types import TORCH
from thalweg._src.runtime.resources.devices import Device


@kernel("Cast")
def bind_cast(node: Node, device: Device) -> Call:
    source, target = node.attrs["SrcT"], node.attrs["DstT"]
    if source not in TORCH or target not in TORCH:
        raise errors.UnimplementedError(None, None, f"Cast {source.name} to {target.name} is not supported")
    drops_imaginary = source.is_complex and not (target.is_complex or target.is_bool)
    value = Call(torch.real, (Input(0),)) if drops_imaginary else Input(0)
    return Call(torch.Tensor.to, (value, TORCH[target]))
