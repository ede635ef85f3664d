"""Gradients of tridiagonal solvers and products."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.concat import concat, stack, unstack
from thalweg._src.graph.ops.math import conj, multiply, negative
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, zeros_like
from thalweg._src.graph.ops.tridiagonal import tridiagonal_matmul_op, tridiagonal_solve_op
from thalweg._src.graph.tensor import Tensor


def _lifted(x: Tensor) -> Tensor:
    """Shifts rows up by one; the last row is zero."""
    return concat([x[..., 1:, :], zeros_like(x[..., :1, :])], -2)


def _lowered(x: Tensor) -> Tensor:
    return concat([zeros_like(x[..., :1, :]), x[..., :-1, :]], -2)


def _by_diagonals(left: Tensor, right: Tensor) -> list[Tensor]:
    """Returns the three diagonals of `left @ adjoint(right)`."""
    right = conj(right)
    return [reduce_sum(multiply(left, x), -1) for x in (_lifted(right), right, _lowered(right))]


def _transposed(above: Tensor, main: Tensor, below: Tensor) -> list[Tensor]:
    """Returns the diagonals of the adjoint: the off-diagonals are swapped and shifted by one."""
    above, below = (expand_dims(x, -1) for x in (above, below))
    return [conj(_lifted(below)[..., 0]), conj(main), conj(_lowered(above)[..., 0])]


@gradient("TridiagonalMatMul")
def multiply_gradient(op: Operation, grad: Tensor) -> list[Any]:
    *diagonals, rhs = op.inputs
    adjoint = _transposed(*(x[..., 0, :] for x in diagonals))
    by_rhs = tridiagonal_matmul_op(*(expand_dims(x, -2) for x in adjoint), grad)
    return [*(expand_dims(x, -2) for x in _by_diagonals(grad, rhs)), by_rhs]


@gradient("TridiagonalSolve")
def solve_gradient(op: Operation, grad: Tensor) -> list[Any]:
    above, main, below = unstack(op.inputs[0], num=3, axis=-2)
    adjoint = stack(_transposed(above, main, below), axis=-2)
    by_rhs = tridiagonal_solve_op(
        adjoint, grad, partial_pivoting=op.attrs["partial_pivoting"], perturb_singular=op.attrs["perturb_singular"]
    )
    return [lambda: negative(stack(_by_diagonals(by_rhs, op.outputs[0]), axis=-2)), by_rhs]
