"""Gradients of checks for NaN and infinity: checked themselves."""

from __future__ import annotations

from thalweg.autodiff.registry import gradient
from thalweg.graph.operation import Operation
from thalweg.graph.tensor import Tensor
from thalweg.ops.numerics import check_numerics as check


@gradient("CheckNumerics")
def check_numerics(op: Operation, grad: Tensor) -> Tensor:
    return check(grad, f"the gradient has NaN or infinity, while its value had none: {op._attrs['message']}")
