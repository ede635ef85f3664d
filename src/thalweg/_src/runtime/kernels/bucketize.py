"""Kernel of bucketization."""

from __future__ import annotations

import torch

from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import Call, Input, kernel
from thalweg._src.runtime.resources.devices import Device


@kernel("Bucketize")
def bind_bucketize(node: Node, device: Device) -> Call:
    # Boundaries are float32, so integers are converted before the comparison.
    boundaries = torch.tensor(list(node.attrs["boundaries"]), dtype=torch.float32, device=device.torch)
    wide = node.attrs["T"] is dtypes.float64
    value = Input(0) if node.attrs["T"].is_floating else Call(torch.Tensor.to, (Input(0), torch.float32))
    held = boundaries.to(torch.float64) if wide else boundaries
    return Call(torch.bucketize, (value, held), {"out_int32": True, "right": True})
