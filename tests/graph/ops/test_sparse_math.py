import numpy as np
import pytest
import torch

from tests.checks import check_op
from tests.graph.ops.sparse_values import NOWHERE, PLACES, SHAPE, array, dense, run, same, sparse
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.sparse import sparse_placeholder, sparse_tensor_to_dense
from thalweg._src.graph.ops.sparse_math import (
    sparse_add,
    sparse_dense_cwise_add_op,
    sparse_maximum,
    sparse_minimum,
    sparse_reduce_max,
    sparse_reduce_max_sparse,
    sparse_reduce_sum,
    sparse_reduce_sum_sparse,
    sparse_softmax,
    sparse_tensor_dense_matmul,
)
from thalweg._src.graph.scopes import device
from thalweg._src.graph.sparse_tensor import SparseTensor

OTHERS = np.array([[0, 1], [1, 1], [2, 2]])


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint16", "complex64"])
def test_add(dtype: str) -> None:
    check_op(
        lambda i, v, j, w, s: sparse_tensor_to_dense(sparse_add(SparseTensor(i, v, s), SparseTensor(j, w, s))),
        lambda i, v, j, w, s: dense(torch.cat([i, j]), torch.cat([v, w]), s),
        PLACES,
        array(4).astype(dtype),
        OTHERS,
        array(3, seed=1).astype(dtype),
        SHAPE,
    )


def test_add_drops_values_below_the_threshold() -> None:
    total = sparse_add(sparse(PLACES, [1.0, -2.0, 3.0, 0.5], SHAPE), sparse(OTHERS, [1.0, 4.0, -0.5], SHAPE), thresh=2)
    same(run(total), [[0, 1], [0, 3], [1, 1], [2, 0]], [2.0, -2.0, 4.0, 3.0], SHAPE)
    v = placeholder("float32", [4])
    kept = sparse_add(SparseTensor(PLACES, v, SHAPE), sparse(OTHERS, [1.0, 4.0, -0.5], SHAPE), threshold=2.0).values
    (grad,) = gradients(kept * kept, v)
    (second,) = gradients(grad, v)
    assert run([grad, second], {v: [1.0, -2.0, 3.0, 0.5]})[0].tolist() == [4.0, -4.0, 6.0, 0.0]
    assert run(second, {v: [1.0, -2.0, 3.0, 0.5]}).tolist() == [2.0, 2.0, 2.0, 0.0]


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="must be equal"):
        sparse_add(sparse(PLACES, [1, 2, 3, 4], SHAPE), sparse([], np.zeros(0, np.int32), [4, 4]))
    with pytest.raises(TypeError, match="neither a nor b is a SparseTensor"):
        sparse_add(1, 2)
    unknown = sparse_placeholder("float32")
    for other in (sparse(OTHERS, [1.0, 2.0, 3.0], SHAPE), constant(array(3, 4))):
        with pytest.raises(errors.InvalidArgumentError, match=r"hapes: \[3,5\] vs. \[3,4\]"):
            run(sparse_add(unknown, other), {unknown: (PLACES, [1, 2, 3, 4], [3, 5])})


def test_add_dense() -> None:
    check_op(
        lambda i, v, s, b: sparse_add(b, SparseTensor(i, v, s)),
        lambda i, v, s, b: dense(i, v, s) + b,
        PLACES[[0, 1, 1, 3]],
        array(4),
        SHAPE,
        array(3, 4, seed=1),
    )


@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_matmul(adjoint_a: bool, adjoint_b: bool, dtype: str) -> None:
    rows = 3 if adjoint_a else 4
    b = array(*((5, rows) if adjoint_b else (rows, 5)), seed=1).astype(dtype)
    values = (array(4) * 3).astype(dtype)
    if dtype == "complex64":
        values, b = values + 1j * values[::-1], b - 2j * b

    def reference(i: torch.Tensor, v: torch.Tensor, s: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        a = dense(i, v, s)
        return (a.mH if adjoint_a else a) @ (x.mH if adjoint_b else x)

    check_op(
        lambda i, v, s, x: sparse_tensor_dense_matmul(SparseTensor(i, v, s), x, adjoint_a, adjoint_b),
        reference,
        PLACES,
        values,
        SHAPE,
        b,
    )


def test_matmul_of_dense_with_sparse_and_of_empty_tensors() -> None:
    check_op(
        lambda v, x: sparse_tensor_dense_matmul(x, SparseTensor(PLACES, v, SHAPE)),
        lambda v, x: x @ dense(torch.from_numpy(PLACES), v, torch.from_numpy(SHAPE)),
        array(4),
        array(5, 3, seed=1),
    )
    assert run(sparse_tensor_dense_matmul(sparse(NOWHERE, array(0), SHAPE), array(4, 2))).tolist() == [[0, 0]] * 3
    with pytest.raises(ValueError, match="inner dimensions differ: 4 and 3"):
        sparse_tensor_dense_matmul(sparse(PLACES, array(4), SHAPE), array(3, 2))
    with device("/cpu:0"):  # a GPU leaves such a place out
        outside = sparse_tensor_dense_matmul(sparse([[0, 1], [3, 0]], array(2), SHAPE), array(4, 2))
    with pytest.raises(errors.InvalidArgumentError, match=r"indices\[1\] = \[3,0\] is out of bounds"):
        run(outside)


@pytest.mark.parametrize("shape", [(3, 4), (4,), (1, 4), (3, 1), ()])
@pytest.mark.parametrize("sign", ["*", "/", "+"])
def test_elementwise(shape: tuple, sign: str) -> None:
    def build(v: object, b: object) -> object:
        tensor = SparseTensor(PLACES, v, SHAPE)
        if sign == "+":
            return sparse_dense_cwise_add_op(tensor.indices, tensor.values, tensor.dense_shape, b)
        return (tensor * b if sign == "*" else tensor / b).values

    def reference(v: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        other = b.expand(3, 4)[tuple(torch.from_numpy(PLACES).t())]
        return v * other if sign == "*" else v / other if sign == "/" else v + other

    check_op(build, reference, array(4), array(*shape, seed=1) + 3)


def test_operators() -> None:
    tensor = sparse(PLACES, [7, 8, 9, 10], SHAPE)
    same(run(2 * tensor), PLACES, [14, 16, 18, 20], SHAPE)
    same(run(constant([1, 2, 3, 4]) * tensor), PLACES, [14, 32, 9, 30], SHAPE)
    assert (tensor / 2).dtype.name == "float64"
    same(run(tensor.__div__(constant(-2))), PLACES, [-3, -4, -4, -5], SHAPE)  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        tensor + tensor  # type: ignore[operator]
    with pytest.raises(errors.InvalidArgumentError, match="Integer division by zero"):
        run(tensor.__div__(constant(0)))  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="broadcasts to the sparse one"):
        tensor * np.ones((2, 3, 4), np.int32)


def test_extremes() -> None:
    a, b = sparse(PLACES, [-1, 2, -3, 4], SHAPE), sparse(OTHERS, [-5, 6, 7], SHAPE)
    places = [[0, 1], [0, 3], [1, 1], [2, 0], [2, 2]]
    same(run(sparse_maximum(a, b)), places, [-1, 2, 6, 0, 7], SHAPE)
    same(run(sparse_minimum(a, b)), places, [-5, 0, 0, -3, 4], SHAPE)
    unsigned = sparse([[0]], np.array([60000], np.uint16), [1])
    same(run(sparse_maximum(unsigned, unsigned.with_values(constant(np.array([1], np.uint16))))), [[0]], [60000], [1])


@pytest.mark.parametrize("axis", [None, 0, 1, -1, [0, 1], []])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduce_sum(axis: object, keepdims: bool) -> None:
    axes = (0, 1) if axis is None else tuple(np.atleast_1d(np.array(axis, int)).tolist())

    def reference(i: torch.Tensor, v: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        full = dense(i, v, s)
        return full.sum(axes, keepdim=keepdims) if axes else full

    check_op(
        lambda i, v, s: sparse_reduce_sum(SparseTensor(i, v, s), axis, keepdims), reference, PLACES, array(4), SHAPE
    )


def test_reduce_sum_of_unordered_indices() -> None:
    same_sum = sparse_reduce_sum(sparse(PLACES[::-1], [1, 2, 3, 4], SHAPE), 1)
    assert run(same_sum).tolist() == [7, 0, 3]
    with pytest.raises(ValueError, match="reduction axis 2 is out of range"):
        sparse_reduce_sum(sparse(PLACES, [1, 2, 3, 4], SHAPE), 2)


def test_reduce_max() -> None:
    tensor = sparse(PLACES, [-1.0, -2.0, 3.0, 3.0], SHAPE)
    assert run(sparse_reduce_max(tensor, 1)).tolist() == [-1.0, 0.0, 3.0]
    assert run(sparse_reduce_max(tensor)).tolist() == 3.0
    (grad,) = gradients(sparse_reduce_max(tensor, 1), tensor.values)
    assert run(grad).tolist() == [1.0, 0.0, 0.5, 0.5]


def test_reduce_to_sparse() -> None:
    tensor = sparse(PLACES, [1, 2, 3, 4], SHAPE)
    same(run(sparse_reduce_sum_sparse(tensor, 1)), [[0], [2]], [3, 7], [3])
    same(run(sparse_reduce_max_sparse(tensor, -1, keepdims=True)), [[0, 0], [2, 0]], [2, 4], [3, 1])
    same(run(sparse_reduce_sum_sparse(tensor)), [[]], [10], [])
    same(run(sparse_reduce_sum_sparse(sparse(NOWHERE, np.zeros(0, np.int32), SHAPE))), [], [], [])


def test_softmax() -> None:
    def reference(v: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.softmax(v[:2], 0), torch.softmax(v[2:], 0)])

    check_op(lambda v: sparse_softmax(SparseTensor(PLACES, v, SHAPE)).values, reference, array(4))

    def slope(v: torch.Tensor) -> torch.Tensor:
        p = reference(v)
        totals = (p * p).reshape(2, 2).sum(1).repeat_interleave(2)
        return 2 * p * (p - totals)

    check_op(lambda v: gradients(sparse_softmax(SparseTensor(PLACES, v, SHAPE)).values ** 2, v)[0], slope, array(4))
    with pytest.raises(ValueError, match="rank at least 2"):
        sparse_softmax(sparse([[0]], [1.0], [2]))
