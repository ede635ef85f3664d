"""Bands of diagonals; single diagonals are tested with arrays."""

from typing import Any

import numpy as np
import pytest
import torch

import thalweg as tf
from tests.checks import check_op
from tests.graph.ops.test_decompositions import array, run
from thalweg._src.graph.ops.diagonal import matrix_diag, matrix_diag_part, matrix_diag_part_v2_op, matrix_set_diag

ALIGNMENTS = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]
BANDS = [(-2, 1), (0, 2), (-2, -1), (1, 2), (-1, -1), (0, 0)]


def rows_of(x: torch.Tensor, k: tuple[int, int], padding: float, align: str) -> torch.Tensor:
    """Takes the diagonals one by one."""
    diagonals = [x.diagonal(i, -2, -1) for i in range(k[1], k[0] - 1, -1)]
    longest = max(d.shape[-1] for d in diagonals)
    above, below = align.split("_")
    rows = []
    for i, d in zip(range(k[1], k[0] - 1, -1), diagonals):
        missing = longest - d.shape[-1]
        side = above if i > 0 else below if i < 0 else "LEFT"
        rows.append(torch.nn.functional.pad(d, (0, missing) if side == "LEFT" else (missing, 0), value=padding))
    return rows[0] if len(rows) == 1 else torch.stack(rows, -2)


@pytest.mark.parametrize("align", ALIGNMENTS)
@pytest.mark.parametrize("k", BANDS)
def test_diag_part(align: str, k: tuple[int, int]) -> None:
    for shape in ((4, 3), (2, 3, 5), (2, 3, 3)):
        check_op(
            lambda x: matrix_diag_part(x, k=k, padding_value=7, align=align),
            lambda x: rows_of(x, k, 7.0, align),
            array(*shape),
        )


@pytest.mark.parametrize("align", ALIGNMENTS)
@pytest.mark.parametrize("k", BANDS)
def test_set_diag_and_diag_invert_diag_part(align: str, k: tuple[int, int]) -> None:
    a, b = array(2, 4, 5), array(2, 4, 5, seed=1)
    x, y = tf.constant(a), tf.constant(b)
    rows = matrix_diag_part(y, k=k, align=align)
    changed = matrix_set_diag(x, rows, k=k, align=align)
    made = matrix_diag(rows, k=k, num_rows=4, num_cols=5, padding_value=3, align=align)
    value, diagonals, back, whole, by_x, by_y = run(
        [changed, rows, matrix_diag_part(changed, k=k, align=align), made, *tf.gradients(changed, [x, y])]
    )
    distance = np.arange(5)[None, :] - np.arange(4)[:, None]
    inside = (distance >= k[0]) & (distance <= k[1])
    np.testing.assert_array_equal(value, np.where(inside, b, a))
    np.testing.assert_array_equal(back, diagonals)
    np.testing.assert_array_equal(whole, np.where(inside, b, 3))
    np.testing.assert_array_equal(by_x, np.broadcast_to(~inside, a.shape))
    np.testing.assert_array_equal(by_y, np.broadcast_to(inside, a.shape))


@pytest.mark.parametrize(
    ("k", "sizes", "shape"),
    [
        (0, {}, (3, 3)),
        (2, {}, (5, 5)),
        (-1, {"num_cols": 4}, (4, 4)),
        (1, {"num_rows": 3}, (3, 4)),
        (0, {"num_rows": 5}, (5, 3)),
    ],
)
def test_sizes(k: int, sizes: dict[str, int], shape: tuple[int, ...]) -> None:
    diagonal = array(2, 3)
    check_op(
        lambda x: matrix_diag(x, k=k, padding_value=0, **sizes),
        lambda x: _padded(torch.diag_embed(x, k), shape),
        diagonal,
    )


def _padded(x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    result = torch.zeros((*x.shape[:-2], *shape), dtype=x.dtype)
    rows, columns = min(x.shape[-2], shape[0]), min(x.shape[-1], shape[1])
    result[..., :rows, :columns] = x[..., :rows, :columns]
    return result


def test_other_types() -> None:
    np.testing.assert_array_equal(run(matrix_diag(np.array([True, True]), k=1)), np.diag([True, True], 1))
    padded = run(matrix_diag(np.array([1, 2], np.uint8), k=(0, 0), padding_value=9))
    np.testing.assert_array_equal(padded, [[1, 9], [9, 2]])
    older = run(matrix_diag_part_v2_op(np.arange(9).reshape(3, 3), (-1, 1), 0))
    np.testing.assert_array_equal(older, [[1, 5, 0], [0, 4, 8], [3, 7, 0]])


@pytest.mark.parametrize(
    "build",
    [
        lambda x, k: matrix_diag_part(x, k=k),
        lambda x, k: matrix_set_diag(x, np.zeros((2, 2)), k=k),
        lambda x, k: matrix_diag(x, k=k, num_rows=9, num_cols=9),
    ],
)
@pytest.mark.parametrize("k", [7, (2, 1), (1, 2, 3)])
def test_bands_out_of_range(build: Any, k: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        build(np.ones((3, 4)), k)
    x, given = tf.placeholder(tf.float64), tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected"):
        run(build(x, given), {x: np.ones((3, 4)), given: k})


def test_a_band_of_a_wrong_rank_is_rejected() -> None:
    band = tf.placeholder(tf.int32, [2])
    with pytest.raises(ValueError, match=r"diagonal has shape \[1, 3, 3\]"):
        matrix_set_diag(np.zeros((4, 3)), np.zeros((1, 3, 3)), k=band)
