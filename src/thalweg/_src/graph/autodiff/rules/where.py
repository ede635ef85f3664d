"""Gradients of selection (where)."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.reshape import zeros_like
from thalweg._src.graph.ops.where import select_op, select_v2_op
from thalweg._src.graph.tensor import Tensor


@gradient("Select")
def select(op: Operation, grad: Tensor) -> list[Any]:
    condition, zeros = op.inputs[0], zeros_like(op.inputs[1])
    return [None, select_op(condition, grad, zeros), select_op(condition, zeros, grad)]


@gradient("SelectV2")
def select_v2(op: Operation, grad: Tensor) -> list[Any]:
    condition, t, e = op.inputs
    zeros = zeros_like(grad)
    return [
        None,
        sum_to_shape_of(t, select_v2_op(condition, grad, zeros)),
        sum_to_shape_of(e, select_v2_op(condition, zeros, grad)),
    ]
