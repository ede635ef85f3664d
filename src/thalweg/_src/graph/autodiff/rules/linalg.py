"""Gradients of matrix inverses, determinants, linear solvers and matrix functions."""

from __future__ import annotations

from typing import Any

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.autodiff.rules.broadcasting import sum_to_shape_of
from thalweg._src.graph.autodiff.rules.decompositions import adjoint, product
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import linalg
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.decompositions import cholesky
from thalweg._src.graph.ops.diagonal import eye, matrix_band_part, matrix_diag_part_op, matrix_set_diag_op
from thalweg._src.graph.ops.math import add, complex, conj, imag, multiply, negative, real, subtract
from thalweg._src.graph.ops.reshape import constant_value, expand_dims, matrix_transpose, reshape, shape, zeros_like
from thalweg._src.graph.tensor import Tensor


@gradient("MatrixInverse")
def inverse(op: Operation, grad: Tensor) -> Tensor:
    result = op.outputs[0]
    if op.attrs["adjoint"]:
        return negative(product(result, product(grad, result, adj_x=True)))
    return negative(product(result, product(grad, result, adj_y=True), adj_x=True))


def _by_matrix(op: Operation, factor: Tensor) -> Tensor:
    """Returns one scalar per matrix times the adjoint of its inverse."""
    return multiply(expand_dims(expand_dims(factor, -1), -1), linalg.matrix_inverse(op.inputs[0], adjoint=True))


@gradient("MatrixDeterminant")
def determinant(op: Operation, grad: Tensor) -> Tensor:
    return _by_matrix(op, multiply(grad, conj(op.outputs[0])))


@gradient("LogMatrixDeterminant")
def log_determinant(op: Operation, grad_sign: Tensor, grad_log: Tensor) -> Tensor:
    if not grad_log.dtype.is_complex:
        return _by_matrix(op, grad_log)
    turn = imag(multiply(grad_sign, conj(op.outputs[0])))
    return _by_matrix(op, complex(real(grad_log), turn))


@gradient("MatrixSolve")
def solve(op: Operation, grad: Tensor) -> list[Any]:
    adj = op.attrs["adjoint"]
    by_rhs = linalg.matrix_solve_op(op.inputs[0], grad, adjoint=not adj)
    return [lambda: negative(_outer(by_rhs, op.outputs[0], adj)), by_rhs]


def _outer(by_rhs: Tensor, solution: Tensor, adj: bool) -> Tensor:
    return product(solution, by_rhs, adj_y=True) if adj else product(by_rhs, solution, adj_y=True)


@gradient("MatrixTriangularSolve")
def triangular_solve(op: Operation, grad: Tensor) -> list[Any]:
    matrix, rhs = op.inputs
    adj, lower = op.attrs["adjoint"], op.attrs["lower"]
    by_rhs = linalg.matrix_triangular_solve_op(matrix, grad, lower=lower, adjoint=not adj)

    def by_matrix() -> Tensor:
        whole = negative(_outer(by_rhs, op.outputs[0], adj))
        band = matrix_band_part(whole, -1, 0) if lower else matrix_band_part(whole, 0, -1)
        return sum_to_shape_of(matrix, band)

    return [by_matrix, lambda: sum_to_shape_of(rhs, by_rhs)]


@gradient("MatrixSolveLs")
def solve_ls(op: Operation, grad: Tensor) -> list[Any]:
    """With P the (regularized) pseudo-inverse of A, the differential of X = P @ B follows from that of P.

    Overdetermined and underdetermined systems have separate formulas; with a regularizer both are valid, and without
    one the derivative of a full-rank pseudo-inverse is valid for any shape.
    """
    if not op.attrs["fast"]:
        raise ValueError("Gradient not defined for fast=False")
    matrix, rhs, regularizer = op.inputs
    dims = matrix.dims
    if dims is not None and dims[-2] is not None and dims[-1] is not None:
        rule = _overdetermined if dims[-2] >= dims[-1] else _underdetermined
    elif constant_value(regularizer) == 0:
        rule = _undetermined
    else:
        rule = _overdetermined
    return [*rule(matrix, rhs, regularizer, op.outputs[0], grad), None]


def _regularized(gram: Tensor, regularizer: Tensor) -> Tensor:
    diagonal = matrix_diag_part_op(gram)
    return cholesky(matrix_set_diag_op(gram, add(diagonal, cast(regularizer, gram.dtype))))


def _overdetermined(a: Tensor, b: Tensor, regularizer: Tensor, x: Tensor, grad: Tensor) -> list[Any]:
    z = linalg.cholesky_solve(_regularized(product(a, a, adj_x=True), regularizer), grad)
    residue = subtract(b, product(a, x))
    by_a = subtract(product(residue, z, adj_y=True), product(a, product(z, x, adj_y=True)))
    return [by_a, product(a, z)]


def _underdetermined(a: Tensor, b: Tensor, regularizer: Tensor, x: Tensor, grad: Tensor) -> list[Any]:
    factor = _regularized(product(a, a, adj_y=True), regularizer)
    by_b = linalg.cholesky_solve(factor, product(a, grad))
    left = subtract(grad, product(a, by_b, adj_x=True))
    by_a = subtract(product(linalg.cholesky_solve(factor, b), left, adj_y=True), product(by_b, x, adj_y=True))
    return [by_a, by_b]


def _undetermined(a: Tensor, b: Tensor, regularizer: Tensor, x: Tensor, grad: Tensor) -> list[Any]:
    unit = eye(shape(a)[-2], batch_shape=shape(a)[:-2], dtype=a.dtype)
    inverse = linalg.matrix_solve_ls_op(a, unit, regularizer)
    by_b = product(inverse, grad, adj_x=True)
    residue, left = subtract(b, product(a, x)), subtract(grad, product(a, by_b, adj_x=True))
    by_a = subtract(product(residue, product(inverse, by_b), adj_y=True), product(by_b, x, adj_y=True))
    return [add(by_a, product(product(inverse, x, adj_x=True), left, adj_y=True)), by_b]


# -- functions of matrices --------------------------------------------------------------------------------------------


@gradient("MatrixExponential")
def exponential(op: Operation, grad: Tensor) -> Tensor:
    return _by_blocks(linalg.expm, op.inputs[0], grad)


@gradient("MatrixLogarithm")
def logarithm(op: Operation, grad: Tensor) -> Tensor:
    return _by_blocks(linalg.logm, op.inputs[0], grad)


def _by_blocks(function: OpDef, x: Tensor, grad: Tensor) -> Tensor:
    """Returns the Fréchet derivative of a matrix function: the corner block of its value at [[x, dx], [0, x]]."""
    size = shape(x)[-1]
    x = adjoint(x)
    blocks = concat([concat([x, grad], -1), concat([zeros_like(x), x], -1)], -2)
    return function(blocks)[..., :size, size:]


@gradient("MatrixSquareRoot")
def square_root(op: Operation, grad: Tensor) -> Tensor:
    """Solves the Sylvester equation `R^H @ dX + dX @ R^H = grad` as a linear system for the elements of dX."""
    root = adjoint(op.outputs[0])
    size = shape(root)[-1]
    unit = eye(size, dtype=root.dtype)
    count = concat([shape(root)[:-2], [size * size, size * size]], 0)
    # Element (i, j) of R dX + dX R takes R[i, k] of dX[k, j] and R[k, j] of dX[i, k].
    left = multiply(_spread(root, -2, -1), reshape(unit, [1, size, 1, size]))
    right = multiply(reshape(unit, [size, 1, size, 1]), _spread(matrix_transpose(root), -2, -4))
    equations = reshape(add(left, right), count)
    columns = concat([shape(root)[:-2], [size * size, 1]], 0)
    return reshape(linalg.matrix_solve_op(equations, reshape(grad, columns)), shape(root))


def _spread(x: Tensor, *axes: int) -> Tensor:
    for axis in axes:
        x = expand_dims(x, axis)
    return x
