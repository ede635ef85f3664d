"""Gradients of the CTC loss: the kernel computes them together with the loss."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.identity import prevent_gradient
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.graph.tensor import Tensor


@gradient("CTCLoss", "CTCLossV2", "_CTCLossDense")
def ctc_loss(op: Operation, grad: Tensor, _: object) -> list[Any]:
    by_inputs = prevent_gradient(op.outputs[1], message="there is no second derivative of ctc_loss")
    return [multiply(reshape(grad, [1, -1, 1]), by_inputs), None, None, None]
