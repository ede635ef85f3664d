"""Kernels of matrix inverses, determinants, linear solvers and matrix functions."""

from __future__ import annotations

from typing import Any

import torch

from thalweg._src.base.errors import invalid
from thalweg._src.base.shapes import show
from thalweg._src.graph.ir.step_graph import Node
from thalweg._src.graph.ops.shape_functions import require
from thalweg._src.runtime.kernels.decompositions import Function, require_square, require_success, widened
from thalweg._src.runtime.kernels.registry import kernel, plain_kernel
from thalweg._src.runtime.resources.devices import Device

_SINGULAR = "Input matrix is not invertible."
_DEFICIENT = "the matrix is rank deficient, or nearly so; hint: fast=False, or a larger l2_regularizer"


def _require_batches(matrix: torch.Tensor, rhs: torch.Tensor) -> None:
    """Requires equal batch dimensions, which torch would broadcast."""
    require(
        matrix.ndim >= 2 and matrix.shape[:-2] == rhs.shape[:-2] and matrix.shape[-2] == rhs.shape[-2],
        f"rhs has shape {show(tuple(rhs.shape))}",
        expected=f"that of matrix, {show(tuple(matrix.shape))}, except for the last dimension",
    )


@kernel("MatrixInverse")
def bind_inverse(node: Node, device: Device) -> Function:
    adjoint = node.attrs["adjoint"]

    def invert(x: torch.Tensor) -> Any:
        result, info = torch.linalg.inv_ex(x)
        require_success(info, "Input is not invertible.")
        return result.mH if adjoint else result

    return widened(invert, node.attrs["T"])


@kernel("MatrixDeterminant")
def bind_determinant(node: Node, device: Device) -> Function:
    return widened(torch.linalg.det, node.attrs["T"])


@kernel("LogMatrixDeterminant")
def bind_log_determinant(node: Node, device: Device) -> Function:
    def determine(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        sign, logarithm = torch.linalg.slogdet(x)
        return torch.where(logarithm.isnan(), torch.nan, sign), logarithm.to(x.dtype)  # torch returns 0 for NaN

    return widened(determine, node.attrs["T"])


@kernel("MatrixSolve")
def bind_solve(node: Node, device: Device) -> Function:
    adjoint = node.attrs["adjoint"]

    def solve(matrix: torch.Tensor, rhs: torch.Tensor) -> Any:
        _require_batches(matrix, rhs)
        result, info = torch.linalg.solve_ex(matrix.mH if adjoint else matrix, rhs)
        require_success(info, _SINGULAR)
        return result

    return widened(solve, node.attrs["T"])


@kernel("MatrixTriangularSolve")
def bind_triangular_solve(node: Node, device: Device) -> Function:
    lower, adjoint = node.attrs["lower"], node.attrs["adjoint"]
    # On a GPU the check would synchronize; there the result contains infinities instead.
    tested = device.type == "CPU"

    def solve(matrix: torch.Tensor, rhs: torch.Tensor) -> Any:
        if tested and matrix.numel() and (matrix.diagonal(0, -2, -1) == 0).any():
            raise invalid(_SINGULAR)
        return torch.linalg.solve_triangular(matrix.mH if adjoint else matrix, rhs, upper=lower == adjoint)

    return widened(solve, node.attrs["T"])


@kernel("MatrixSolveLs")
def bind_solve_ls(node: Node, device: Device) -> Function:
    if not node.attrs["fast"]:
        return widened(_least_squares, node.attrs["T"])

    def solve(matrix: torch.Tensor, rhs: torch.Tensor, regularizer: torch.Tensor) -> torch.Tensor:
        _require_batches(matrix, rhs)
        rows, columns = matrix.shape[-2:]
        wide = rows < columns
        gram = matrix @ matrix.mH if wide else matrix.mH @ matrix
        gram.diagonal(0, -2, -1).add_(_weight(regularizer))
        factor, info = torch.linalg.cholesky_ex(gram)
        require_success(info, _DEFICIENT, gram)
        if wide:
            return matrix.mH @ torch.cholesky_solve(rhs, factor)
        return torch.cholesky_solve(matrix.mH @ rhs, factor)

    return widened(solve, node.attrs["T"])


def _weight(regularizer: torch.Tensor) -> float:
    require(regularizer.ndim == 0, f"l2_regularizer has rank {regularizer.ndim}", expected="a scalar")
    if regularizer < 0:
        raise invalid(f"l2_regularizer is {float(regularizer)}, expected 0 or more")
    return float(regularizer)


def _least_squares(matrix: torch.Tensor, rhs: torch.Tensor, regularizer: torch.Tensor) -> Any:
    """Returns the minimum-norm least-squares solution for any rank."""
    _require_batches(matrix, rhs)
    _weight(regularizer)
    if matrix.is_cpu and matrix.numel() and rhs.numel():
        return torch.linalg.lstsq(matrix, rhs, driver="gelsy").solution
    return torch.linalg.pinv(matrix) @ rhs


# -- functions of matrices --------------------------------------------------------------------------------------------


@kernel("MatrixExponential")
def bind_exponential(node: Node, device: Device) -> Function:
    return widened(torch.linalg.matrix_exp, node.attrs["T"])


@kernel("MatrixSquareRoot")
def bind_square_root(node: Node, device: Device) -> Function:
    def root(x: torch.Tensor) -> torch.Tensor:
        require_square(x)
        result = _root(x.to(torch.complex128))
        if x.is_complex():
            return result.to(x.dtype)
        scale = result.abs().amax((-2, -1), keepdim=True) if x.numel() else 0.0
        is_real = result.imag.abs() <= 1e-6 * scale
        return torch.where(is_real.all(-1, keepdim=True).all(-2, keepdim=True), result.real, torch.nan).to(x.dtype)

    return widened(root, node.attrs["T"])


@plain_kernel("MatrixLogarithm")
def _logarithm(x: torch.Tensor) -> torch.Tensor:
    require_square(x)
    if not x.numel():
        return x
    z = x.to(torch.complex128)
    by_eigen = _by_eigenvalues(z, torch.log)
    wrong = _is_far(torch.linalg.matrix_exp(by_eigen), z)
    result = torch.where(wrong, _log_by_roots(z), by_eigen) if wrong.any() else by_eigen
    return result.to(x.dtype)


def _by_eigenvalues(z: torch.Tensor, function: Function) -> torch.Tensor:
    """Applies a function to the eigenvalues; NaN where there is no basis of eigenvectors."""
    finite = z.isfinite().all(-1, keepdim=True).all(-2, keepdim=True)
    e, v = torch.linalg.eig(torch.where(finite, z, 0))
    result, info = torch.linalg.solve_ex(v, v * function(e)[..., None, :], left=False)
    return torch.where(finite & (info == 0)[..., None, None], result, torch.nan)


def _is_far(a: torch.Tensor, b: torch.Tensor) -> Any:
    """Returns which matrices differ by more than rounding errors."""
    difference = torch.linalg.matrix_norm(a - b, keepdim=True)
    return ~(difference <= 1e-10 * torch.linalg.matrix_norm(b, keepdim=True))


def _root(z: torch.Tensor) -> torch.Tensor:
    if not z.numel():
        return z
    by_eigen = _by_eigenvalues(z, torch.sqrt)
    wrong = _is_far(by_eigen @ by_eigen, z)
    if not wrong.any():
        return by_eigen
    result = _root_by_iteration(z)
    return torch.where(wrong & ~_is_far(result @ result, z), result, torch.where(wrong, torch.nan, by_eigen))


def _root_by_iteration(z: torch.Tensor) -> torch.Tensor:
    """Computes square roots by the Denman-Beavers iteration, which needs no eigenvectors."""
    y, inverse = z, torch.eye(z.shape[-1], dtype=z.dtype, device=z.device).expand_as(z)
    for _ in range(100):
        next_y = (y + torch.linalg.inv_ex(inverse).inverse) / 2
        inverse = (inverse + torch.linalg.inv_ex(y).inverse) / 2
        change, y = (next_y - y).abs().amax(), next_y
        if not change > 1e-15 * y.abs().amax():
            break
    return y


def _log_by_roots(z: torch.Tensor) -> torch.Tensor:
    """Takes square roots until the matrix is near the identity, where quadrature computes the logarithm."""
    unit = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device)
    count = 0
    while count < 60 and torch.linalg.matrix_norm(z - unit).max() > 0.25:
        z, count = _root(z), count + 1
    x, result = z - unit, torch.zeros_like(z)
    for point, weight in zip(_POINTS, _WEIGHTS):
        result = result + weight * torch.linalg.solve_ex(unit + point * x, x).result
    return result * 2.0**count


# Gauss-Legendre quadrature with 8 points on [0, 1], for log(1 + x), the integral of x / (1 + t * x).
_HALF = (0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363)
_HALF_WEIGHTS = (0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763)
_POINTS = [*((1 + p) / 2 for p in _HALF), *((1 - p) / 2 for p in _HALF)]
_WEIGHTS = [w / 2 for w in _HALF_WEIGHTS] * 2
