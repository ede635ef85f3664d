from typing import Any

import numpy as np
import pytest
import torch

from tests.checks import check_op
from tests.graph.ops.sparse_values import array, run, sparse
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.training.nn.embedding import embedding_lookup, embedding_lookup_sparse, safe_embedding_lookup_sparse

PLACES = np.array([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 2]])
IDS = np.array([4, 1, 4, 0, 1, 1])
SHAPE = [3, 3]
ROWS = [[0, 1], [2], [3, 4, 5]]


def combined(table: torch.Tensor, weights: torch.Tensor, combiner: str) -> torch.Tensor:
    """Returns what a lookup gives, by torch, a row at a time."""
    result = []
    for members in ROWS:
        w = weights[members]
        total = (table[torch.from_numpy(IDS[members])] * w[:, None]).sum(0)
        result.append(total / {"sum": torch.tensor(1.0), "mean": w.sum(), "sqrtn": (w**2).sum().sqrt()}[combiner])
    return torch.stack(result)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_combiners(combiner: str) -> None:
    ids = lambda: sparse(PLACES, IDS, SHAPE)  # noqa: E731
    check_op(
        lambda t: embedding_lookup_sparse(t, ids(), None, combiner=combiner),
        lambda t: combined(t, torch.ones(6), combiner),
        array(5, 2),
    )
    check_op(
        lambda t, w: embedding_lookup_sparse(t, ids(), SparseTensor(PLACES, w, SHAPE), combiner=combiner),
        lambda t, w: combined(t, w, combiner),
        array(5, 2),
        np.abs(array(6, seed=1)) + 0.5,
    )


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("weighted", [False, True])
def test_partitioned_tables(strategy: str, weighted: bool) -> None:
    table = array(5, 2)
    parts = [table[i::3] for i in range(3)] if strategy == "mod" else [table[:2], table[2:4], table[4:]]
    weights = sparse(PLACES, np.arange(6, dtype=np.float32) + 1, SHAPE) if weighted else None
    ids = sparse(PLACES, IDS, SHAPE)
    found = embedding_lookup_sparse([constant(p) for p in parts], ids, weights, strategy, combiner="sum")
    expected = embedding_lookup_sparse(constant(table), ids, weights, combiner="sum")
    np.testing.assert_allclose(*run([found, expected]), rtol=1e-6)


def test_embedding_gradients_stay_sparse() -> None:
    table = placeholder("float32", [5, 2])
    (grad,) = gradients(embedding_lookup_sparse(table, sparse(PLACES, IDS, SHAPE), None, combiner="sum"), table)
    assert isinstance(grad, IndexedSlices)
    value = run(grad, {table: array(5, 2)})
    assert value.indices.tolist() == [4, 1, 0] and value.values[:, 0].tolist() == [2.0, 3.0, 1.0]


def test_max_norm() -> None:
    table = constant([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(run(embedding_lookup(table, [0, 1], max_norm=1.0)), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    both = embedding_lookup_sparse(table, sparse([[0, 0], [0, 1]], [0, 1], [1, 2]), None, combiner="sum", max_norm=1.0)
    np.testing.assert_allclose(run(both), [[0.9, 1.2]], rtol=1e-6)


def test_arguments_are_checked() -> None:
    ids = sparse(PLACES, IDS, SHAPE)
    with pytest.raises(ValueError, match="combiner"):
        embedding_lookup_sparse(array(5, 2), ids, None, combiner="max")
    with pytest.raises(TypeError, match="sp_ids must be SparseTensor"):
        embedding_lookup_sparse(array(5, 2), IDS, None)
    with pytest.raises(TypeError, match="expected a SparseTensor or None"):
        embedding_lookup_sparse(array(5, 2), ids, IDS)


def _safe(default_id: int | None = None, weighted: bool = False, **options: Any) -> Any:
    table = constant(np.arange(10, dtype=np.float32).reshape(5, 2))
    places = [[0, 0], [0, 1], [2, 0], [3, 0], [3, 1]]
    ids = sparse(places, np.array([1, -1, 3, -1, 2]), [5, 2])
    weights = sparse(places, [1.0, 1.0, 0.0, 1.0, 2.0], [5, 2]) if weighted else None
    return run(safe_embedding_lookup_sparse(table, ids, weights, default_id=default_id, **options)).tolist()


def test_safe_lookup() -> None:
    nothing = [0.0, 0.0]
    assert _safe() == [[2.0, 3.0], nothing, [6.0, 7.0], [4.0, 5.0], nothing]
    assert _safe(default_id=4) == [[2.0, 3.0], [8.0, 9.0], [6.0, 7.0], [4.0, 5.0], [8.0, 9.0]]
    assert _safe(weighted=True) == [[2.0, 3.0], nothing, nothing, [4.0, 5.0], nothing]
    assert _safe(weighted=True, combiner="sum") == [[2.0, 3.0], nothing, nothing, [8.0, 10.0], nothing]


def test_safe_lookup_keeps_leading_dimensions() -> None:
    ids = sparse([[0, 0, 0], [1, 1, 2]], np.array([1, 2]), [2, 2, 3])
    found = safe_embedding_lookup_sparse(constant(array(5, 4)), ids)
    assert found.shape.as_list() == [2, 2, 4]
    value = run(found)
    np.testing.assert_allclose(value[1, 1], array(5, 4)[2])
    assert not value[0, 1].any() and not value[1, 0].any()
