"""Kernels of checks for NaN and infinity."""

from __future__ import annotations

from collections.abc import Callable

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.runtime.kernels.registry import kernel
from thalweg._src.runtime.resources.devices import Device


@kernel("CheckNumerics")
def bind_check_numerics(node: Node, device: Device) -> Callable[[torch.Tensor], torch.Tensor]:
    message = node.attrs["message"]

    def check(tensor: torch.Tensor) -> torch.Tensor:
        if not torch.isfinite(tensor).all():
            kinds = [kind for kind, test in (("Inf", torch.isinf), ("NaN", torch.isnan)) if test(tensor).any()]
            raise invalid(f"{message} : Tensor had {' and '.join(kinds)} values")
        return tensor

    return check
