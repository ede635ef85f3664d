from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.optimizers.clipping import (
    clip_by_average_norm,
    clip_by_global_norm,
    clip_by_norm,
    global_norm,
)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with Graph().as_default() as graph:
        yield graph


def run(fetches: Any) -> Any:
    with Session() as session:
        return session.run(fetches)


def array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


@pytest.mark.parametrize("clip_norm", [0.5, 1.0, 100.0])
@pytest.mark.parametrize("axes", [None, 0, [1], [-1, 0]])
def test_clip_by_norm(clip_norm: float, axes: Any) -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        norm = (x * x).sum((0, 1) if axes is None else axes, keepdim=True).sqrt()
        return x * clip_norm / torch.maximum(norm, torch.tensor(clip_norm))

    check_op(lambda x: clip_by_norm(x, clip_norm, axes), reference, array(3, 4))


def test_clip_by_norm_of_zeros_and_by_a_negative_norm() -> None:
    assert run(clip_by_norm(constant([0.0, 0.0]), 1.0)).tolist() == [0, 0]
    assert run(clip_by_norm(constant([3.0, 4.0]), -1.0)).tolist() == [0, 0]
    assert run(clip_by_norm(constant([3.0, 4.0]), constant(-1.0))).tolist() == [0, 0]


def test_clip_by_norm_of_rows() -> None:
    rows = clip_by_norm(IndexedSlices(constant([[3.0, 4.0]]), constant([7]), constant([9, 2])), 1.0)
    assert isinstance(rows, IndexedSlices)
    np.testing.assert_allclose(run(rows.values), [[0.6, 0.8]], rtol=1e-6)
    assert run(rows.indices).tolist() == [7]


def test_clip_by_norm_checks_shapes() -> None:
    with pytest.raises(ValueError):
        clip_by_norm(placeholder("float32", [3]), placeholder("float32", [2, 3]))


def test_global_norm() -> None:
    rows = IndexedSlices(constant([[12.0]]), constant([0]), constant([5, 1]))
    assert run(global_norm([constant([3.0]), None, constant([[4.0]]), rows])) == pytest.approx(13)
    with pytest.raises(TypeError, match="should be a sequence"):
        global_norm(constant([1.0]))


@pytest.mark.parametrize("clip_norm", [4.0, 6.5, 13.0, 50.0])
def test_clip_by_global_norm(clip_norm: float) -> None:
    rows = IndexedSlices(constant([[12.0]]), constant([3]), constant([5, 1]))
    clipped, norm = clip_by_global_norm([constant([3.0]), None, constant([-4.0]), rows], clip_norm)
    assert clipped[1] is None
    assert isinstance(clipped[3], IndexedSlices)
    scale = min(1.0, clip_norm / 13)
    first, third, values, indices, value = run([clipped[0], clipped[2], clipped[3].values, clipped[3].indices, norm])
    np.testing.assert_allclose([first[0], third[0], values[0, 0]], np.array([3, -4, 12]) * scale, rtol=1e-6)
    assert indices.tolist() == [3] and value == pytest.approx(13)


def test_clip_by_global_norm_with_a_given_norm() -> None:
    clipped, norm = clip_by_global_norm([constant([3.0, 4.0])], 2.0, use_norm=constant(10.0))
    assert run(norm) == 10
    np.testing.assert_allclose(run(clipped[0]), [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_a_non_finite_norm_gives_nan(bad: float) -> None:
    clipped, _ = clip_by_global_norm([constant([bad, 1.0]), constant([2.0])], 1.0)
    assert all(np.isnan(value).all() for value in run(clipped))


def test_clip_by_global_norm_has_a_gradient() -> None:
    def reference(x: torch.Tensor, y: torch.Tensor) -> Any:
        norm = ((x * x).sum() + (y * y).sum()).sqrt()
        return x / norm, y / norm

    check_op(lambda x, y: clip_by_global_norm([x, y], 1.0)[0], reference, array(2, 3), array(4, seed=1))


def test_clip_by_average_norm() -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        return x * 0.1 * torch.minimum(x.numel() / x.norm(), torch.tensor(10.0))

    check_op(lambda x: clip_by_average_norm(x, 0.1), reference, array(3, 4), grad=False)
