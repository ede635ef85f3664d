"""Matrix inverses, determinants, linear solvers and matrix functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thalweg._src.base import dtypes
from thalweg._src.base.export import export
from thalweg._src.base.shapes import Shape, broadcast, merge, show
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.infer import Inference
from thalweg._src.graph.op_def import op
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.comparison import greater
from thalweg._src.graph.ops.decompositions import MATRIX_TYPES, cholesky, square_matrices, svd, unchanged_square
from thalweg._src.graph.ops.diagonal import matrix_band_part, matrix_diag_part, matrix_diag_part_op, matrix_set_diag_op
from thalweg._src.graph.ops.gather import batch_gather, gather
from thalweg._src.graph.ops.math import divide, log, multiply, real
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.reduction import reduce_max, reduce_sum
from thalweg._src.graph.ops.reshape import expand_dims, invert_permutation, matrix_transpose, ones_like, shape
from thalweg._src.graph.ops.shape_functions import at_least_rank, same_dimension, scalar_value
from thalweg._src.graph.ops.where import one_hot, where_v2
from thalweg._src.graph.scopes import name_scope
from thalweg._src.graph.tensor import Tensor
from thalweg._src.graph.types import TensorLike

# -- ops --------------------------------------------------------------------------------------------------------------


def _determinant(c: Inference) -> Sequence[Shape]:
    shape = square_matrices(c)
    return [None if shape is None else shape[:-2]] * c.num_outputs


def _solution(c: Inference, matrix: Shape, rhs: Shape, batch: Any) -> Sequence[Shape]:
    """Returns the shape of a solution: the right-hand side's columns, with as many rows as the matrix has columns."""
    if matrix is None or rhs is None:
        return [None]
    same_dimension(matrix[-2], rhs[-2], "numbers of rows", expected="a right-hand side with a row for each of matrix")
    leading = batch(matrix[:-2], rhs[:-2])
    return [(*leading, matrix[-1], rhs[-1])]


def _solve(c: Inference) -> Sequence[Shape]:
    return _solution(c, square_matrices(c), at_least_rank(c, 1, 2), merge)


def _triangular_solve(c: Inference) -> Sequence[Shape]:
    return _solution(c, square_matrices(c), at_least_rank(c, 1, 2), broadcast)


def _solve_ls(c: Inference) -> Sequence[Shape]:
    scalar_value(c, 2)
    return _solution(c, at_least_rank(c, 0, 2), at_least_rank(c, 1, 2), merge)


matrix_inverse = export(
    "matrix_inverse", "linalg.inv", adjoint="Whether the conjugate transpose of the inverse is returned."
)(
    op(
        "MatrixInverse",
        "input: T -> output: T",
        adjoint=False,
        T=MATRIX_TYPES,
        infer=unchanged_square,
        doc="Inverts matrices, or their adjoints.",
        capturable=False,
    )
)
matrix_determinant = export("matrix_determinant", "linalg.det", input="The matrices.")(
    op(
        "MatrixDeterminant",
        "input: T -> output: T",
        T=MATRIX_TYPES,
        infer=_determinant,
        doc="Computes the determinant of matrices.",
    )
)
slogdet_op = op(
    "LogMatrixDeterminant",
    "input: T -> sign: T, log_abs_determinant: T",
    T=MATRIX_TYPES,
    infer=_determinant,
    doc="Computes the sign and the log absolute value of the determinant.",
)
matrix_solve_op = export(
    "matrix_solve",
    "linalg.solve",
    matrix="The matrices of the equations.",
    adjoint="Whether the equations have the conjugate transpose of `matrix`.",
)(
    op(
        "MatrixSolve",
        "matrix: T, rhs: T -> output: T",
        adjoint=False,
        T=MATRIX_TYPES,
        infer=_solve,
        doc="Solves `matrix @ output = rhs`, or with the adjoint of matrix.",
        capturable=False,
    )
)
matrix_triangular_solve_op = op(
    "MatrixTriangularSolve",
    "matrix: T, rhs: T -> output: T",
    lower=True,
    adjoint=False,
    T=MATRIX_TYPES | {dtypes.bfloat16},
    infer=_triangular_solve,
    doc="Solves `matrix @ output = rhs` for a triangular matrix.",
)
matrix_solve_ls_op = op(
    "MatrixSolveLs",
    "matrix: T, rhs: T, l2_regularizer: float64 -> output: T",
    T=MATRIX_TYPES,
    fast=True,
    host="l2_regularizer",
    infer=_solve_ls,
    doc="Solves systems of linear equations by regularized least squares.",
    capturable=False,
)
sqrtm = export("matrix_square_root", "linalg.sqrtm", input="The matrices.")(
    op(
        "MatrixSquareRoot",
        "input: T -> output: T",
        T=MATRIX_TYPES,
        infer=unchanged_square,
        doc="Computes the principal square root of matrices.",
        capturable=False,
    )
)
logm = export("linalg.logm", input="The matrices.")(
    op(
        "MatrixLogarithm",
        "input: T -> output: T",
        T=dtypes.COMPLEX,
        infer=unchanged_square,
        doc="Computes the principal logarithm of matrices.",
        capturable=False,
    )
)
expm = export("linalg.expm", input="The matrices.")(
    op(
        "MatrixExponential",
        "input: T -> output: T",
        T=MATRIX_TYPES,
        infer=unchanged_square,
        doc="Computes the exponential of matrices.",
    )
)
matrix_solve = matrix_solve_op
matrix_square_root = sqrtm


# -- equations --------------------------------------------------------------------------------------------------------


@export("matrix_triangular_solve", "linalg.triangular_solve")
def matrix_triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solves `matrix @ x = rhs` for a triangular matrix; batch dimensions broadcast.

    Args:
        matrix: The matrices of the equations.
        lower: Whether the lower triangle is used, not the upper one.
        adjoint: Whether the equations have the conjugate transpose of `matrix`.
    """
    with name_scope(name, "triangular_solve", [matrix, rhs]):
        return matrix_triangular_solve_op(matrix, rhs, lower=lower, adjoint=adjoint)


@export("cholesky_solve", "linalg.cholesky_solve")
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solves `A @ x = rhs`, given the Cholesky factor of A."""
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        y = matrix_triangular_solve_op(chol, rhs, lower=True, adjoint=False)
        return matrix_triangular_solve_op(chol, y, lower=True, adjoint=True)


@export("matrix_solve_ls", "linalg.lstsq")
def matrix_solve_ls(
    matrix: TensorLike, rhs: TensorLike, l2_regularizer: TensorLike = 0.0, fast: bool = True, name: str | None = None
) -> Tensor:
    """Minimizes `|matrix @ x - rhs|**2 + l2_regularizer * |x|**2`; with fast=False for any rank, unregularized.

    Args:
        matrix: The matrices of the equations.
        l2_regularizer: Weight of the squared norm of the solution.
        fast: Whether the normal equations are solved by Cholesky's method, which needs full rank.
    """
    return matrix_solve_ls_op(matrix, rhs, l2_regularizer, fast=fast, name=name)


@export("linalg.slogdet")
def slogdet(input: TensorLike, name: str | None = None) -> Any:
    """Returns (sign, log_abs_determinant) of matrices.

    Args:
        input: The matrices.
    """
    return slogdet_op.many(input, name=name)


@export("linalg.logdet")
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Returns the logarithm of the determinant of positive definite matrices.

    Args:
        matrix: The matrices.
    """
    with name_scope(name, "logdet", [matrix]):
        diagonal = real(matrix_diag_part(cholesky(matrix)))
        return multiply(reduce_sum(log(diagonal), axis=[-1]), 2.0)


@export("linalg.adjoint")
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Returns the conjugate transposes of matrices.

    Args:
        matrix: The matrices.
    """
    with name_scope(name, "adjoint", [matrix]):
        return matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)


# -- what a decomposition gives ---------------------------------------------------------------------------------------


@export("linalg.lu_reconstruct")
def lu_reconstruct(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Returns the matrix that `lu` decomposed.

    Args:
        perm: The permutation, as `tf.linalg.lu` returns it.
    """
    with name_scope(name, "lu_reconstruct", [lower_upper, perm]):
        factors, order = _lu_arguments(lower_upper, perm)
        return _reordered(matmul(_unit_lower(factors), matrix_band_part(factors, 0, -1)), order, back=True)


@export("linalg.lu_solve")
def lu_solve(
    lower_upper: TensorLike, perm: TensorLike, rhs: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Solves `A @ x = rhs`, given the result of `lu` for A.

    Args:
        perm: The permutation, as `tf.linalg.lu` returns it.
    """
    with name_scope(name, "lu_solve", [lower_upper, perm, rhs]):
        factors, order = _lu_arguments(lower_upper, perm)
        right = convert_to_tensor(rhs, dtype=factors.dtype, name="rhs")
        y = matrix_triangular_solve_op(_unit_lower(factors), _reordered(right, order))
        return matrix_triangular_solve_op(factors, y, lower=False)


@export("linalg.lu_matrix_inverse")
def lu_matrix_inverse(
    lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Returns the inverse of the matrix that `lu` decomposed.

    Args:
        perm: The permutation, as `tf.linalg.lu` returns it.
    """
    with name_scope(name, "lu_matrix_inverse", [lower_upper, perm]):
        factors, order = _lu_arguments(lower_upper, perm)
        unit = one_hot(order, shape(factors)[-1], dtype=factors.dtype)
        return matrix_triangular_solve_op(factors, matrix_triangular_solve_op(_unit_lower(factors), unit), lower=False)


def _lu_arguments(lower_upper: TensorLike, perm: TensorLike) -> tuple[Tensor, Tensor]:
    factors = convert_to_tensor(lower_upper, dtype_hint=dtypes.float32, name="lower_upper")
    order = convert_to_tensor(perm, dtype_hint=dtypes.int32, name="perm")
    dims = factors.dims
    if dims is not None and (len(dims) < 2 or (None not in dims[-2:] and dims[-2] != dims[-1])):
        raise ValueError(f"Input `lower_upper` must be (batches of) square matrices, got shape {show(dims)}.")
    if dims is not None and order.dims is not None and len(order.dims) != len(dims) - 1:
        raise ValueError(f"Input `perm` must have rank {len(dims) - 1}, got shape {show(order.dims)}.")
    return factors, order


def _unit_lower(factors: Tensor) -> Tensor:
    return matrix_set_diag_op(matrix_band_part(factors, -1, 0), ones_like(matrix_diag_part_op(factors)))


def _reordered(rows: Tensor, order: Tensor, back: bool = False) -> Tensor:
    """Permutes the rows of matrices, or applies the inverse permutation."""
    if order.dims is not None and len(order.dims) == 1 and rows.dims is not None and len(rows.dims) == 2:
        return gather(rows, invert_permutation(order) if back else order)
    if not back and order.dims is not None and rows.dims is not None and order.dims == rows.dims[:-1]:
        return batch_gather(rows, order)
    unit = one_hot(order, shape(rows)[-2], dtype=rows.dtype)
    return matmul(unit, rows, adjoint_a=back)


def _threshold(s: Tensor, a: Tensor, factor: Any) -> Tensor:
    """Returns the cutoff for singular values, relative to the largest of each matrix."""
    return multiply(factor, reduce_max(s, axis=-1, keepdims=True))


def _longest(a: Tensor) -> Any:
    dims = a.dims
    if dims is not None and dims[-2] is not None and dims[-1] is not None:
        return np.array(max(dims[-2], dims[-1]), a.dtype.real_dtype.as_numpy_dtype)
    return cast(reduce_max(shape(a)[-2:]), a.dtype.real_dtype)


@export("linalg.matrix_rank")
def matrix_rank(
    a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Counts the singular values greater than tol, which defaults to the rounding error.

    Args:
        a: The matrices.
        tol: Singular values up to it count as zero.
    """
    with name_scope(name, "matrix_rank", [a, tol]):
        matrix = convert_to_tensor(a, dtype_hint=dtypes.float32, name="a")
        _require_matrices(matrix)
        s = svd(matrix, compute_uv=False)
        if tol is None:
            epsilon = np.finfo(matrix.dtype.real_dtype.as_numpy_dtype).eps
            tol = _threshold(s, matrix, multiply(_longest(matrix), epsilon))
        return reduce_sum(cast(greater(s, tol), dtypes.int32), axis=-1)


@export("linalg.pinv")
def pinv(
    a: TensorLike, rcond: TensorLike | None = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Computes the pseudo-inverse; singular values below rcond times the largest count as zero.

    Args:
        a: The matrices.
        rcond: Fraction of the largest singular value below which one counts as zero.
    """
    with name_scope(name, "pinv", [a, rcond]):
        matrix = convert_to_tensor(a, name="a")
        _require_matrices(matrix)
        if not (matrix.dtype.is_floating or matrix.dtype.is_complex):
            raise TypeError(f"Input `a` must have floating or complex elements, got {matrix.dtype.name}.")
        kind = matrix.dtype.real_dtype
        if rcond is None:
            rcond = multiply(_longest(matrix), 10.0 * np.finfo(kind.as_numpy_dtype).eps)
        s, u, v = svd(matrix, full_matrices=False)
        limit = multiply(expand_dims(convert_to_tensor(rcond, dtype=kind), -1), reduce_max(s, axis=-1, keepdims=True))
        # Infinite where zero, so that the reciprocal and its gradient are zero there.
        s = where_v2(greater(s, limit), s, np.array(np.inf, kind.as_numpy_dtype))
        return matmul(divide(v, expand_dims(cast(s, matrix.dtype), -2)), u, adjoint_b=True)


def _require_matrices(matrix: Tensor) -> None:
    if matrix.dims is not None and len(matrix.dims) < 2:
        raise ValueError(f"a has rank {len(matrix.dims)}, expected 2 or more")
