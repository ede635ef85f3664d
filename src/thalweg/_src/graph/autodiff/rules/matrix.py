"""Gradients of matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.math import conj
from thalweg._src.graph.ops.matrix import batch_matmul_op, matmul_op
from thalweg._src.graph.tensor import Tensor


def factors(
    product: OpDef, x: Tensor, y: Tensor, grad: Tensor, adj_x: bool, adj_y: bool
) -> tuple[Callable[[], Tensor], Callable[[], Tensor]]:
    """Returns functions of the gradients of a product by its factors, each of which it may transpose.

    product: the op of the gradients, whose two attributes say which of its inputs are transposed
    """
    first, second, *_ = product.explicit

    def multiplied(a: Tensor, b: Tensor, adj_a: bool, adj_b: bool) -> Tensor:
        attrs: dict[str, Any] = {first: adj_a, second: adj_b}
        return product(a, b, **attrs)

    # Of z = x @ y they are grad @ y^T and x^T @ grad. A factor that is transposed in the product has the transposed
    # gradient, which the order of the operands gives without a further operation: (grad @ y^T)^T = y @ grad^T.
    return (
        lambda: multiplied(y, grad, adj_y, True) if adj_x else multiplied(grad, y, False, not adj_y),
        lambda: multiplied(grad, x, True, adj_x) if adj_y else multiplied(x, grad, not adj_x, False),
    )


@gradient("MatMul")
def matmul(op: Operation, grad: Tensor) -> list[Any]:
    a, b = (conj(t) for t in op.inputs)
    return [*factors(matmul_op, a, b, grad, op.attrs["transpose_a"], op.attrs["transpose_b"])]


@gradient("BatchMatMulV2")
def batch_matmul(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op.inputs
    by_x, by_y = factors(batch_matmul_op, x, y, grad, op.attrs["adj_x"], op.attrs["adj_y"])
    return [lambda: sum_to_shape_of(x, by_x()), lambda: sum_to_shape_of(y, by_y())]
