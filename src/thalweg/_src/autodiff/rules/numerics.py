"""Gradients of checks for NaN and infinity: checked themselves."""

from __future__ import annotations

from thalweg._src.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.tensor import Tensor
from thalweg._src.ops.numerics import check_numerics as check


@gradient("CheckNumerics")
def check_numerics(op: Operation, grad: Tensor) -> Tensor:
    return check(grad, f"the gradient has NaN or infinity, while its value had none: {op.attrs['message']}")
