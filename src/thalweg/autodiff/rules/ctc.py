"""Gradients of connectionist temporal classification: the kernels compute them with the loss."""

from __future__ import annotations

from typing import Any

from thalweg.autodiff.registry import gradient
from thalweg.graph.operation import Operation
from thalweg.graph.tensor import Tensor
from thalweg.ops.identity import prevent_gradient
from thalweg.ops.math import multiply
from thalweg.ops.shaping import reshape


@gradient("CTCLoss", "CTCLossV2", "_CTCLossDense")
def ctc_loss(op: Operation, grad: Tensor, _: Any) -> list[Any]:
    by_inputs = prevent_gradient(op.outputs[1], message="there is no second derivative of ctc_loss")
    return [multiply(reshape(grad, [1, -1, 1]), by_inputs), None, None, None]
