from typing import Any

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.checks import check_op
from tests.graph.ops.test_decompositions import TYPES, array, run
from thalweg._src.graph.ops.contraction import (
    batch_matmul_v1_op,
    batch_matmul_v3_op,
    cross,
    einsum,
    einsum_op,
    matvec,
    sparse_matmul,
    tensordot,
    trace,
)

EQUATIONS = [
    ("ij->", [(2, 3)]),
    ("ij->ji", [(2, 3)]),
    ("ij", [(2, 3)]),
    ("ba", [(2, 3)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iij->j", [(2, 2, 3)]),
    ("iij...->j...", [(2, 2, 3, 4)]),
    ("->", [()]),
    ("i,->i", [(3,), ()]),
    ("i,j->ij", [(3,), (2,)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    (" i j , j k -> k i", [(2, 3), (3, 4)]),
    ("ij,ij->i", [(2, 3), (2, 3)]),
    ("ij,kl->", [(2, 3), (4, 5)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("iji,ik->jk", [(2, 3, 2), (2, 5)]),
    ("IJ,JK->IK", [(2, 3), (3, 4)]),
    ("...ij->...ji", [(2, 4, 3)]),
    ("...ij,jk", [(2, 4, 3), (3, 5)]),
    ("...,...->...", [(2, 3, 4), (3, 1)]),
    ("...i,...i->...", [(2, 5, 3), (5, 3)]),
    ("a...b,b...->a...", [(2, 3, 4, 5), (5, 1, 4)]),
    ("ij...,jk->ik...", [(2, 3, 4, 5), (3, 6)]),
    ("ij,jk,kl", [(2, 3), (3, 4), (4, 5)]),
    ("abc,cd,def,a->bef", [(2, 3, 4), (4, 5), (5, 6, 7), (2,)]),
    ("...a,...b,...c->...", [(2, 1, 3), (4, 2), (5,)]),
    ("ij,jk", [(2, 0), (0, 4)]),
    ("ij,jk", [(0, 3), (3, 4)]),
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_einsum(equation: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    arrays = [array(*shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes)]
    check_op(lambda *x: einsum(equation, *x), lambda *x: torch.einsum(equation, *x), *arrays)


def test_einsum_of_integers() -> None:
    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.arange(12, dtype=np.int32).reshape(3, 4)
    check_op(lambda x, y: einsum("ij,jk->ki", x, y), lambda x, y: (x @ y).t(), a, b)
    assert run(einsum("i,i->", [1.0, 2.0], np.array([3, 4], np.float32))) == 11


def test_einsum_op_puts_values_on_diagonals() -> None:
    a = array(2, 3)
    x = tf.constant(a)
    result = einsum_op([x], equation="ij->jiij")
    value, grad = run([result, tf.gradients(result, x)[0]])
    expected = np.zeros((3, 2, 2, 3))
    for i in range(2):
        for j in range(3):
            expected[j, i, i, j] = a[i, j]
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(grad, np.ones((2, 3)))


def test_einsum_twice_differentiated() -> None:
    x = tf.constant(array(3, 3))
    first = tf.gradients(einsum("ij,jk,ki->", x, x, x), x)[0]
    second = tf.gradients(first, x)[0]
    t = torch.from_numpy(array(3, 3)).requires_grad_()
    grad = torch.autograd.grad(torch.einsum("ij,jk,ki->", t, t, t), t, create_graph=True)[0]
    np.testing.assert_allclose(run(second), torch.autograd.grad(grad.sum(), t)[0].numpy(), rtol=1e-6)


def test_einsum_contracts_the_cheaper_pair_first() -> None:
    a, b, v = tf.zeros([50, 60]), tf.zeros([60, 70]), tf.zeros([70])
    operations = [op for op in einsum("ij,jk,k->i", a, b, v).graph.get_operations() if op.type == "Einsum"]
    assert operations[0].outputs[0].shape.as_list() == [60]


@pytest.mark.parametrize(
    ("equation", "shapes", "text"),
    [
        ("i1->i", [(2, 3)], "incorrect format"),
        ("i..j->ij", [(2, 3)], "incorrect format"),
        ("ij->ik->", [(2, 3)], "incorrect format"),
        ("ij->ii", [(2, 3)], "repeated"),
        ("ij->k", [(2, 3)], "in none of the inputs"),
        ("ij,jk", [(2, 3)], "2"),
        ("ij", [(2, 3, 4)], "rank 3"),
        ("ij,jk", [(2, 3), (4, 5)], "labeled j differ: 3 and 4"),
        ("ij,jk", [(2, 3), (1, 5)], "labeled j differ: 3 and 1"),
        ("...i->i", [(2, 3)], "ellipsis"),
    ],
)
def test_invalid_equations(equation: str, shapes: list[tuple[int, ...]], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        einsum(equation, *(np.zeros(shape) for shape in shapes))


def test_labels_are_checked_in_a_step() -> None:
    """torch would broadcast a dimension of size 1."""
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="labeled j differ: 3 and 1"):
        run(einsum("ij,jk->ik", x, y), {x: np.ones((2, 3)), y: np.ones((1, 4))})


AXES: list[tuple[Any, tuple[int, ...]]] = [
    (0, (5, 2)),
    (1, (5, 2)),
    (2, (3, 5, 2)),
    ([[2], [0]], (5, 3, 2)),
    ([2, 0], (5, 3, 2)),
    ([[1, 2], [1, 0]], (5, 3, 2)),
    ([[-1], [-3]], (5, 3, 2)),
    ([[0, 1, 2], [2, 1, 0]], (5, 3, 4)),
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("axes", "shape"), AXES)
def test_tensordot(axes: Any, shape: tuple[int, ...], dtype: str) -> None:
    def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        dims = axes if isinstance(axes, int) or isinstance(axes[0], list) else [[axes[0]], [axes[1]]]
        return torch.tensordot(x, y, dims)

    a, b = array(4, 3, 5, dtype=dtype), array(*shape, seed=1, dtype=dtype)
    check_op(lambda x, y: tensordot(x, y, axes), reference, a, b)
    if isinstance(axes, list) and isinstance(axes[0], list):
        given = tf.placeholder(tf.int32)
        np.testing.assert_allclose(run(tensordot(a, b, given), {given: axes}), np.tensordot(a, b, axes), rtol=1e-6)


def test_tensordot_infers_what_is_known() -> None:
    x, y = tf.placeholder(tf.float32, [None, 3, 4]), tf.placeholder(tf.float32, [4, 5])
    assert tensordot(x, y, 1).shape.as_list() == [None, 3, 5]
    with pytest.raises(ValueError, match="out of range"):
        tensordot(x, y, [[3], [0]])
    with pytest.raises(ValueError, match="2 dimensions of a and 1 of b"):
        tensordot(x, y, [[1, 2], [0]])


@pytest.mark.parametrize("dtype", TYPES)
def test_matrices_and_vectors(dtype: str) -> None:
    a, v, w = array(2, 3, 4, dtype=dtype), array(2, 4, seed=1, dtype=dtype), array(2, 3, seed=1, dtype=dtype)
    check_op(matvec, lambda x, y: (x @ y[..., None])[..., 0], a, v)
    check_op(lambda x, y: matvec(x, y, transpose_a=True), lambda x, y: (x.mT @ y[..., None])[..., 0], a, w)
    check_op(lambda x, y: matvec(x, y, adjoint_a=True), lambda x, y: (x.mH @ y[..., None])[..., 0], a, w)
    check_op(trace, lambda x: x.diagonal(0, -2, -1).sum(-1), a)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "int64"])
def test_cross(dtype: str) -> None:
    a, b = (array(2, 4, 3, seed=s) * 5 for s in (0, 1))
    a, b = (np.abs(x).astype(dtype) for x in (a, b))
    check_op(cross, torch.linalg.cross, a, b, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="three elements"):
        cross(np.ones(2, dtype), np.ones(2, dtype))


def test_cross_of_unsigned_numbers() -> None:
    a, b = np.array([1, 2, 3], np.uint32), np.array([3, 1, 2], np.uint32)
    np.testing.assert_array_equal(run(cross(a, b)), np.array([1, 7, 2**32 - 5], np.uint32))


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_sparse_matmul(transpose_a: bool, transpose_b: bool) -> None:
    a = array(*((3, 2) if transpose_a else (2, 3)), dtype="float32")
    b = array(*((4, 3) if transpose_b else (3, 4)), dtype="float32")
    check_op(
        lambda x, y: sparse_matmul(x, y, transpose_a, transpose_b, a_is_sparse=True),
        lambda x, y: (x.t() if transpose_a else x) @ (y.t() if transpose_b else y),
        a,
        b,
    )
    x, y = tf.cast(a, tf.bfloat16), tf.cast(b, tf.bfloat16)
    product = sparse_matmul(x, y, transpose_a, transpose_b)
    assert product.dtype == tf.float32 and tf.gradients(product, x)[0].dtype == tf.bfloat16


@pytest.mark.parametrize("adj_x", [False, True])
@pytest.mark.parametrize("adj_y", [False, True])
def test_batch_matmul_versions(adj_x: bool, adj_y: bool) -> None:
    a, b = array(*((2, 4, 3) if adj_x else (2, 3, 4))), array(*((2, 5, 4) if adj_y else (2, 4, 5)))

    def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x.mH if adj_x else x) @ (y.mH if adj_y else y)

    check_op(lambda x, y: batch_matmul_v1_op(x, y, adj_x=adj_x, adj_y=adj_y), reference, a, b)
    check_op(lambda x, y: batch_matmul_v3_op(x, y, adj_x=adj_x, adj_y=adj_y, Tout="float64"), reference, a, b[:1])
    with pytest.raises(ValueError, match="BatchMatMul"):
        batch_matmul_v1_op(a, b[:1], adj_x=adj_x, adj_y=adj_y)
    whole = run(batch_matmul_v3_op(np.full((1, 2, 3), 100, np.int8), np.full((1, 3, 2), 100, np.int8), Tout="int32"))
    assert (whole == 30000).all()
