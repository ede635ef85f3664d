from typing import Any

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.checks import check_op
from tests.graph.ops.test_decompositions import TYPES, array, run
from thalweg._src.graph.ops.tridiagonal import tridiagonal_matmul, tridiagonal_solve, tridiagonal_solve_op


def whole(diagonals: torch.Tensor) -> torch.Tensor:
    above, main, below = diagonals.unbind(-2)
    return torch.diag_embed(main) + torch.diag_embed(above[..., :-1], 1) + torch.diag_embed(below[..., 1:], -1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), (3, 1), (2, 3, 2)])
@pytest.mark.parametrize("pivoting", [True, False])
def test_solve(dtype: str, shape: tuple[int, ...], pivoting: bool) -> None:
    a, b = array(*shape, dtype=dtype), array(*shape[:-2], shape[-1], 2, seed=1, dtype=dtype)
    check_op(
        lambda x, y: tridiagonal_solve(x, y, partial_pivoting=pivoting),
        lambda x, y: torch.linalg.solve(whole(x), y),
        a,
        b,
    )
    check_op(tridiagonal_matmul, lambda x, y: whole(x) @ y, a, b)


@pytest.mark.parametrize("pivoting", [True, False])
def test_long_diagonals(pivoting: bool) -> None:
    a, b = array(2, 3, 300), array(2, 300, 2, seed=1)
    if not pivoting:
        a[:, 1] += 5
    matrix = whole(torch.from_numpy(a)).numpy()
    np.testing.assert_allclose(
        run(tridiagonal_solve(a, b, partial_pivoting=pivoting)), np.linalg.solve(matrix, b), rtol=1e-6
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_layouts(dtype: str) -> None:
    a, b = array(2, 3, 5, dtype=dtype), array(2, 5, 4, seed=1, dtype=dtype)
    matrix = whole(torch.from_numpy(a)).numpy()
    expected, product = np.linalg.solve(matrix, b), matrix @ b
    short = [a[:, 0, :-1], a[:, 1], a[:, 2, 1:]]
    flipped = b.conj().swapaxes(-1, -2)
    solutions = [
        tridiagonal_solve(matrix, b, "matrix"),
        tridiagonal_solve(short, b, "sequence"),
        tridiagonal_solve(list(a.swapaxes(0, 1)), b, "sequence"),
        tridiagonal_solve(a, flipped, transpose_rhs=True, conjugate_rhs=True),
        tridiagonal_solve(a, b.conj(), conjugate_rhs=True),
    ]
    for value in run(solutions):
        np.testing.assert_allclose(value, expected, atol=1e-8)
    np.testing.assert_allclose(run(tridiagonal_solve(a, b[..., 0])), expected[..., 0], atol=1e-8)
    sequence = list(a.swapaxes(0, 1))
    for value in run([tridiagonal_matmul(matrix, b, "matrix"), tridiagonal_matmul(sequence, b, "sequence")]):
        np.testing.assert_allclose(value, product, atol=1e-8)


def test_singular_matrices() -> None:
    zero, one = np.zeros((3, 3)), np.ones((3, 1))
    assert np.isnan(run(tridiagonal_solve(zero, one))).all()
    assert np.isfinite(run(tridiagonal_solve(zero, one, perturb_singular=True))).all()


@pytest.mark.parametrize("shapes", [((2, 5), (5, 1)), ((3, 5), (4, 1)), ((2, 3, 5), (5, 1))])
def test_shapes_must_fit(shapes: Any) -> None:
    a, b = (np.ones(shape) for shape in shapes)
    with pytest.raises(ValueError, match="TridiagonalSolve"):
        tridiagonal_solve_op(a, b)
    x, y = tf.placeholder(tf.float64), tf.placeholder(tf.float64)
    with pytest.raises(tf.errors.InvalidArgumentError, match="TridiagonalSolve"):
        run(tridiagonal_solve_op(x, y), {x: a, y: b})
    with pytest.raises(ValueError, match="diagonals_format"):
        tridiagonal_solve(a, b, "dense")
    with pytest.raises(ValueError, match="perturb_singular without partial_pivoting"):
        tridiagonal_solve(np.ones((3, 5)), np.ones((5, 1)), partial_pivoting=False, perturb_singular=True)
