import numpy as np
import pytest

from tests.checks import check_op
from tests.graph.ops.sparse_values import PLACES, SHAPE, array, run, same, sparse
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.sparse import sparse_placeholder
from thalweg._src.graph.ops.sparse_rows import sparse_bincount, sparse_bincount_op, sparse_fill_empty_rows
from thalweg._src.graph.sparse_tensor import SparseTensor


def test_fill_empty_rows() -> None:
    filled, empty = sparse_fill_empty_rows(sparse([[2, 1], [0, 1], [2, 0]], [1.0, 2.0, 3.0], [4, 3]), 7)
    value, rows = run([filled, empty])
    same(value, [[0, 1], [1, 0], [2, 1], [2, 0], [3, 0]], [2.0, 7.0, 1.0, 3.0, 7.0], [4, 3])
    assert rows.tolist() == [False, True, False, True]
    assert empty.shape.as_list() == [4] and filled.shape.as_list() == [4, 3]
    words, _ = sparse_fill_empty_rows(sparse([[1]], ["a"], [2]), "none")
    same(run(words), [[0], [1]], [b"none", b"a"], [2])
    nothing, rows = run(sparse_fill_empty_rows(sparse([], array(0), [0, 3]), 1.0))
    same(nothing, [], [], [0, 3])
    with pytest.raises(errors.InvalidArgumentError, match=r"indices\(0, 0\) is invalid: 5 >= 4"):
        run(sparse_fill_empty_rows(sparse([[5, 0]], [1.0], [4, 3]), 1.0))


def test_fill_empty_rows_has_a_gradient() -> None:
    check_op(
        lambda i, v, s, d: sparse_fill_empty_rows(SparseTensor(i, v, s), d)[0].values,
        lambda i, v, s, d: np_free_fill(v, d),
        PLACES,
        array(4),
        SHAPE,
        np.float32(0.5),
    )
    v, d = placeholder("float32", [4]), placeholder("float32", [])
    values = sparse_fill_empty_rows(SparseTensor(PLACES, v, SHAPE), d)[0].values
    first = gradients(values * values * values, [v, d])
    second = gradients(first, [v, d])
    by_v, by_d = run(second, {v: [1, 2, 3, 4], d: 5})
    assert by_v.tolist() == [6.0, 12.0, 18.0, 24.0] and by_d == 30.0


def np_free_fill(v: object, d: object) -> object:
    """Returns what filling gives: the second of three rows is empty."""
    import torch

    return torch.cat([v[:2], d.reshape(1), v[2:]])  # type: ignore[index, attr-defined]


def test_bincount() -> None:
    values = constant([[1, 2, 2], [3, 4, 5]])
    same(run(sparse_bincount(values, axis=-1)), [[0, 1], [0, 2], [1, 3], [1, 4], [1, 5]], [1, 2, 1, 1, 1], [2, 6])
    same(run(sparse_bincount(values)), [[1], [2], [3], [4], [5]], [1, 2, 1, 1, 1], [6])
    same(run(sparse_bincount(values, axis=-1, minlength=8, maxlength=4)), [[0, 1], [0, 2], [1, 3]], [1, 2, 1], [2, 4])
    ids = sparse([[0, 1], [1, 0], [1, 1]], [1, 3, 3], [2, 3])
    same(run(sparse_bincount(ids, axis=-1, binary_output=True)), [[0, 1], [1, 3]], [1, 1], [2, 4])
    same(run(sparse_bincount(constant([1, 2, 2]), constant([0.5, 1.0, 2.0]))), [[1], [2]], [0.5, 3.0], [3])
    with pytest.raises(ValueError, match="axis is"):
        sparse_bincount(values, axis=1)


def test_bincount_has_the_given_length() -> None:
    values = sparse([[0, 1], [1, 0]], [2, 1], [2, 3])
    same(run(sparse_bincount(values, axis=-1, maxlength=7)), [[0, 2], [1, 1]], [1, 1], [2, 7])
    same(run(sparse_bincount(np.zeros(0, np.int32))), [], [], [1])
    with pytest.raises(errors.InvalidArgumentError, match="out of bounds"):
        run(sparse_bincount_op([[0, 5]], [1], [2, 3], 4, [1.0]))


def test_bincount_to_dense() -> None:
    counts = sparse_bincount_op(PLACES, [1, 7, 2, 2], SHAPE, 3, np.zeros(0, np.float32))
    assert counts.shape.as_list() == [3, 3]
    assert run(counts).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 2]]
    weighted = sparse_bincount_op(PLACES, [1, 7, 2, 2], SHAPE, 3, [0.5, 1.0, 2.0, 3.0])
    assert run(weighted).tolist() == [[0, 0.5, 0], [0, 0, 0], [0, 0, 5]]
    unknown = sparse_placeholder("int64")
    negative = sparse_bincount_op(
        unknown.indices, unknown.values, unknown.dense_shape, np.int64(3), np.zeros(0, np.float32)
    )
    with pytest.raises(errors.InvalidArgumentError, match="non-negative"):
        run(negative, {unknown: ([[0]], [-1], [1])})
