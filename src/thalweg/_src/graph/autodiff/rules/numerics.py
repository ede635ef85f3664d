"""Gradients of checks for NaN and infinity, which are checked in turn."""

from __future__ import annotations

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.numerics import check_numerics as check
from thalweg._src.graph.tensor import Tensor


@gradient("CheckNumerics")
def check_numerics(op: Operation, grad: Tensor) -> Tensor:
    return check(grad, f"the gradient contains NaN or infinity, although its value does not: {op.attrs['message']}")
