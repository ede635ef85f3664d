from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.checks import check_op
from tests.graph.ops.test_decompositions import TYPES, array, positive, run
from thalweg._src.graph.ops.decompositions import lu
from thalweg._src.graph.ops.linalg import (
    adjoint,
    cholesky_solve,
    expm,
    logdet,
    logm,
    lu_matrix_inverse,
    lu_reconstruct,
    lu_solve,
    matrix_determinant,
    matrix_inverse,
    matrix_rank,
    matrix_solve,
    matrix_solve_ls,
    matrix_triangular_solve,
    pinv,
    slogdet,
    sqrtm,
)

BATCHES = [(), (2,), (3, 2), (0,)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
def test_inverse_and_determinant(dtype: str, batch: tuple[int, ...]) -> None:
    a = array(*batch, 4, 4, dtype=dtype)
    check_op(matrix_inverse, torch.linalg.inv, a)
    check_op(lambda x: matrix_inverse(x, adjoint=True), lambda x: torch.linalg.inv(x).mH.resolve_conj(), a)
    check_op(matrix_determinant, torch.linalg.det, a)
    check_op(adjoint, lambda x: x.mH.resolve_conj(), a)

    def reference(x: torch.Tensor) -> Any:
        sign, logarithm = torch.linalg.slogdet(x)
        return sign, logarithm.to(x.dtype)

    check_op(lambda x: tuple(slogdet(x)), reference, a)
    check_op(logdet, lambda x: torch.logdet((x + x.mH) / 2).real, positive(*batch, 4, 4, dtype=dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("adj", [False, True])
def test_solve(dtype: str, batch: tuple[int, ...], adj: bool) -> None:
    a, b = array(*batch, 3, 3, dtype=dtype), array(*batch, 3, 4, seed=1, dtype=dtype)
    check_op(lambda x, y: matrix_solve(x, y, adjoint=adj), lambda x, y: torch.linalg.solve(x.mH if adj else x, y), a, b)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("adj", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("batches", [((), ()), ((2,), (2,)), ((2,), (5, 1)), ((1, 2), ()), ((0,), (0,))])
def test_triangular_solve(dtype: str, adj: bool, lower: bool, batches: Any) -> None:
    """Reads one triangle, whatever the other holds."""
    a, b = array(*batches[0], 3, 3, dtype=dtype), array(*batches[1], 3, 4, seed=1, dtype=dtype)

    def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x.tril() if lower else x.triu()
        return torch.linalg.solve(x.mH if adj else x, y)

    check_op(lambda x, y: matrix_triangular_solve(x, y, lower, adj), reference, a, b)


@pytest.mark.parametrize("dtype", TYPES)
def test_solving_with_a_decomposition(dtype: str) -> None:
    a, b = positive(2, 3, 3, dtype=dtype), array(2, 3, 4, seed=1, dtype=dtype)
    factor = np.linalg.cholesky(a)
    check_op(cholesky_solve, lambda f, y: torch.cholesky_solve(y, f.tril()), factor, b)
    for batch in ((), (2,), (3, 2)):
        x, y = array(*batch, 3, 3, dtype=dtype), array(*batch, 3, 4, seed=1, dtype=dtype)
        check_op(lambda x, y: lu_solve(*lu(x), y), torch.linalg.solve, x, y)
        check_op(lambda x: lu_reconstruct(*lu(x)), lambda x: x.clone(), x)
        check_op(lambda x: lu_matrix_inverse(*lu(x)), torch.linalg.inv, x)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (3, 5), (2, 4, 3), (2, 2, 3)])
@pytest.mark.parametrize("regularizer", [0.0, 0.5])
def test_least_squares(dtype: str, shape: tuple[int, ...], regularizer: float) -> None:
    a, b = array(*shape, dtype=dtype), array(*shape[:-1], 2, seed=1, dtype=dtype)

    def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if not regularizer:
            return (torch.linalg.pinv(x) @ y).resolve_conj()
        return torch.linalg.solve(x.mH @ x + regularizer * torch.eye(shape[-1], dtype=x.dtype), x.mH @ y)

    check_op(lambda x, y: matrix_solve_ls(x, y, regularizer), reference, a, b)
    slow = run(matrix_solve_ls(a, b, regularizer, fast=False))
    np.testing.assert_allclose(slow, np.linalg.pinv(a) @ b, atol=1e-8)


def test_least_squares_of_any_rank() -> None:
    a, b = np.ones((3, 2)), array(3, 1)
    np.testing.assert_allclose(run(matrix_solve_ls(a, b, fast=False)), np.linalg.pinv(a) @ b, atol=1e-8)
    x = tf.constant(a)
    with pytest.raises(ValueError, match="fast=False"):
        tf.gradients(matrix_solve_ls(x, b, fast=False), x)
    with pytest.raises(tf.errors.InvalidArgumentError, match="rank deficient"):
        run(matrix_solve_ls(np.zeros((3, 2)), b))


@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (2, 3, 3)])
@pytest.mark.parametrize("dtype", TYPES)
def test_pseudo_inverse(dtype: str, shape: tuple[int, ...]) -> None:
    check_op(pinv, torch.linalg.pinv, array(*shape, dtype=dtype), rtol=1e-4)


def test_rank() -> None:
    a = np.stack([np.ones((3, 4)), array(3, 4), np.zeros((3, 4))])
    check_op(matrix_rank, lambda x: torch.linalg.matrix_rank(x).to(torch.int32), a, grad=False)
    assert run(matrix_rank(a[1], tol=100.0)) == 0
    low = np.outer(np.arange(3.0), np.arange(4.0))
    np.testing.assert_allclose(run(pinv(low)), np.linalg.pinv(low), atol=1e-10)


def _torch_root(x: torch.Tensor) -> torch.Tensor:
    e, v = torch.linalg.eig(x)
    result = torch.linalg.solve(v, v * e.sqrt()[..., None, :], left=False)
    return result.resolve_conj() if x.is_complex() else result.real


def _torch_log(x: torch.Tensor) -> torch.Tensor:
    e, v = torch.linalg.eig(x)
    return torch.linalg.solve(v, v * e.log()[..., None, :], left=False).resolve_conj()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (2,), (0,)])
def test_functions_of_matrices(dtype: str, batch: tuple[int, ...]) -> None:
    a = array(*batch, 3, 3, dtype=dtype)
    check_op(expm, torch.linalg.matrix_exp, a)
    b = positive(*batch, 3, 3, dtype=dtype) + 0.3 * a
    check_op(sqrtm, _torch_root, b)
    check_op(logm, _torch_log, b.astype("complex128"))


def test_functions_of_matrices_without_a_basis_of_eigenvectors() -> None:
    turn = np.linalg.qr(array(3, 3))[0]
    jordan = turn @ np.array([[2.0, 1, 0], [0, 2, 1], [0, 0, 2]]) @ turn.T
    root, logarithm = run([sqrtm(jordan), logm(jordan.astype(complex))])
    np.testing.assert_allclose(root @ root, jordan, atol=1e-8)
    np.testing.assert_allclose(run(expm(logarithm)), jordan, atol=1e-8)
    assert np.isnan(run(sqrtm(-np.eye(2)))).all()
    np.testing.assert_allclose(run(sqrtm(np.array([[0.0, -1], [1, 0]]))), np.array([[1, -1], [1, 1]]) / np.sqrt(2))


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: matrix_inverse(np.ones((2, 2))), "not invertible"),
        (lambda: matrix_solve(np.ones((2, 2)), np.ones((2, 1))), "not invertible"),
        (lambda: matrix_triangular_solve(np.diag([1.0, 0]), np.ones((2, 1))), "not invertible"),
    ],
)
def test_singular_matrices(build: Callable[[], Any], text: str) -> None:
    # A GPU does not tell of zeros in a triangle.
    with tf.device("/cpu:0"), pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(build())


def test_batches_must_be_equal() -> None:
    a, b = np.ones((2, 3, 3)), np.ones((3, 4))
    with pytest.raises(ValueError, match="MatrixSolve"):
        matrix_solve(a, b)
    x, y = tf.placeholder(tf.float64), tf.placeholder(tf.float64)
    for solution in (matrix_solve(x, y), matrix_solve_ls(x, y), matrix_solve_ls(x, y, fast=False)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="received"):
            run(solution, {x: a, y: b})


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "complex128"])
def test_types(dtype: str) -> None:
    a = positive(2, 3, 3).astype(dtype)
    outputs = [
        *(matrix_inverse(a), matrix_determinant(a), *slogdet(a), matrix_solve(a, a), matrix_triangular_solve(a, a)),
        *(matrix_solve_ls(a, a), sqrtm(a), expm(a * 0.1)),
    ]
    for output, value in zip(outputs, run(outputs)):
        assert output.dtype == dtype and value.dtype == dtype


def test_empty_matrices() -> None:
    none = np.zeros((0, 0), np.float32)
    assert run(matrix_determinant(none)) == 1
    assert run(matrix_solve(none, np.zeros((0, 2), np.float32))).shape == (0, 2)
    assert (run(matrix_solve_ls(np.zeros((0, 3), np.float32), np.zeros((0, 2), np.float32))) == np.zeros((3, 2))).all()
    assert run(expm(none)).shape == run(sqrtm(none)).shape == (0, 0)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [[-2, -1], [0, 2], (2, 0), [1, -3]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_spectral_norm(dtype: str, axis: Any, keepdims: bool) -> None:
    check_op(
        lambda x: tf.norm(x, ord=2, axis=axis, keepdims=keepdims),
        lambda x: torch.linalg.matrix_norm(x, ord=2, dim=tuple(axis), keepdim=keepdims),
        array(3, 4, 2, dtype=dtype),
    )


def test_normalize() -> None:
    def reference(x: torch.Tensor) -> Any:
        length = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        return x / length, length

    check_op(lambda x: tf.linalg.normalize(x, axis=1), reference, array(3, 4, 2))


def test_nan_is_propagated() -> None:
    a = np.array([[[2.0, 0.0], [0.0, 3.0]], [[np.nan, 0.0], [0.0, 3.0]]])
    sign, logarithm = run(slogdet(a))
    np.testing.assert_array_equal(np.isnan([sign, logarithm]), [[False, True]] * 2)
    lower = run(tf.linalg.cholesky(a))
    np.testing.assert_allclose(lower[0], np.sqrt(a[0]))
    np.testing.assert_array_equal(np.isnan(lower[1]), [[True, False], [True, True]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="decomposition was not successful"):
        run(tf.linalg.cholesky(-a))
    with pytest.raises(tf.errors.InvalidArgumentError, match="l2_regularizer is -1"):
        run(matrix_solve_ls(a[0], a[0], l2_regularizer=-1.0))
