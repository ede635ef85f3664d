"""Gradients of matrix products."""

from __future__ import annotations

from typing import Any

from thalweg.autodiff.registry import gradient
from thalweg.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg.graph.operation import Operation
from thalweg.graph.tensor import Tensor
from thalweg.ops.math import conj
from thalweg.ops.matrix import batch_matmul_op, matmul_op


@gradient("MatMul")
def matmul(op: Operation, grad: Tensor) -> list[Any]:
    a, b = (conj(t) for t in op.inputs)
    transpose_a, transpose_b = op._attrs["transpose_a"], op._attrs["transpose_b"]
    if not transpose_a and not transpose_b:
        return [matmul_op(grad, b, transpose_b=True), matmul_op(a, grad, transpose_a=True)]
    if not transpose_a:
        return [matmul_op(grad, b), matmul_op(grad, a, transpose_a=True)]
    if not transpose_b:
        return [matmul_op(b, grad, transpose_b=True), matmul_op(a, grad)]
    return [
        matmul_op(b, grad, transpose_a=True, transpose_b=True),
        matmul_op(grad, a, transpose_a=True, transpose_b=True),
    ]


@gradient("BatchMatMulV2")
def batch_matmul(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    adj_x, adj_y = op._attrs["adj_x"], op._attrs["adj_y"]
    if not adj_x:
        grad_x = batch_matmul_op(grad, y, adj_y=not adj_y)
        grad_y = batch_matmul_op(x, grad, adj_x=True) if not adj_y else batch_matmul_op(grad, x, adj_x=True)
    else:
        grad_x = batch_matmul_op(y, grad, adj_x=adj_y, adj_y=True)
        grad_y = batch_matmul_op(x, grad) if not adj_y else batch_matmul_op(grad, x, adj_x=True, adj_y=True)
    return [sum_to_shape_of(x, grad_x), sum_to_shape_of(y, grad_y)]
