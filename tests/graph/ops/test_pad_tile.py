"""Repeats, paddings, reversals, rolls, diagonals and blocks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.checks import check_op
from tests.graph.ops.values import array, run
from thalweg._src.base import errors
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.diagonal import (
    diag,
    diag_part,
    eye,
    matrix_band_part,
    matrix_diag,
    matrix_diag_part,
    matrix_set_diag,
)
from thalweg._src.graph.ops.pad_tile import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
    meshgrid,
    pad,
    repeat,
    reverse,
    reverse_sequence,
    roll,
    tile,
)
from thalweg._src.graph.ops.space_to_depth import (
    batch_to_space,
    depth_to_space,
    space_to_batch,
    space_to_batch_nd,
    space_to_depth,
)


def test_tile() -> None:
    check_op(lambda x: tile(x, [2, 1, 3]), lambda x: x.tile(2, 1, 3), array(2, 3, 4))
    check_op(lambda x: tile(x, [2, 0]), lambda x: x.tile(2, 0), array(2, 3))
    check_op(lambda x: tile(x, np.zeros(0, np.int32)), lambda x: x.clone(), array())
    check_op(lambda x, m: tile(x, m), lambda x, m: x.tile(2, 3), array(2, 3), np.array([2, 3]))
    assert tile(placeholder("float32", [None, 3]), [2, 2]).shape.as_list() == [None, 6]
    for multiples in ([2], [2, -1]):
        with pytest.raises(ValueError, match="multiples"):
            tile(placeholder("float32", [2, 3]), multiples)
        x, m = placeholder("float32"), placeholder("int32")
        with pytest.raises(errors.InvalidArgumentError, match="multiples"):
            run(tile(x, m), {x: np.zeros((2, 3)), m: multiples})
    assert run(tile(["a", "b"], [2])).tolist() == [b"a", b"b", b"a", b"b"]


def test_pad() -> None:
    pads = [[1, 2], [0, 3]]
    check_op(lambda x: pad(x, pads), lambda x: torch.nn.functional.pad(x, (0, 3, 1, 2)), array(2, 3))
    check_op(
        lambda x: pad(x, pads, constant_values=7.0),
        lambda x: torch.nn.functional.pad(x, (0, 3, 1, 2), value=7),
        array(2, 3),
    )
    check_op(lambda x, p: pad(x, p), lambda x, p: torch.nn.functional.pad(x, (0, 3, 1, 2)), array(2, 3), np.array(pads))
    check_op(lambda x: pad(x, np.zeros((0, 2), np.int32)), lambda x: x.clone(), array())
    check_op(lambda x: pad(x, [[1, 1]]), lambda x: torch.zeros(2), array(0))
    assert pad(placeholder("float32", [None, 3]), pads).shape.as_list() == [None, 6]
    with pytest.raises(ValueError, match="negative"):
        pad(placeholder("float32", [2]), [[-1, 0]])
    with pytest.raises(ValueError, match="Unknown padding mode"):
        pad(placeholder("float32", [2]), [[1, 0]], "WRAP")


@pytest.mark.parametrize("mode", ["reflect", "SYMMETRIC"])
def test_mirror_pad(mode: str) -> None:
    value, pads = array(3, 4), [[2, 1], [0, 3]]
    positions = np.pad(np.arange(12).reshape(3, 4), pads, mode=mode.lower())
    check_op(lambda x: pad(x, pads, mode), lambda x: x.reshape(-1)[positions], value)
    with pytest.raises(ValueError, match="too large"):
        pad(placeholder("float32", [3]), [[4, 0]], mode)
    x = placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match="too large"):
        run(pad(x, [[4, 0]], mode), {x: np.zeros(3)})


def test_reverse() -> None:
    check_op(lambda x: reverse(x, [0, -1]), lambda x: x.flip(0, 2), array(2, 3, 4))
    check_op(lambda x: reverse(x, []), lambda x: x.clone(), array(2, 3))
    check_op(lambda x, a: reverse(x, a), lambda x, a: x.flip(1), array(2, 3), np.array([1]))
    assert run(reverse(np.array([[1, 2]], np.uint16), [1])).tolist() == [[2, 1]]
    with pytest.raises(ValueError, match="duplicate"):
        reverse(placeholder("float32", [2, 3]), [1, -1])
    assert run(reverse(["a", "b"], [0])).tolist() == [b"b", b"a"]


@pytest.mark.parametrize("axes", [(1, 0), (0, 1), (2, 0)])
def test_reverse_sequence(axes: tuple[int, int]) -> None:
    along, batch = axes
    value = array(3, 4, 5)
    lengths = np.array([2, 0, 3, 1][: value.shape[batch]])

    def reference(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        rows = []
        for row, count in zip(x.unbind(batch), n.tolist()):
            at = along - (along > batch)
            rows.append(
                torch.cat([row.narrow(at, 0, count).flip(at), row.narrow(at, count, row.shape[at] - count)], at)
            )
        return torch.stack(rows, batch)

    check_op(lambda x, n: reverse_sequence(x, n, along, batch), reference, value, lengths)


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
@pytest.mark.parametrize("axes", [(1, 0), (0, 1), (2, 0)])
def test_lengths_of_sequences_out_of_range(axes: tuple[int, int]) -> None:
    x, value = placeholder("float32"), array(3, 4, 5)
    with pytest.raises(errors.InvalidArgumentError, match="seq_lengths"):
        run(reverse_sequence(x, [9] * value.shape[axes[1]], *axes), {x: value})


def test_broadcasts() -> None:
    check_op(lambda x: broadcast_to(x, [4, 2, 3]), lambda x: x.expand(4, 2, 3).clone(), array(2, 1))
    check_op(lambda x: broadcast_to(x, [0, 2]), lambda x: x.expand(0, 2), array(1, 2))
    with pytest.raises(ValueError, match="does not broadcast"):
        broadcast_to(placeholder("float32", [2]), [3])
    x = placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match="does not broadcast"):
        run(broadcast_to(x, [3]), {x: np.zeros(2)})
    assert broadcast_static_shape([2, 1], [None, 3, 1, 5]).as_list() == [None, 3, 2, 5]
    with pytest.raises(ValueError):
        broadcast_static_shape([2], [3])
    a, b = placeholder("int32"), placeholder("int32")
    shape = broadcast_dynamic_shape(a, b)
    assert run(shape, {a: [2, 1], b: [5]}).tolist() == [2, 5]
    with pytest.raises(errors.InvalidArgumentError, match="broadcast"):
        run(shape, {a: [2], b: [3]})


def test_roll() -> None:
    check_op(lambda x: roll(x, 2, 1), lambda x: x.roll(2, 1), array(2, 5))
    check_op(lambda x: roll(x, [1, -2], [0, 1]), lambda x: x.roll((1, -2), (0, 1)), array(2, 5))
    x = placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError, match="axis 3"):
        run(roll(x, 1, 3), {x: np.zeros(3)})


def test_repeat() -> None:
    for repeats, axis in ((2, 0), ([1, 3], 0), ([2, 0, 1], 1), (2, None), ([3], 1)):
        value = array(2, 3)
        np.testing.assert_array_equal(run(repeat(value, repeats, axis)), np.repeat(value, repeats, axis))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing: str) -> None:
    a, b, c = array(2), array(3), array(4)
    for args in ((a,), (a, b), (a, b, c)):
        for found, wanted in zip(run(meshgrid(*args, indexing=indexing)), np.meshgrid(*args, indexing=indexing)):
            np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match="indexing"):
        meshgrid(a, indexing="zz")


def test_diagonals() -> None:
    check_op(matrix_diag, torch.diag_embed, array(2, 3))
    check_op(matrix_diag_part, lambda x: x.diagonal(0, -2, -1), array(2, 3, 4))
    check_op(diag, lambda x: torch.diag_embed(x.reshape(-1)).reshape(2, 3, 2, 3), array(2, 3))
    check_op(diag_part, lambda x: x.reshape(6, 6).diagonal().reshape(2, 3), array(2, 3, 2, 3))
    check_op(matrix_set_diag, lambda x, d: torch.diagonal_scatter(x, d, 0, -2, -1), array(2, 3, 4), array(2, 3))
    for lower, upper in ((1, 0), (-1, 1), (0, -1), (-1, -1), (0, 0)):
        mask = np.tri(3, 4, -1 - lower if lower >= 0 else -9) == 0
        mask &= np.tri(3, 4, upper if upper >= 0 else 9) == 1
        check_op(lambda x: matrix_band_part(x, lower, upper), lambda x: x * torch.from_numpy(mask), array(2, 3, 4))
    with pytest.raises(ValueError, match="num_lower is 4"):
        matrix_band_part(placeholder("float32", [3, 3]), 4, 0)
    with pytest.raises(ValueError):
        diag_part(placeholder("float32", [2, 3]))


def test_eye() -> None:
    np.testing.assert_array_equal(run(eye(3)), np.eye(3))
    np.testing.assert_array_equal(run(eye(2, 4, dtype="int32")), np.eye(2, 4))
    np.testing.assert_array_equal(run(eye(4, 2, batch_shape=[3])), np.tile(np.eye(4, 2), (3, 1, 1)))
    assert eye(3, batch_shape=[2]).shape.as_list() == [2, 3, 3]
    n = placeholder("int32", [])
    np.testing.assert_array_equal(run(eye(n), {n: 2}), np.eye(2))


def test_depth_and_space() -> None:
    value = array(2, 4, 6, 3)

    def to_depth(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(2, 2, 2, 3, 2, 3).permute(0, 1, 3, 2, 4, 5).reshape(2, 2, 3, 12)

    check_op(lambda x: space_to_depth(x, 2), to_depth, value)
    deep = to_depth(torch.from_numpy(value)).numpy()
    check_op(
        lambda x: depth_to_space(x, 2),
        lambda x: x.reshape(2, 2, 3, 2, 2, 3).permute(0, 1, 3, 2, 4, 5).reshape(2, 4, 6, 3),
        deep,
    )
    planes = np.ascontiguousarray(value.transpose(0, 3, 1, 2))
    there = space_to_depth(planes, 2, data_format="NCHW")
    found, back = run([there, depth_to_space(there, 2, data_format="NCHW")])
    np.testing.assert_array_equal(found, deep.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(back, planes)
    with pytest.raises(ValueError, match="width of size 6"):
        space_to_depth(placeholder("float32", [1, 4, 6, 1]), 4)


def test_batch_and_space() -> None:
    value, pads = array(2, 3, 5, 4), [[1, 0], [0, 1]]

    def to_batch(x: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.pad(x, (0, 0, 0, 1, 1, 0))
        return x.reshape(2, 2, 2, 2, 3, 4).permute(2, 4, 0, 1, 3, 5).reshape(12, 2, 2, 4)

    check_op(lambda x: space_to_batch_nd(x, [2, 3], pads), to_batch, value)
    moved = space_to_batch(value, pads, block_shape=[2, 3])
    np.testing.assert_array_equal(run(batch_to_space(moved, pads, block_shape=[2, 3])), value)
    assert moved.shape.as_list() == [12, 2, 2, 4]
    with pytest.raises(ValueError, match="is not divisible"):
        space_to_batch(placeholder("float32", [1, 3, 3, 1]), [[0, 0], [0, 0]], 2)
    with pytest.raises(ValueError, match="is not divisible"):
        batch_to_space(placeholder("float32", [3, 3, 3, 1]), [[0, 0], [0, 0]], 2)
