"""Selections, one-hot values, masks and distinct values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.checks import check_op
from tests.graph.ops.values import array, run
from thalweg._src.base import errors
from thalweg._src.base.shapes import Dimension
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.reshape import zeros
from thalweg._src.graph.ops.where import one_hot, sequence_mask, setdiff1d, unique, unique_with_counts, where, where_v2


def test_where_finds_positions() -> None:
    for value in (array(3, 4) > 0, array(3, 4, dtype="int8"), array(2, 0), np.array(1.5), array(5, dtype="uint16")):
        x = placeholder(value.dtype)
        found = run(where(x), {x: value})
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, np.argwhere(value))
    assert where(placeholder("bool", [None, 3])).shape.as_list() == [None, 2]
    with pytest.raises(ValueError, match="both"):
        where(True, x=constant(1.0))


def test_select() -> None:
    a, b = array(3, 4), array(3, 4) + 1
    check_op(lambda c, x, y: where(c, x, y), torch.where, a > 0, a, b)
    check_op(lambda c, x, y: where(c, x, y), lambda c, x, y: torch.where(c[:, None], x, y), a[:, 0] > 0, a, b)
    check_op(lambda c, x, y: where(c, x, y), torch.where, np.array(True), a, b)
    check_op(lambda c, x, y: where(c, x, y), lambda c, x, y: x, np.zeros(0, bool), array(0, 4), array(0, 4))
    check_op(lambda c, x, y: where_v2(c, x, y), torch.where, a[:1] > 0, a[:, :1], np.array(2.0, np.float32))
    with pytest.raises(ValueError, match="must be equal"):
        where(a > 0, a, placeholder("float32", [3, 5]))
    c, x = placeholder("bool"), placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError):
        run(where(c, x, x), {c: [True, False], x: a})
    with pytest.raises(errors.InvalidArgumentError):
        run(where(c, x, zeros([1])), {c: True, x: a})
    strings = run(where([True, False], ["a", "b"], ["c", "d"]))
    assert strings.tolist() == [b"a", b"d"]


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_one_hot(axis: int | None) -> None:
    indices = np.array([[0, 2], [-1, 5]])

    def reference(i: torch.Tensor) -> torch.Tensor:
        hits = (i.unsqueeze(-1) == torch.arange(4)).to(torch.float32)
        return hits.movedim(-1, -1 if axis is None else axis)

    check_op(lambda i: one_hot(i, 4, axis=axis), reference, indices)


def test_one_hot_values_and_types() -> None:
    assert run(one_hot(1, 3, "on", "off")).tolist() == [b"off", b"on", b"off"]
    assert run(one_hot([1], 2, on_value=True, off_value=False)).tolist() == [[False, True]]
    assert run(one_hot([1], 2, dtype="uint8")).dtype == np.uint8
    assert run(one_hot([1], 2, on_value=5)).tolist() == [[0, 5]]
    depth = placeholder("int32", [])
    hot = one_hot(placeholder("int64", [None]), depth)
    assert hot.shape.as_list() == [None, None]
    with pytest.raises(ValueError, match="depth is -1"):
        one_hot([1], -1)
    with pytest.raises(errors.InvalidArgumentError, match="depth is -1"):
        run(one_hot([1], depth), {depth: -1})
    assert run(one_hot(np.zeros((0,), np.int32), 3)).shape == (0, 3)


def test_sequence_mask() -> None:
    np.testing.assert_array_equal(
        run(sequence_mask([1, 3, 0])), [[True, False, False], [True, True, True], [False, False, False]]
    )
    np.testing.assert_array_equal(run(sequence_mask([[1], [2]], 2, dtype="float32")), [[[1, 0]], [[1, 1]]])
    lengths = placeholder("float32", [3])  # lengths of any type leave the static size of the mask alone
    assert sequence_mask(lengths, Dimension(4)).shape.as_list() == [3, 4]


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint16", "bool", "int64"])
def test_unique(dtype: str) -> None:
    value = np.array([3, 1, 3, 0, 1, 7]).astype(dtype)
    y, idx, count = run(unique_with_counts(value))
    order = list(dict.fromkeys(value.tolist()))
    assert y.tolist() == order and y.dtype == value.dtype
    np.testing.assert_array_equal(y[idx], value)
    assert count.tolist() == [value.tolist().count(v) for v in order]
    assert idx.dtype == np.int32
    assert run(unique(value, out_idx="int64"))[1].dtype == np.int64


def test_unique_of_empty_tensors_of_strings_and_along_an_axis() -> None:
    from thalweg._src.graph.ops.where import unique_v2_op

    y, idx = run(unique(np.zeros(0, np.float32)))
    assert y.shape == idx.shape == (0,)
    y, idx = run(unique(["b", "a", "b"]))
    assert y.tolist() == [b"b", b"a"] and idx.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="x must be a vector"):
        unique([[1]])
    y, idx = run(unique_v2_op.many([["b", "a", "b"], ["c", "c", "c"]], [1]))
    assert y.tolist() == [[b"b", b"a"], [b"c", b"c"]] and idx.tolist() == [0, 1, 0]
    assert run(unique_v2_op.many(["b", "a", "b"], np.zeros(0, np.int64)))[0].tolist() == [b"b", b"a"]
    y, idx = run(unique_v2_op.many([[1, 2], [0, 0], [1, 2]], [0]))
    assert y.tolist() == [[1, 2], [0, 0]] and idx.tolist() == [0, 1, 0]


def test_setdiff1d() -> None:
    out, idx = run(setdiff1d([1, 2, 3, 4, 2], [2, 4]))
    assert out.tolist() == [1, 3] and idx.tolist() == [0, 2]
    out, idx = run(setdiff1d(["a", "b"], ["a"]))
    assert out.tolist() == [b"b"] and idx.tolist() == [1]
