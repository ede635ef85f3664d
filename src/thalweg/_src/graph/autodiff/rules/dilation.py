"""Gradients of morphological operations (dilation)."""

from __future__ import annotations

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.dilation import dilation2d_backprop_filter, dilation2d_backprop_input
from thalweg._src.graph.tensor import Tensor


@gradient("Dilation2D")
def dilation2d(op: Operation, grad: Tensor) -> list[Tensor]:
    source, filter = op.inputs
    attrs = {key: op.attrs[key] for key in ("strides", "rates", "padding")}
    return [
        dilation2d_backprop_input(source, filter, grad, **attrs),
        dilation2d_backprop_filter(source, filter, grad, **attrs),
    ]
