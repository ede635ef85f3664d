import numpy as np
import pytest

from tests.checks import check_op
from tests.graph.ops.sparse_values import NOWHERE, PLACES, SHAPE, array, dense, run, same, sparse
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.sparse import sparse_placeholder, sparse_tensor_to_dense
from thalweg._src.graph.ops.sparse_shaping import (
    sparse_concat,
    sparse_expand_dims,
    sparse_reorder,
    sparse_reshape,
    sparse_reshape_op,
    sparse_slice,
    sparse_slice_grad_op,
    sparse_split,
    sparse_transpose,
)
from thalweg._src.graph.sparse_tensor import SparseTensor

VALUES = np.arange(4) + 1


def test_reorder() -> None:
    order = [2, 0, 3, 1]
    check_op(
        lambda i, v, s: [*_parts(sparse_reorder(SparseTensor(i, v, s)))][:2],
        lambda i, v, s: (i[[1, 3, 0, 2]], v[[1, 3, 0, 2]]),
        PLACES[order],
        array(4),
        SHAPE,
    )
    same(run(sparse_reorder(sparse([[2], [1], [1]], ["a", "b", "c"], [3]))), [[1], [1], [2]], [b"b", b"c", b"a"], [3])
    same(run(sparse_reorder(sparse([[2, 9], [1, -5]], [1, 2], [3, 3]))), [[1, -5], [2, 9]], [2, 1], [3, 3])
    huge = sparse([[2**40, 3], [2**40, 2]], [1, 2], [2**41, 2**41])
    same(run(sparse_reorder(huge)), [[2**40, 2], [2**40, 3]], [2, 1], [2**41, 2**41])


def _parts(tensor: SparseTensor) -> tuple:
    return tensor.indices, tensor.values, tensor.dense_shape


def test_reshape() -> None:
    same(run(sparse_reshape(sparse(PLACES, VALUES, SHAPE), [2, -1])), [[0, 1], [0, 3], [1, 2], [1, 4]], VALUES, [2, 6])
    assert sparse_reshape(sparse(PLACES, VALUES, SHAPE), [2, -1]).shape.as_list() == [2, 6]
    unknown = sparse_placeholder("int64")
    flat = sparse_reshape(unknown, [-1])
    same(run(flat, {unknown: (PLACES, VALUES, SHAPE)}), [[1], [3], [8], [10]], VALUES, [12])
    with pytest.raises(ValueError, match="evenly divisible by 5"):
        sparse_reshape(sparse(PLACES, VALUES, SHAPE), [5, -1])
    with pytest.raises(errors.InvalidArgumentError, match="Input to reshape is a tensor with 12 values"):
        run(sparse_reshape(unknown, [5, 2]), {unknown: (PLACES, VALUES, SHAPE)})


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3, None])
def test_expand_dims(axis: int | None) -> None:
    expected = np.expand_dims(run(sparse_tensor_to_dense(sparse(PLACES, VALUES, SHAPE))), -1 if axis is None else axis)
    known = sparse_expand_dims(sparse(PLACES, VALUES, SHAPE), axis)
    assert known.shape.as_list() == list(expected.shape)
    assert run(sparse_tensor_to_dense(known)).tolist() == expected.tolist()
    unknown = sparse_placeholder("int64")
    result = sparse_tensor_to_dense(sparse_expand_dims(unknown, axis))
    assert run(result, {unknown: (PLACES, VALUES, SHAPE)}).tolist() == expected.tolist()


def test_transpose() -> None:
    same(run(sparse_transpose(sparse(PLACES, VALUES, SHAPE))), [[0, 2], [1, 0], [2, 2], [3, 0]], [3, 1, 4, 2], [4, 3])
    cube = sparse([[0, 1, 2], [1, 0, 3]], [1, 2], [2, 3, 5])
    turned = sparse_transpose(cube, [2, 0, 1])
    assert turned.shape.as_list() == [5, 2, 3]
    same(run(turned), [[2, 0, 1], [3, 1, 0]], [1, 2], [5, 2, 3])
    check_op(
        lambda i, v, s: sparse_tensor_to_dense(sparse_transpose(SparseTensor(i, v, s))),
        lambda i, v, s: dense(i, v, s).t(),
        PLACES,
        array(4),
        SHAPE,
    )


def test_concat() -> None:
    a, b = sparse(PLACES, VALUES, SHAPE), sparse([[1, 0]], np.array([9]), [3, 1])
    same(run(sparse_concat(1, [a, b])), [[0, 1], [0, 3], [1, 4], [2, 0], [2, 2]], [1, 2, 9, 3, 4], [3, 5])
    assert sparse_concat(-1, [a, b]).shape.as_list() == [3, 5]
    assert sparse_concat(0, [a]) is a
    with pytest.raises(ValueError, match=r"sizes of dimension 1 differ: 4 and 1"):
        sparse_concat(0, [a, b])
    wide = sparse_concat(0, [a, b], expand_nonconcat_dim=True)
    same(run(wide), [*PLACES.tolist(), [4, 0]], [1, 2, 3, 4, 9], [6, 4])
    assert wide.shape.as_list() == [6, 4]
    last = sparse_concat(-2, [b, a], expand_nonconcat_dim=True)
    assert run(last).dense_shape.tolist() == [6, 4]
    words = sparse_concat(0, [sparse([[1]], ["b"], [2]), sparse([[0]], ["a"], [1])])
    same(run(words), [[1], [2]], [b"b", b"a"], [3])
    unknown = sparse_placeholder("int64")
    with pytest.raises(errors.InvalidArgumentError, match="differ"):
        run(sparse_concat(0, [unknown, b]), {unknown: (PLACES, VALUES, SHAPE)})


def test_split() -> None:
    first, second, third = run(sparse_split(sp_input=sparse(PLACES, VALUES, SHAPE), num_split=3, axis=1))
    same(first, [[0, 1], [2, 0]], [1, 3], [3, 2])
    same(second, [[2, 0]], [4], [3, 1])
    same(third, [[0, 0]], [2], [3, 1])
    assert len(sparse_split(sp_input=sparse(PLACES, VALUES, SHAPE), num_split=2, split_dim=-1)) == 2
    with pytest.raises(ValueError, match="num_split is 5"):
        sparse_split(sp_input=sparse(PLACES, VALUES, SHAPE), num_split=5, axis=1)
    with pytest.raises(ValueError, match="num_split is required"):
        sparse_split(sp_input=sparse(PLACES, VALUES, SHAPE), axis=1)


def test_slice() -> None:
    tensor = sparse(PLACES, VALUES, SHAPE)
    same(run(sparse_slice(tensor, [0, 1], [9, 2])), [[0, 0], [2, 1]], [1, 4], [3, 2])
    same(run(sparse_slice(tensor, [5, 1], [5, 5])), [], [], [0, 3])
    same(run(sparse_slice(tensor, [-1, 1], [2, 5])), [[1, 0], [1, 2]], [1, 2], [2, 3])
    with pytest.raises(ValueError, match="non-negative sizes"):
        sparse_slice(tensor, [0, 0], [-1, 1])


def test_slice_has_a_gradient_of_second_order() -> None:
    v = placeholder("float32", [4])
    part = sparse_slice(SparseTensor(PLACES, v, SHAPE), [0, 1], [3, 2]).values
    (grad,) = gradients(part * part * part, v)
    (second,) = gradients(grad, v)
    values = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
    assert run(grad, {v: values}).tolist() == [3.0, 0.0, 0.0, 48.0]
    assert run(second, {v: values}).tolist() == [6.0, 0.0, 0.0, 24.0]


def test_duplicate_indices_have_separate_gradients_in_a_slice() -> None:
    v = placeholder("float32", [3])
    part = sparse_slice(SparseTensor(np.array([[0, 1], [0, 1], [2, 0]]), v, SHAPE), [0, 1], [3, 2]).values
    (grad,) = gradients(part * part, v)
    assert run(grad, {v: [1.0, 2.0, 3.0]}).tolist() == [2.0, 4.0, 0.0]
    with pytest.raises(errors.InvalidArgumentError, match="1 of output_indices are not in the input"):
        run(sparse_slice_grad_op([1.0], [[0, 1], [2, 0]], [0, 0], [[1, 1]]))


def test_indices_out_of_bounds_are_rejected() -> None:
    outside = sparse([[0, 1], [3, 0]], [1, 2], SHAPE)
    with pytest.raises(errors.InvalidArgumentError, match="out of bounds"):
        run(sparse_split(sp_input=outside, num_split=2, axis=1)[0])
    with pytest.raises(errors.InvalidArgumentError, match="no indices in an empty tensor"):
        run(sparse_reshape_op([[0, 1]], [0, 4], [4, 0]))


def test_empty_tensors() -> None:
    empty = sparse(NOWHERE, np.zeros(0), [3, 4])
    for result in (
        sparse_reorder(empty),
        sparse_transpose(empty),
        sparse_reshape(empty, [12]),
        sparse_slice(empty, [0, 0], [2, 2]),
        sparse_concat(0, [empty, empty]),
        sparse_split(sp_input=empty, num_split=2, axis=0)[0],
        sparse_expand_dims(empty, 0),
    ):
        assert run(result).values.size == 0
