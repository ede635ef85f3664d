"""Gradients of matrix products."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.math import conj
from thalweg._src.graph.ops.matrix import batch_matmul_op, matmul_op
from thalweg._src.graph.tensor import Tensor


@gradient("MatMul")
def matmul(op: Operation, grad: Tensor) -> list[Any]:
    a, b = (conj(t) for t in op.inputs)
    transpose_a, transpose_b = op.attrs["transpose_a"], op.attrs["transpose_b"]

    def by_a() -> Tensor:
        if transpose_a:
            return matmul_op(b, grad, transpose_a=transpose_b, transpose_b=True)
        return matmul_op(grad, b, transpose_b=not transpose_b)

    def by_b() -> Tensor:
        if transpose_b:
            return matmul_op(grad, a, transpose_a=True, transpose_b=transpose_a)
        return matmul_op(a, grad, transpose_a=not transpose_a)

    return [by_a, by_b]


@gradient("BatchMatMulV2")
def batch_matmul(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    adj_x, adj_y = op.attrs["adj_x"], op.attrs["adj_y"]

    def by_x() -> Tensor:
        if adj_x:
            return batch_matmul_op(y, grad, adj_x=adj_y, adj_y=True)
        return batch_matmul_op(grad, y, adj_y=not adj_y)

    def by_y() -> Tensor:
        if adj_y:
            return batch_matmul_op(grad, x, adj_x=True, adj_y=adj_x)
        return batch_matmul_op(x, grad, adj_x=not adj_x)

    return [lambda: sum_to_shape_of(x, by_x()), lambda: sum_to_shape_of(y, by_y())]
