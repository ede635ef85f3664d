"""Gradients of matrix decompositions (Cholesky, QR, SVD, eigenvalues)."""

from __future__ import annotations

from thalweg._src.graph.autodiff.registry import gradient
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import math
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.concat import concat
from thalweg._src.graph.ops.decompositions import eig_op, self_adjoint_eig_op, svd_op
from thalweg._src.graph.ops.diagonal import matrix_band_part, matrix_diag_op, matrix_diag_part_op, matrix_set_diag_op
from thalweg._src.graph.ops.linalg import matrix_solve_op, matrix_triangular_solve_op
from thalweg._src.graph.ops.matrix import batch_matmul_op
from thalweg._src.graph.ops.reshape import expand_dims, matrix_transpose, ones_like, shape, zeros_like
from thalweg._src.graph.ops.where import one_hot
from thalweg._src.graph.tensor import Tensor

_TINY = {2: 1e-7, 4: 1e-20, 8: 1e-20}  # regularizes squared differences, by the size of the real type


def adjoint(x: Tensor) -> Tensor:
    return matrix_transpose(x, conjugate=True)


def product(a: Tensor, b: Tensor, adj_x: bool = False, adj_y: bool = False) -> Tensor:
    return batch_matmul_op(a, b, adj_x=adj_x, adj_y=adj_y)


def _half_diagonal(x: Tensor) -> Tensor:
    """Returns the lower triangle of x, with half of its diagonal."""
    return matrix_set_diag_op(matrix_band_part(x, -1, 0), math.multiply(matrix_diag_part_op(x), 0.5))


def _inverse_differences(values: Tensor) -> Tensor:
    """Returns the matrix of 1 / (values[j] - values[i]), zero where they are equal."""
    differences = math.subtract(expand_dims(values, -2), expand_dims(values, -1))
    safe = math.add(math.real(math.multiply(differences, math.conj(differences))), _TINY[values.dtype.real_dtype.size])
    return math.truediv(math.conj(differences), cast(safe, values.dtype))


@gradient("Cholesky")
def cholesky(op: Operation, grad: Tensor) -> Tensor:
    lower = op.outputs[0]
    inner = _half_diagonal(product(lower, grad, adj_x=True))
    left = matrix_triangular_solve_op(lower, inner, lower=True, adjoint=True)
    result = matrix_triangular_solve_op(lower, adjoint(left), lower=True, adjoint=True)
    return math.multiply(math.add(result, adjoint(result)), 0.5)


@gradient("Qr")
def qr(op: Operation, grad_q: Tensor, grad_r: Tensor) -> Tensor:
    """The leading square block of columns determines q; the remaining columns of r are q^H times those of the input."""
    q, r = op.outputs
    count = shape(r)[-2]
    if op.attrs["full_matrices"]:
        count = math.minimum(count, shape(r)[-1])
        q, grad_q = _thin(q, grad_q, count)
        r, grad_r = r[..., :count, :], grad_r[..., :count, :]
    rest, grad_rest = op.inputs[0][..., count:], grad_r[..., count:]
    upper, grad_upper = r[..., :count], grad_r[..., :count]
    grad_q = math.add(grad_q, product(rest, grad_rest, adj_y=True))
    inner = matrix_band_part(
        math.subtract(product(grad_upper, upper, adj_y=True), product(q, grad_q, adj_x=True)), 0, -1
    )
    whole = matrix_set_diag_op(math.add(inner, adjoint(inner)), _as_real(matrix_diag_part_op(inner)))
    turned = matrix_triangular_solve_op(upper, adjoint(math.add(grad_q, product(q, whole))), lower=False)
    return concat([adjoint(turned), product(q, grad_rest)], -1)


@gradient("Svd")
def svd(op: Operation, grad_s: Tensor, grad_u: Tensor, grad_v: Tensor) -> Tensor:
    if not op.attrs["compute_uv"]:
        _, u, v = svd_op.many(op.inputs[0], compute_uv=True, full_matrices=False)
        return product(_scaled(u, _as_real(grad_s)), v, adj_y=True)
    s, u, v = op.outputs
    if op.attrs["full_matrices"]:
        count = shape(s)[-1]
        u, grad_u = _thin(u, grad_u, count)
        v, grad_v = _thin(v, grad_v, count)
    inverse = _inverse_differences(math.square(s))
    by_u, by_v = product(u, grad_u, adj_x=True), product(v, grad_v, adj_x=True)
    rotation_u = math.multiply(math.subtract(by_u, adjoint(by_u)), inverse)
    rotation_v = math.multiply(math.subtract(by_v, adjoint(by_v)), inverse)
    safe = math.truediv(s, math.add(math.square(s), _TINY[s.dtype.real_dtype.size]))
    diagonal = _as_real(grad_s)
    if s.dtype.is_complex:
        phase = math.negative(math.imag(matrix_diag_part_op(by_v)))
        diagonal = math.add(diagonal, math.multiply(math.complex(zeros_like(phase), phase), safe))
    inner = math.add(_scaled(rotation_u, s), math.multiply(expand_dims(s, -1), rotation_v))
    inner = math.add(inner, matrix_diag_op(diagonal))
    left = math.add(product(u, inner), _scaled(math.subtract(grad_u, product(u, by_u)), safe))
    right = _scaled(math.subtract(grad_v, product(v, by_v)), safe)
    return math.add(product(left, v, adj_y=True), product(u, right, adj_y=True))


def _scaled(columns: Tensor, factors: Tensor) -> Tensor:
    return math.multiply(columns, expand_dims(factors, -2))


def _as_real(x: Tensor) -> Tensor:
    return cast(math.real(x), x.dtype) if x.dtype.is_complex else x


def _thin(vectors: Tensor, grad: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the leading vectors with their gradients, which include those of the remaining vectors' rotation."""
    first, rest = vectors[..., :count], vectors[..., count:]
    back = product(rest, product(grad[..., count:], first, adj_x=True))
    return first, math.subtract(grad[..., :count], back)


@gradient("SelfAdjointEigV2")
def self_adjoint_eig(op: Operation, grad_e: Tensor, grad_v: Tensor) -> Tensor:
    """Only the lower triangle of the input is read, so its gradient accounts for both halves."""
    if op.attrs["compute_v"]:
        e, v = op.outputs
        inner = math.multiply(product(v, grad_v, adj_x=True), _inverse_differences(e))
        inner = math.add(inner, matrix_diag_op(_as_real(grad_e)))
        result = product(product(v, inner), v, adj_y=True)
    else:
        _, v = self_adjoint_eig_op.many(op.inputs[0], compute_v=True)
        result = product(_scaled(v, _as_real(grad_e)), v, adj_y=True)
    return _half_diagonal(math.add(result, adjoint(result)))


@gradient("Eig")
def eig(op: Operation, grad_e: Tensor, grad_v: Tensor) -> Tensor:
    """Eigenvectors are normalized to length 1."""
    if op.attrs["compute_v"]:
        e, v = op.outputs
        by_v = product(v, grad_v, adj_x=True)
        lengths = _as_real(matrix_diag_part_op(by_v))
        by_v = math.subtract(by_v, _scaled(product(v, v, adj_x=True), lengths))
        inner = math.add(math.multiply(by_v, math.conj(_inverse_differences(e))), matrix_diag_op(grad_e))
    else:
        _, v = eig_op.many(op.inputs[0], compute_v=True, Tout=op.attrs["Tout"])
        inner = matrix_diag_op(grad_e)
    result = matrix_solve_op(v, product(inner, v, adj_y=True), adjoint=True)
    return result if op.inputs[0].dtype.is_complex else math.real(result)


@gradient("Lu")
def lu(op: Operation, grad: Tensor, _: object) -> Tensor:
    factors, order = op.outputs
    lower = matrix_set_diag_op(matrix_band_part(factors, -1, 0), ones_like(matrix_diag_part_op(factors)))
    upper = matrix_band_part(factors, 0, -1)
    by_lower = product(lower, math.subtract(grad, matrix_band_part(grad, 0, -1)), adj_x=True)
    by_lower = math.subtract(by_lower, matrix_band_part(by_lower, 0, -1))
    by_upper = matrix_band_part(product(matrix_band_part(grad, 0, -1), upper, adj_y=True), 0, -1)
    left = matrix_triangular_solve_op(lower, math.add(by_lower, by_upper), lower=True, adjoint=True)
    result = adjoint(matrix_triangular_solve_op(upper, adjoint(left), lower=False))
    return product(one_hot(order, shape(factors)[-1], dtype=factors.dtype), result, adj_x=True)
