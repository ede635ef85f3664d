from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.checks import check_op
from thalweg._src.graph.ops.decompositions import (
    cholesky,
    cholesky_grad,
    eig,
    eigvals,
    lu,
    qr,
    self_adjoint_eig,
    self_adjoint_eigvals,
    svd,
)
from thalweg._src.training.variables.initializers import Orthogonal

TYPES = ["float64", "complex128"]
SHAPES = [(4, 4), (5, 3), (3, 5), (2, 4, 3), (2, 1, 3, 4)]


def array(*shape: int, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    rng = np.random.default_rng(seed)
    value = rng.normal(size=shape)
    return (value + 1j * rng.normal(size=shape) if dtype.startswith("complex") else value).astype(dtype)


def positive(*shape: int, dtype: str = "float64") -> np.ndarray:
    a = array(*shape, dtype=dtype)
    return a @ a.conj().swapaxes(-1, -2) + np.eye(shape[-1], dtype=dtype)


def run(fetches: Any, feeds: dict | None = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def lower_half(x: torch.Tensor) -> torch.Tensor:
    """The self-adjoint matrix with this lower half, so that torch's gradient is that of what is read."""
    below = x.tril(-1)
    return below + below.mH + torch.diag_embed(x.diagonal(0, -2, -1).real.to(x.dtype))


@pytest.mark.parametrize("dtype", [*TYPES, "float32"])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (0,)])
def test_cholesky(dtype: str, batch: tuple[int, ...]) -> None:
    tolerance = 1e-3 if dtype == "float32" else 1e-6

    def reference(x: torch.Tensor) -> torch.Tensor:
        factor = torch.linalg.cholesky((x + x.mH) / 2)  # whose diagonal is real, and has the gradient of real numbers
        return factor.tril(-1) + torch.diag_embed(factor.diagonal(0, -2, -1).real).to(x.dtype)

    check_op(cholesky, reference, positive(*batch, 4, 4, dtype=dtype), rtol=tolerance, atol=tolerance)


def test_cholesky_reads_the_lower_half() -> None:
    a = positive(3, 3)
    np.testing.assert_allclose(run(cholesky(np.tril(a))), np.linalg.cholesky(a), rtol=1e-6)


def test_cholesky_grad_is_the_gradient_of_cholesky() -> None:
    a, g = positive(2, 3, 3), np.tril(array(2, 3, 3, seed=1))
    factor = cholesky(tf.constant(a))
    x = tf.constant(a)
    np.testing.assert_allclose(*run([cholesky_grad(factor, g), tf.gradients(cholesky(x), x, g)[0]]), rtol=1e-6)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(dtype: str, shape: tuple[int, ...]) -> None:
    def reference(x: torch.Tensor) -> Any:
        q, r = torch.linalg.qr(x)
        return q, r

    # torch has no gradient by r's last columns and q together where there are more columns than rows.
    check_op(lambda x: tuple(qr(x)), reference, array(*shape, dtype=dtype), grad=shape[-2] >= shape[-1])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(3, 5), (5, 3)])
def test_complete_qr(dtype: str, shape: tuple[int, ...]) -> None:
    a = array(2, *shape, dtype=dtype)
    q, r = run(qr(a, full_matrices=True))
    assert q.shape == (2, shape[0], shape[0]) and r.shape == a.shape
    np.testing.assert_allclose(q @ r, a, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(dtype: str, full: bool, shape: tuple[int, ...]) -> None:
    """Vectors are known up to their signs, spaces of them up to a turn: what follows from them is compared."""

    def build(x: Any) -> Any:
        s, u, v = svd(x, full_matrices=full)
        assert u.dtype == x.dtype and s.dtype == x.dtype.real_dtype
        return (
            s,
            *(tf.matmul(y[..., :2], y[..., :2], adjoint_b=True) for y in (u, v)),
            tf.matmul(u, u, adjoint_b=True),
        )

    def reference(x: torch.Tensor) -> Any:
        u, s, vh = torch.linalg.svd(x, full_matrices=full)
        v = vh.mH
        return (s, *(y[..., :2] @ y[..., :2].mH for y in (u, v)), u @ u.mH)

    check_op(build, reference, array(*shape, dtype=dtype), grad=not full, rtol=1e-5, atol=1e-6)


def test_svd_reconstructs_its_input() -> None:
    a = array(2, 3, 5, dtype="complex128")
    s, u, v = run(svd(a))
    np.testing.assert_allclose((u * s[:, None, :]) @ v.conj().swapaxes(-1, -2), a, atol=1e-10)
    with pytest.raises(TypeError):
        s, u, v = svd(a, compute_uv=False)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values(dtype: str, shape: tuple[int, ...]) -> None:
    check_op(lambda x: svd(x, compute_uv=False), torch.linalg.svdvals, array(*shape, dtype=dtype))


@pytest.mark.parametrize("shape", [(5, 3), (3, 4), (2, 3, 5)])
@pytest.mark.parametrize(
    "function", [lambda x: svd(x, full_matrices=True)[1:], lambda x: (qr(x, full_matrices=True)[0],)]
)
def test_gradient_of_full_matrices(shape: tuple[int, ...], function: Callable[..., Any]) -> None:
    """The space beside that of the vectors is fixed by them: a change of it is compared with finite differences."""
    a = array(*shape)
    count = min(shape[-2:])

    def loss(x: Any) -> Any:
        total: Any = 0.0
        for vectors in function(x):
            rest = vectors[..., count:]
            weights = array(shape[-2] if vectors.shape[-1] == shape[-2] else shape[-1], 1, seed=3)
            total += tf.reduce_sum(tf.matmul(rest, rest, adjoint_b=True) * weights)
        return total

    x = tf.placeholder(tf.float64, shape)
    y = loss(x)
    grad = tf.gradients(y, x)[0]
    with tf.Session() as session:
        value = session.run(grad, {x: a})
        direction, step = array(*shape, seed=5), 1e-6
        change = session.run(y, {x: a + step * direction}) - session.run(y, {x: a - step * direction})
    np.testing.assert_allclose((value * direction).sum(), change / (2 * step), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (2,), (0,)])
def test_self_adjoint_eigenvalues(dtype: str, batch: tuple[int, ...]) -> None:
    a = array(*batch, 4, 4, dtype=dtype)

    def build(x: Any) -> Any:
        e, v = self_adjoint_eig(x)
        return e, tf.matmul(v[..., :2], v[..., :2], adjoint_b=True)

    def reference(x: torch.Tensor) -> Any:
        e, v = torch.linalg.eigh(lower_half(x))
        return e.to(x.dtype), v[..., :2] @ v[..., :2].mH

    check_op(build, reference, a)
    check_op(self_adjoint_eigvals, lambda x: torch.linalg.eigvalsh(lower_half(x)).to(x.dtype), a)


@pytest.mark.parametrize("dtype", TYPES)
def test_eigenvalues(dtype: str) -> None:
    a = array(2, 4, 4, dtype=dtype)

    def build(x: Any) -> Any:
        e, v = eig(x)
        return e, tf.abs(v)

    def reference(x: torch.Tensor) -> Any:
        e, v = torch.linalg.eig(x)
        return e, v.abs()

    check_op(build, reference, a)
    check_op(eigvals, torch.linalg.eigvals, a)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (2,), (3, 2), (0,)])
def test_lu(dtype: str, batch: tuple[int, ...]) -> None:
    a = array(*batch, 4, 4, dtype=dtype)
    factors, order = run(lu(a))
    assert order.dtype == np.int32 and order.shape == (*batch, 4)
    below, above = np.tril(factors, -1) + np.eye(4), np.triu(factors)
    np.testing.assert_allclose(below @ above, np.take_along_axis(a, order[..., None], -2), atol=1e-10)

    def build(x: Any) -> Any:
        with tf.device("/cpu:0"):  # libraries for GPUs choose other pivots among complex numbers
            return lu(x)[0]

    check_op(build, lambda x: torch.linalg.lu_factor(x)[0], a)
    assert lu.many(a, output_idx_type=tf.int64).p.dtype == tf.int64


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_short_types(dtype: str) -> None:
    a = positive(2, 3, 3).astype(dtype)
    outputs = [cholesky(a), *qr(a), *svd(a), *self_adjoint_eig(a), lu(a)[0]]
    for output, value in zip(outputs, run(outputs)):
        assert output.dtype in (dtype, tf.as_dtype(dtype).real_dtype)
        assert value.dtype == output.dtype.as_numpy_dtype


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3), (2, 0, 3)])
@pytest.mark.parametrize("full", [False, True])
def test_empty_matrices(shape: tuple[int, ...], full: bool) -> None:
    a = np.zeros(shape, np.float32)
    for outputs in (qr(a, full_matrices=full), svd(a, full_matrices=full)):
        for output, value in zip(outputs, run(list(outputs))):
            assert tuple(output.shape.as_list()) == value.shape


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: cholesky(-np.eye(2)), "Cholesky decomposition was not successful"),
        (lambda: lu(np.ones((2, 2)))[0], "not invertible"),
        (lambda: self_adjoint_eig(np.full((2, 2), np.nan))[0], "Self-adjoint eigen decomposition failed"),
        (lambda: eigvals(np.full((2, 2), np.inf)), "Eigen decomposition failed"),
    ],
)
def test_failures(build: Callable[[], Any], text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(build())


def test_singular_values_of_non_finite_matrices() -> None:
    a = np.stack([np.full((2, 3), np.nan), np.ones((2, 3))])
    values = run(svd(a, compute_uv=False))
    assert np.isnan(values[0]).all()
    np.testing.assert_allclose(values[1], [np.sqrt(6), 0], atol=1e-12)


@pytest.mark.parametrize("function", [cholesky, lu, self_adjoint_eig, eig])
def test_matrices_must_be_square(function: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="square matrices"):
        function(np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError, match="rank 1"):
        function(np.zeros(3, np.float32))


@pytest.mark.parametrize(
    "function", [cholesky, lambda x: svd(x, compute_uv=False), self_adjoint_eigvals, lambda x: lu(x)[0]]
)
def test_second_order(function: Callable[..., Any]) -> None:
    a = positive(3, 3)
    x = tf.constant(a)
    first = tf.gradients(function(x) ** 3, x)[0]
    weights, direction, step = array(3, 3, seed=2), positive(3, 3), 1e-5
    second = tf.gradients(tf.reduce_sum(first * weights), x)[0]
    with tf.Session() as session:
        value, before, after = (
            session.run(second),
            *(session.run(first, {x: a + sign * step * direction}) for sign in (-1, 1)),
        )
    np.testing.assert_allclose((value * direction).sum(), ((after - before) * weights).sum() / (2 * step), rtol=1e-4)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 2, 3), (3, 3, 2, 16)])
def test_orthogonal_initializer(shape: tuple[int, ...]) -> None:
    value = run(Orthogonal(gain=2.0, seed=1)(shape)).reshape(-1, shape[-1])
    assert value.dtype == np.float32
    rows, columns = value.shape
    product = value @ value.T if rows < columns else value.T @ value
    np.testing.assert_allclose(product, 4 * np.eye(min(rows, columns)), atol=1e-5)
    assert Orthogonal.from_config(Orthogonal(2.0, 3).get_config()).gain == 2.0
    with pytest.raises(ValueError, match="rank 2 or more"):
        Orthogonal()([3])
