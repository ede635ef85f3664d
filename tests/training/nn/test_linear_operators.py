from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thalweg as tf
from tests.graph.ops.test_decompositions import array, positive, run
from thalweg import linalg

KINDS = ["float64", "complex128"]
N = 4


def _low_rank(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    base, u, d, v = positive(2, N, N, dtype=kind), array(2, N, 2, dtype=kind), array(2, 2), array(2, N, 2, seed=1)
    d, v = (d + 3).astype(kind), v.astype(kind)
    operator = linalg.LinearOperatorLowRankUpdate(
        linalg.LinearOperatorFullMatrix(given(base), is_non_singular=True), given(u), given(d), given(v)
    )
    return operator, base + (u * d[:, None, :]) @ v.conj().swapaxes(-1, -2)


def _kronecker(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    a, b = array(2, 2, dtype=kind), array(2, 2, 2, seed=1, dtype=kind)
    parts = [linalg.LinearOperatorFullMatrix(given(x), is_non_singular=True) for x in (a, b)]
    return linalg.LinearOperatorKronecker(parts), np.stack([np.kron(a, x) for x in b])


def _blocks(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    a, b = array(2, 3, 3, dtype=kind), array(1, seed=1, dtype=kind)
    whole = np.zeros((2, 4, 4), kind)
    whole[:, :3, :3], whole[:, 3:, 3:] = a, b
    return linalg.LinearOperatorBlockDiag(
        [linalg.LinearOperatorFullMatrix(given(a)), linalg.LinearOperatorDiag(given(b))]
    ), whole


def _composition(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    a, d, t = array(2, N, N, dtype=kind), array(N, seed=1, dtype=kind), array(N, N, seed=2, dtype=kind)
    parts = [
        *(linalg.LinearOperatorFullMatrix(given(a)), linalg.LinearOperatorDiag(given(d))),
        linalg.LinearOperatorLowerTriangular(given(t)),
    ]
    return linalg.LinearOperatorComposition(parts), a @ np.diag(d) @ np.tril(t)


def _tridiagonal(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    rows = array(2, 3, N, dtype=kind)
    whole = np.stack([np.diag(r[1]) + np.diag(r[0, :-1], 1) + np.diag(r[2, 1:], -1) for r in rows])
    return linalg.LinearOperatorTridiag(given(rows)), whole


def _toeplitz(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    col, row = array(2, N, dtype=kind), array(2, N, seed=1, dtype=kind)
    row[:, 0] = col[:, 0]
    whole = np.array(
        [[[c[i - j] if i >= j else r[j - i] for j in range(N)] for i in range(N)] for c, r in zip(col, row)]
    )
    return linalg.LinearOperatorToeplitz(given(col), given(row)), whole


def _householder(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    v = array(2, N, dtype=kind)
    unit = v / np.linalg.norm(v, axis=-1, keepdims=True)
    return linalg.LinearOperatorHouseholder(given(v)), np.eye(N) - 2 * unit[:, :, None] * unit[:, None].conj()


def _permutation(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    perm = np.array([[2, 0, 1, 3], [3, 2, 1, 0]], np.int32)
    return linalg.LinearOperatorPermutation(given(perm), kind), np.eye(N, dtype=kind)[perm]


def _circulant(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    kernel = array(2, N, dtype=kind)
    spectrum = np.fft.fft(kernel)
    whole = np.stack([np.stack([np.roll(k, i) for i in range(N)], 1) for k in kernel])
    return linalg.LinearOperatorCirculant(given(spectrum), kind), whole


def _circulant_2d(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    kernel = array(2, 2, N // 2, dtype=kind)
    places = [(i, j) for i in range(2) for j in range(N // 2)]
    whole = np.stack([np.stack([np.roll(k, place, (0, 1)).ravel() for place in places], 1) for k in kernel])
    return linalg.LinearOperatorCirculant2D(given(np.fft.fft2(kernel)), kind), whole


def _circulant_3d(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
    kernel = array(2, 1, 2, N // 2, dtype=kind)
    places = [(0, i, j) for i in range(2) for j in range(N // 2)]
    whole = np.stack([np.stack([np.roll(k, place, (0, 1, 2)).ravel() for place in places], 1) for k in kernel])
    return linalg.LinearOperatorCirculant3D(given(np.fft.fftn(kernel, axes=(1, 2, 3))), kind), whole


def _simple(name: str) -> Callable[..., tuple[Any, np.ndarray]]:
    def build(kind: str, given: Callable[[np.ndarray], Any]) -> tuple[Any, np.ndarray]:
        a, d, m = positive(2, N, N, dtype=kind), array(2, N, dtype=kind), array(2, dtype=kind)
        return {
            "full": lambda: (linalg.LinearOperatorFullMatrix(given(a)), a),
            "hinted": lambda: (linalg.LinearOperatorFullMatrix(given(a), True, True, True), a),
            "triangle": lambda: (linalg.LinearOperatorLowerTriangular(given(a)), np.tril(a)),
            "diag": lambda: (linalg.LinearOperatorDiag(given(d)), np.stack([np.diag(x) for x in d])),
            "identity": lambda: (
                linalg.LinearOperatorIdentity(given(np.int32(N)), given(np.array([2], np.int32)), kind),
                np.broadcast_to(np.eye(N, dtype=kind), (2, N, N)),
            ),
            "scaled": lambda: (
                linalg.LinearOperatorScaledIdentity(given(np.int32(N)), given(m)),
                m[:, None, None] * np.eye(N),
            ),
            "adjoint": lambda: (
                linalg.LinearOperatorFullMatrix(given(np.tril(a))).H,
                np.tril(a).conj().swapaxes(-1, -2),
            ),
            "inverse": lambda: (linalg.LinearOperatorFullMatrix(given(a)).inverse(), np.linalg.inv(a)),
        }[name]()

    return build


BUILDERS: dict[str, Callable[..., tuple[Any, np.ndarray]]] = {
    **{
        name: _simple(name)
        for name in ("full", "hinted", "triangle", "diag", "identity", "scaled", "adjoint", "inverse")
    },
    **{f.__name__: f for f in (_low_rank, _kronecker, _blocks, _composition, _tridiagonal, _toeplitz)},
    **{f.__name__: f for f in (_householder, _permutation, _circulant, _circulant_2d, _circulant_3d)},
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BUILDERS)
def test_operator(name: str, kind: str, known: bool) -> None:
    """Every operator does what its elements do, with and without static shapes."""
    feeds: dict[Any, Any] = {}

    def given(value: Any) -> Any:
        if known:
            return tf.constant(value)
        tensor = tf.placeholder(value.dtype, None)
        feeds[tensor] = value
        return tensor

    op, a = BUILDERS[name](kind, given)
    x, v = array(2, N, 3, seed=8, dtype=kind), array(2, N, seed=9, dtype=kind)
    adjoint = a.conj().swapaxes(-1, -2)
    y = x.conj().swapaxes(-1, -2)
    expected = {
        "dense": (op.to_dense(), a),
        "shape": (op.shape_tensor(), (2, N, N)),
        "batch": (op.batch_shape_tensor(), (2,)),
        "matmul": (op.matmul(x), a @ x),
        "matmul of one": (op.matmul(x[0]), a @ x[0]),
        "adjoint matmul": (op.matmul(x, adjoint=True), adjoint @ x),
        "matmul of an adjoint": (op.matmul(y, adjoint_arg=True), a @ x),
        "matvec": (op.matvec(v), (a @ v[..., None])[..., 0]),
        "solve": (op.solve(x), np.linalg.solve(a, x)),
        "solve for one": (op.solve(x[0]), np.linalg.solve(a, np.broadcast_to(x[0], x.shape))),
        "adjoint solve": (op.solve(x, adjoint=True), np.linalg.solve(adjoint, x)),
        "solve for an adjoint": (op.solve(y, adjoint_arg=True), np.linalg.solve(a, x)),
        "solvevec": (op.solvevec(v), np.linalg.solve(a, v[..., None])[..., 0]),
        "determinant": (op.determinant(), np.linalg.det(a)),
        "log": (op.log_abs_determinant(), np.log(np.abs(np.linalg.det(a)))),
        "diagonal": (op.diag_part(), np.diagonal(a, 0, -2, -1)),
        "trace": (op.trace(), np.trace(a, 0, -2, -1)),
        "sum": (op.add_to_tensor(a + 1), a + a + 1),
        "H": (op.H.to_dense(), adjoint),
        "inverse": (op.inverse().to_dense(), np.linalg.inv(a)),
        "inverse log": (op.inverse().log_abs_determinant(), -np.log(np.abs(np.linalg.det(a)))),
        "product": (op.matmul(op).to_dense(), a @ a),
        "quotient": (op.solve(op).to_dense(), np.broadcast_to(np.eye(N), a.shape)),
    }
    with tf.Session() as session:
        values = session.run({key: tensor for key, (tensor, _) in expected.items()}, feeds)
    for key, (_, wanted) in expected.items():
        np.testing.assert_allclose(values[key], wanted, rtol=1e-5, atol=1e-7, err_msg=key)
    if known:
        assert op.shape.as_list() == [2, N, N] and op.domain_dimension == N and op.is_square
    else:
        with tf.Session() as session:
            assert session.run(op.tensor_rank_tensor(), feeds) == 3


def test_operator_specific_methods() -> None:
    a = positive(N, N)
    op = linalg.LinearOperatorFullMatrix(a, is_self_adjoint=True, is_positive_definite=True)
    np.testing.assert_allclose(run(op.cholesky().to_dense()), np.linalg.cholesky(a), rtol=1e-6)
    np.testing.assert_allclose(run(op.eigvals()), np.linalg.eigvalsh(a), rtol=1e-6)
    np.testing.assert_allclose(run(op.cond()), np.linalg.cond(a), rtol=1e-6)
    run([op.assert_self_adjoint(), op.assert_positive_definite(), op.assert_non_singular()])
    wrong = linalg.LinearOperatorFullMatrix(array(N, N))
    for assertion in (wrong.assert_self_adjoint(), linalg.LinearOperatorDiag([1.0, 0.0]).assert_non_singular()):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(assertion)
    with pytest.raises(NotImplementedError, match="self-adjoint"):
        wrong.eigvals()
    with pytest.raises(ValueError, match="positive definite"):
        wrong.cholesky()


def test_a_circulant_operator_knows_its_spectrum() -> None:
    spectrum = np.array([4.0, 2.0, 1.0, 2.0], np.float32)
    op = linalg.LinearOperatorCirculant(spectrum, tf.float32, is_positive_definite=True)
    assert op.is_self_adjoint and op.block_depth == 1 and op.block_shape == [N]
    np.testing.assert_allclose(run(op.convolution_kernel()), np.fft.ifft(spectrum).real, rtol=1e-6)
    np.testing.assert_allclose(run(op.eigvals()), spectrum)
    np.testing.assert_allclose(run(op.cond()), 4)
    assert isinstance(op.inverse(), linalg.LinearOperatorCirculant)
    checks = [op.assert_positive_definite(), op.assert_self_adjoint(), op.assert_hermitian_spectrum()]
    run([*checks, op.assert_non_singular()])
    for wrong in (
        lambda: linalg.LinearOperatorCirculant([1.0, -1.0]).assert_positive_definite(),
        lambda: linalg.LinearOperatorCirculant(np.array([1, 1j], np.complex64)).assert_self_adjoint(),
        lambda: linalg.LinearOperatorCirculant(np.array([1, 1j], np.complex64)).assert_hermitian_spectrum(),
        lambda: linalg.LinearOperatorCirculant([1.0, 0.0]).assert_non_singular(),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(wrong())
    with pytest.raises(ValueError, match="real spectrum"):
        linalg.LinearOperatorCirculant([1.0, 2.0], is_self_adjoint=False)
    with pytest.raises(TypeError, match="int32"):
        linalg.LinearOperatorCirculant([1, 2])
    with pytest.raises(ValueError, match="rank 2"):
        linalg.LinearOperatorCirculant2D([1.0, 2.0])


def test_zeros() -> None:
    op = linalg.LinearOperatorZeros(2, 3, [2])
    assert not run(op.matmul(np.ones((3, 4), np.float32))).any()
    assert run(op.add_to_tensor(np.ones((2, 3), np.float32))).shape == (2, 2, 3)
    with pytest.raises(NotImplementedError, match="singular"):
        op.solve(np.ones((2, 4), np.float32))


def test_hints_must_agree() -> None:
    with pytest.raises(ValueError, match="is_non_singular=False"):
        linalg.LinearOperatorFullMatrix(np.eye(2), is_non_singular=False, is_positive_definite=True)
    with pytest.raises(ValueError, match="square"):
        linalg.LinearOperatorFullMatrix(np.eye(2), is_square=False, is_self_adjoint=True)
    with pytest.raises(ValueError, match="compose"):
        linalg.LinearOperatorFullMatrix(np.ones((2, 3))).matmul(linalg.LinearOperatorFullMatrix(np.ones((2, 3))))
    with pytest.raises(ValueError, match="3 rows, expected 2"):
        linalg.LinearOperatorIdentity(2).matmul(np.ones((3, 1), np.float32))
    with pytest.raises(TypeError, match="int"):
        linalg.LinearOperatorDiag(np.array([1, 2]))
    wide = linalg.LinearOperatorFullMatrix(np.ones((2, 3)))
    assert wide.is_square is False
    with pytest.raises(NotImplementedError, match="not square"):
        wide.determinant()


def test_operators_are_differentiable() -> None:
    d = tf.constant(array(3) + 3)
    op = linalg.LinearOperatorLowRankUpdate(linalg.LinearOperatorDiag(d), array(3, 1))
    grad = tf.gradients(op.log_abs_determinant(), d)[0]
    inverse = run(op.inverse().to_dense())
    np.testing.assert_allclose(run(grad), np.diag(inverse), rtol=1e-6)


def test_assertions_agree_with_tensorflow():
    ill, zero = [1e-8, 1.0, 1.0], [0.0, 1.0, 1.0]  # what a dense matrix of float32 is taken for, and is, singular with
    makes = [
        linalg.LinearOperatorDiag,
        lambda d: linalg.LinearOperatorCirculant(np.array(d, np.complex64)),
        lambda d: linalg.LinearOperatorScaledIdentity(3, d[0]),
        lambda d: linalg.LinearOperatorLowerTriangular(np.tril(np.ones((3, 3), np.float32), -1) + np.diag(d)),
        lambda d: linalg.LinearOperatorAdjoint(linalg.LinearOperatorLowerTriangular(np.diag(np.float32(d)))),
        lambda d: linalg.LinearOperatorInversion(linalg.LinearOperatorDiag(d)),
        lambda d: linalg.LinearOperatorBlockDiag([linalg.LinearOperatorDiag(d), linalg.LinearOperatorIdentity(2)]),
        lambda d: linalg.LinearOperatorKronecker([linalg.LinearOperatorDiag(d), linalg.LinearOperatorIdentity(2)]),
    ]
    for make in makes:
        run(make(ill).assert_non_singular())
        with pytest.raises(tf.errors.InvalidArgumentError, match="singular"):
            run(make(zero).assert_non_singular())
    for diagonal in (ill, zero):
        with pytest.raises(tf.errors.InvalidArgumentError, match="singular within the precision"):
            run(linalg.LinearOperatorFullMatrix(np.diag(np.float32(diagonal))).assert_non_singular())


def test_assertions_that_need_no_step():
    zeros, mirror = linalg.LinearOperatorZeros(2, 3, is_square=False), linalg.LinearOperatorHouseholder([1.0, 2.0])
    one = linalg.LinearOperatorIdentity(2)
    run([one.assert_non_singular(), one.assert_positive_definite(), one.assert_self_adjoint()])
    run([mirror.assert_non_singular(), mirror.assert_self_adjoint(), zeros.assert_self_adjoint()])
    for wrong in (zeros.assert_non_singular, zeros.assert_positive_definite, mirror.assert_positive_definite):
        with pytest.raises(tf.errors.InvalidArgumentError, match="The operator is"):
            wrong()
