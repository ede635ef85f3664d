"""Segments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.checks import check_op
from tests.graph.ops.values import array, run
from thalweg._src.base import errors
from thalweg._src.graph.ops import segment
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.segment import unsorted_segment_sum

IDS = np.array([2, 0, -1, 2, 0, 4])
SORTED = np.array([0, 0, 2, 2, 2, 4])


def by_rows(how: str, ids: np.ndarray, count: int, empty: Any) -> Any:
    """Returns the reference: a Python loop over segments."""

    def reference(data: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        rows = []
        for i in range(count):
            members = [row for row, j in zip(data.unbind(0), ids.tolist()) if j == i]
            if not members:
                rows.append(torch.full_like(data[0], empty))
                continue
            stacked = torch.stack(members)
            result = getattr(stacked, how)(0) if how in ("sum", "prod", "mean") else getattr(torch, how)(stacked, 0)
            rows.append(result)
        return torch.stack(rows)

    return reference


LOW, HIGH = float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)


@pytest.mark.parametrize(("name", "how", "empty"), [("prod", "prod", 1), ("max", "amax", LOW), ("min", "amin", HIGH)])
def test_unsorted(name: str, how: str, empty: Any) -> None:
    build = getattr(segment, f"unsorted_segment_{name}")
    check_op(lambda d, i: build(d, i, 6), by_rows(how, IDS, 6, empty), array(6, 3) / 5, IDS, rtol=1e-4)


def test_unsorted_means() -> None:
    check_op(
        lambda d, i: segment.unsorted_segment_mean(d, i, 6), by_rows("mean", IDS, 6, 0), array(6, 3), IDS, rtol=1e-4
    )
    x = array(6, 3)
    counts = np.sqrt(np.array([2, 1, 2, 1, 1, 1])[:, None])
    total = run(unsorted_segment_sum(x, IDS, 6))
    np.testing.assert_allclose(run(segment.unsorted_segment_sqrt_n(x, IDS, 6)), total / counts, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "how", "empty"),
    [("sum", "sum", 0), ("mean", "mean", 0), ("prod", "prod", 1), ("max", "amax", 0), ("min", "amin", 0)],
)
def test_sorted(name: str, how: str, empty: Any) -> None:
    build = getattr(segment, f"segment_{name}")
    check_op(lambda d, i: build(d, i), by_rows(how, SORTED, 5, empty), array(6, 3) / 5, SORTED, rtol=1e-4)
    assert run(build(np.zeros((0, 3), np.float32), np.zeros(0, np.int32))).shape == (0, 3)


def test_ids_of_higher_rank_and_products_with_zeros() -> None:
    data, ids = array(2, 3, 4), np.array([[0, 1, 0], [1, 1, -1]])
    expected = np.full((2, 4), LOW, np.float32)
    for i, j in np.ndindex(2, 3):
        if ids[i, j] >= 0:
            expected[ids[i, j]] = np.maximum(expected[ids[i, j]], data[i, j])
    np.testing.assert_array_equal(run(segment.unsorted_segment_max(data, ids, 2)), expected)
    zeros = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 4.0]], np.float32)
    check_op(
        lambda d: segment.unsorted_segment_prod(d, [0, 0, 0], 1),
        by_rows("prod", np.zeros(3, int), 1, 1),
        zeros,
        rtol=1e-4,
    )


@pytest.mark.parametrize("dtype", ["uint16", "uint64", "int8", "int32", "float64"])
def test_types(dtype: str) -> None:
    value = np.array([1, 7, 3, 250 if dtype != "int8" else 100]).astype(dtype)
    ids = [0, 1, 0, 1]
    assert run(segment.unsorted_segment_max(value, ids, 2)).tolist() == [3, value[3]]
    assert run(segment.unsorted_segment_min(value, ids, 2)).tolist() == [1, 7]
    assert run(segment.segment_sum(value, [0, 0, 1, 1])).tolist() == [8, value[2] + value[3]]
    assert run(segment.segment_mean(value, [0, 0, 1, 1])).tolist()[0] == 4


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_errors() -> None:
    ids = placeholder("int32")
    with pytest.raises(errors.InvalidArgumentError, match="not increasing"):
        run(segment.segment_sum(np.zeros((2, 1)), ids), {ids: [1, 0]})
    with pytest.raises(errors.InvalidArgumentError, match=">= 0"):
        run(segment.segment_sum(np.zeros((2, 1)), ids), {ids: [-1, 0]})
    with pytest.raises(errors.InvalidArgumentError, match=r"segment_ids\[1\] = 5 is out of range \[0, 3\)"):
        run(segment.unsorted_segment_max(np.zeros((2, 1)), ids, 3), {ids: [0, 5]})
    with pytest.raises(ValueError, match="sizes differ"):
        segment.segment_sum(np.zeros((2, 1)), [0, 1, 2])
    with pytest.raises(ValueError, match="num_segments is -1"):
        segment.unsorted_segment_max(np.zeros((2, 1)), [0, 1], -1)
    with pytest.raises(errors.InvalidArgumentError, match="segment_ids has shape"):
        run(segment.unsorted_segment_max(np.zeros((2, 1)), ids, 3), {ids: [0, 1, 2]})
