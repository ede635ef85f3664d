"""Gathering, scattering, masks, partitions and stitches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.checks import check_op
from tests.graph.ops.values import array, run
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.convert import convert_to_tensor
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops import gather as gather_ops
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.gather import (
    boolean_mask,
    dynamic_partition,
    dynamic_stitch,
    gather,
    gather_nd,
    gather_v1_op,
    scatter_nd,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    unravel_index,
)
from thalweg._src.graph.ops.strings import string_length

INDICES = [np.array([3, 0, 3]), np.array(2, np.int32), np.array([[0, 1], [1, 3]]), np.zeros((0,), np.int32)]


@pytest.mark.parametrize("indices", INDICES, ids=lambda i: str(i.shape))
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_gather(indices: np.ndarray, axis: int) -> None:
    def reference(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        at = axis % x.ndim
        return x.index_select(at, i.reshape(-1)).reshape(x.shape[:at] + i.shape + x.shape[at + 1 :])

    check_op(lambda x, i: gather(x, i, axis=axis), reference, array(4, 5, 6), indices)


def test_gather_is_not_only_for_matrices() -> None:
    check_op(lambda x, i: gather(x, i), lambda x, i: x[i], array(5), np.array([1, 1, 4]))
    check_op(lambda x, i: gather_v1_op(x, i), lambda x, i: x[i], array(5, 2), np.array([1, 1, 4]))
    for dtype in ("uint16", "bool", "int8", "complex64", "float16"):
        value = array(4, 2, dtype=dtype)
        np.testing.assert_array_equal(run(gather(value, [3, 1])), value[[3, 1]])
    np.testing.assert_array_equal(run(gather(array(5, 2), [constant(3), 1])), run(gather(array(5, 2), [3, 1])))
    assert run(gather(array(5, 2), [[], []])).shape == (2, 0, 2)
    assert run(gather(array(0, 3), np.zeros(0, np.int32))).shape == (0, 3)
    assert run(gather(array(3, 0), [1, 2])).shape == (2, 0)


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_gather_with_batches(axis: int) -> None:
    value = array(2, 5, 6, 7)
    indices = np.random.default_rng(1).integers(0, 5, size=(2, 3, 4))

    def reference(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        rows = []
        for b in range(2):
            at = axis - 1
            row = x[b].index_select(at, i[b].reshape(-1))
            rows.append(row.reshape(x[b].shape[:at] + i[b].shape + x[b].shape[at + 1 :]))
        return torch.stack(rows)

    check_op(lambda x, i: gather(x, i, axis=axis, batch_dims=1), reference, value, indices)


def test_gradient_of_rows_is_sparse() -> None:
    x = placeholder("float32", [None, 3])
    (grad,) = gradients(gather(x, [[1, 0], [1, 1]]), x)
    assert isinstance(grad, IndexedSlices)
    assert grad.shape.as_list() == [None, 3]
    with pytest.warns(UserWarning, match="unknown shape"):
        dense = convert_to_tensor(grad)
    np.testing.assert_array_equal(run(dense, {x: np.zeros((2, 3))}), [[1] * 3, [3] * 3])
    (dense,) = gradients(gather(x, [1, 0], axis=1), x)
    assert not isinstance(dense, IndexedSlices)
    y = constant(np.zeros((4, 3), np.float32))
    (grad,) = gradients(gather(y, [1]), y)
    assert convert_to_tensor(grad).shape.as_list() == [4, 3]
    with pytest.raises(ValueError, match="without dense_shape"):
        convert_to_tensor(IndexedSlices(grad.values, grad.indices))


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
@pytest.mark.parametrize("index", [4, -1])
def test_an_index_out_of_range_is_named(index: int) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=rf"indices\[1\] = {index} is not in \[0, 4\)"):
        run(gather(np.zeros((4, 2)), [0, index]))
    x, i = placeholder("float32"), placeholder("int32")
    for axis, batch_dims in ((0, 0), (1, 0), (1, 1)):
        with pytest.raises(errors.InvalidArgumentError, match=rf"indices\[0,1\] = {index} is not in \[0, 4\)"):
            run(gather(x, i, axis=axis, batch_dims=batch_dims), {x: np.zeros((4, 4)), i: [[0, index]] * 4})
    big = np.zeros((100, 2), np.int32)
    big[70, 1] = index
    with pytest.raises(errors.InvalidArgumentError, match=rf"indices\[70,1\] = {index} is not in \[0, 4\)"):
        run(gather(x, i), {x: np.zeros((4, 4)), i: big})


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_gather_nd(depth: int) -> None:
    indices = np.random.default_rng(1).integers(0, 3, size=(2, 4, depth))
    check_op(
        gather_nd, lambda x, i: x[tuple(i.unbind(-1))] if depth else x.expand(2, 4, 3, 4, 5), array(3, 4, 5), indices
    )


def test_gather_nd_of_one_row_and_with_batches() -> None:
    check_op(gather_nd, lambda x, i: x[2, 1], array(3, 4), np.array([2, 1]))
    check_op(gather_nd, lambda x, i: x[i[:, 0]], array(3, 4), np.array([[2], [1]]))
    value, indices = array(2, 3, 4), np.array([[[0, 1]], [[2, 3]]])
    check_op(
        lambda x, i: gather_nd(x, _ranked(i, 3), batch_dims=1),
        lambda x, i: torch.stack([x[0, 0, 1], x[1, 2, 3]])[:, None],
        value,
        indices,
    )


def _ranked(tensor: Any, rank: int) -> Any:
    tensor.set_shape([None] * rank)
    return tensor


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_gather_nd_and_scatter_nd_name_an_invalid_row() -> None:
    x, i, u = placeholder("float32"), placeholder("int32"), placeholder("float32")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"indices\[1\] = \[0, 4\] does not index into param shape \[3,4\]"
    ):
        run(gather_nd(x, i), {x: np.zeros((3, 4)), i: [[0, 0], [0, 4]]})
    with pytest.raises(
        errors.InvalidArgumentError, match=r"indices\[0\] = \[-1\] does not index into param shape \[3\]"
    ):
        run(scatter_nd(i, u, [3, 2]), {i: [[-1]], u: np.zeros((1, 2))})
    with pytest.raises(ValueError, match="indices address 3 dimensions"):
        gather_nd(placeholder("float32", [3, 4]), placeholder("int32", [2, 3]))
    with pytest.raises(ValueError, match="updates of shape"):
        scatter_nd([[0]], placeholder("float32", [1, 3]), [3, 2])
    with pytest.raises(errors.InvalidArgumentError, match="updates"):
        run(scatter_nd(i, u, [3, 2]), {i: [[1]], u: np.zeros((1, 3))})
    x = placeholder("float32", [None, None])
    with pytest.raises(errors.InvalidArgumentError, match=r"\[2, 0\] has no elements to index"):
        run(tensor_scatter_nd_max(x, i, u), {x: np.zeros((2, 0)), i: [[1]], u: np.zeros((1, 0))})


def test_scatter_nd() -> None:
    indices = np.array([[0], [2], [0]])
    check_op(
        lambda i, u: scatter_nd(i, u, constant([4, 3], "int64")),
        lambda i, u: torch.zeros(4, 3).index_add(0, i[:, 0], u),
        indices,
        array(3, 3),
    )
    for dtype in ("uint16", "int8", "bool", "complex64"):
        updates = array(3, 2, dtype=dtype)
        expected = np.zeros((4, 2), dtype)
        np.add.at(expected, indices[:, 0], updates)
        np.testing.assert_array_equal(run(scatter_nd(indices, updates, np.array([4, 2]))), expected)


@pytest.mark.parametrize("how", ["update", "add", "sub"])
def test_tensor_scatter(how: str) -> None:
    indices = np.array([[0, 1], [2, 3], [1, 0]])

    def reference(x: torch.Tensor, i: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        at = tuple(i.unbind(1))
        if how == "update":
            return x.index_put(at, u)
        return x.index_put(at, u if how == "add" else -u, accumulate=True)

    check_op(getattr(gather_ops, f"tensor_scatter_{how}"), reference, array(3, 4, 2), indices, array(3, 2))
    x = array(3, 4)
    assert run(
        getattr(gather_ops, f"tensor_scatter_{how}")(x.astype("uint32"), [[0]], x[:1].astype("uint32"))
    ).shape == (3, 4)


def test_boolean_mask() -> None:
    value = array(3, 4, 5)
    mask = array(3, 4)[:, :] > 0
    check_op(lambda x, m: boolean_mask(x, _ranked(m, 2)), lambda x, m: x[m], value, mask)
    check_op(lambda x: boolean_mask(x, mask[0], axis=1), lambda x: x[:, mask[0]], value)
    check_op(lambda x: boolean_mask(x, np.zeros(3, bool)), lambda x: x[:0], value)
    with pytest.raises(ValueError, match="scalar"):
        boolean_mask(value, True)
    with pytest.raises(ValueError, match="rank of a boolean mask"):
        boolean_mask(value, placeholder("bool"))
    with pytest.raises(ValueError, match="must be equal"):
        boolean_mask(value, np.zeros(4, bool))


def test_partition_and_stitch() -> None:
    value, parts = array(5, 2), np.array([0, 1, 0, 2, 1], np.int32)
    check_op(lambda x, p: dynamic_partition(x, p, 3), lambda x, p: tuple(x[p == i] for i in range(3)), value, parts)
    check_op(lambda x, p: dynamic_partition(x, p, 3)[0], lambda x, p: x[p == 0], value, parts)
    check_op(
        lambda x, y: dynamic_stitch([[0, 2], [[1, 4], [3, 5]]], [x, y]),
        lambda x, y: torch.stack([x[0], y[0, 0], x[1], y[1, 0], y[0, 1], y[1, 1]]),
        array(2, 3),
        array(2, 2, 3),
    )
    assert dynamic_stitch([[0, 4]], [np.zeros((2, 3))]).shape.as_list() == [5, 3]


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_a_partition_out_of_range_is_named() -> None:
    p = placeholder("int32")
    with pytest.raises(errors.InvalidArgumentError, match=r"partitions\[1\] = 3 is not in \[0, 3\)"):
        run(dynamic_partition(array(2, 2), p, 3), {p: [0, 3]})


def test_strings() -> None:
    x = placeholder("string")
    value = np.array([[b"a", b"b"], [b"c", b"d"]], dtype=object)
    tensors = [
        gather(x, [1, 0]),
        gather(x, [1], axis=1),
        gather_nd(x, [[1, 1]]),
        boolean_mask(x, [False, True]),
        dynamic_partition(x, [1, 0], 2)[0],
        dynamic_stitch([[1, 0]], [x]),
    ]
    expected = [value[[1, 0]], value[:, [1]], value[[1], [1]], value[1:], value[1:], value[[1, 0]]]
    for found, wanted in zip(run(tensors, {x: value}), expected):
        assert found.tolist() == wanted.tolist()
    with pytest.raises(errors.InvalidArgumentError, match="is not in"):
        run(gather(x, [2]), {x: value})


def test_one_string_is_a_scalar_for_its_consumers() -> None:
    x = placeholder("string", [2])
    lengths = [string_length(gather(x, 1)), string_length(gather_nd(x, [1]))]
    assert run(lengths, {x: [b"a", b"bcd"]}) == [3, 3]


def test_second_order() -> None:
    x = placeholder("float32", [4, 3])
    rows = gather(x, [1, 1, 2], axis=0)
    (first,) = gradients(rows * rows * rows, x)
    (second,) = gradients(convert_to_tensor(first), x)
    value = array(4, 3)
    expected = np.zeros_like(value)
    expected[1], expected[2] = 12 * value[1], 6 * value[2]
    np.testing.assert_allclose(run(convert_to_tensor(second), {x: value}), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint16", "uint64"])
def test_scattered_extremes(dtype: str) -> None:
    base, updates = np.array([[1, 5], [3, 2]], dtype), np.array([[4, 4], [0, 9]], dtype)
    largest, least = (
        function(base, [[1], [1]], updates) for function in (tensor_scatter_nd_max, tensor_scatter_nd_min)
    )
    assert [v.tolist() for v in run([largest, least])] == [[[1, 5], [4, 9]], [[1, 5], [0, 2]]]


def test_gradients_of_scattered_extremes() -> None:
    """Elements that are equal share the gradient."""
    x, u = constant([1.0, 5.0, 3.0]), constant([4.0, 5.0, 4.0])
    grads = gradients(tensor_scatter_nd_max(x, [[0], [1], [0]], u), [x, u])
    assert [g.tolist() for g in run(grads)] == [[0, 0.5, 1], [0.5, 0.5, 0.5]]


def test_unravel_index() -> None:
    places = unravel_index([22, 41, 37], [7, 6])
    assert places.shape == (2, 3) and run(places).tolist() == [[3, 6, 6], [4, 5, 1]]
    assert run(unravel_index(np.int64(1621), np.array([6, 7, 8, 9]))).tolist() == [3, 1, 4, 1]
    with pytest.raises(errors.InvalidArgumentError, match="is not in"):
        run(unravel_index([42], [7, 6]))
    with pytest.raises(ValueError, match="sizes of at least 1"):
        unravel_index([0], [7, 0])
