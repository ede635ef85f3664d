import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.base import errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.sparse_segments import sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum
from thalweg._src.runtime.session.session import Session

INDICES, IDS = np.array([3, 0, 0, 2], np.int32), np.array([0, 0, 2, 2], np.int32)
POWERS = {sparse_segment_sum: 0.0, sparse_segment_mean: 1.0, sparse_segment_sqrt_n: 0.5}


def expected(data: torch.Tensor, count: int, power: float) -> torch.Tensor:
    rows = data[torch.from_numpy(INDICES).long()]
    ids = torch.from_numpy(IDS).long()
    total = data.new_zeros((count, *data.shape[1:])).index_add(0, ids, rows)
    counts = torch.bincount(ids, minlength=count).clamp(min=1).to(data.dtype) ** power
    return total / counts.view(-1, *[1] * (data.ndim - 1))


@pytest.mark.parametrize("reduce", POWERS)
@pytest.mark.parametrize("count", [None, 5])
def test_segments(reduce, count: int | None) -> None:
    data = np.random.default_rng(0).normal(size=(4, 3, 2))
    check_op(
        lambda x: reduce(x, INDICES, IDS, num_segments=count), lambda x: expected(x, count or 3, POWERS[reduce]), data
    )


@pytest.mark.parametrize("reduce", POWERS)
def test_sparse_gradients(reduce) -> None:
    data = constant(np.arange(12.0).reshape(4, 3))
    dense, sparse = (reduce(data, INDICES, IDS, sparse_gradient=kind) for kind in (False, True))
    first, second = gradients(dense, data)[0], gradients(sparse, data)[0]
    assert isinstance(second, IndexedSlices)
    with Session() as session:
        wanted, found = session.run([first, second])
    result = np.zeros_like(wanted)
    np.add.at(result, found.indices, found.values)
    np.testing.assert_allclose(result, wanted)


def test_second_order() -> None:
    data = constant(np.arange(12.0).reshape(4, 3))
    y = sparse_segment_mean(data, INDICES, IDS) ** 2
    (first,) = gradients(y, data)
    (second,) = gradients(first, data)
    with Session() as session:
        np.testing.assert_allclose(session.run(second)[1], 0)
        assert session.run(second)[0].tolist() == [2.0] * 3


def test_integers_and_empty_inputs() -> None:
    with Session() as session:
        assert session.run(sparse_segment_sum(np.array([[250], [10]], np.uint8), [0, 1], [0, 0])).tolist() == [[4]]
        empty = np.zeros(0, np.int32)
        assert session.run(sparse_segment_mean(np.ones((2, 3)), empty, empty, num_segments=2)).tolist() == [[0] * 3] * 2


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_errors() -> None:
    data = np.ones((2, 3))
    with Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match="not increasing"):
            session.run(sparse_segment_sum(data, [0, 1], [1, 0]))
        with pytest.raises(errors.InvalidArgumentError, match="< num_segments = 1"):
            session.run(sparse_segment_sum(data, [0, 1], [0, 1], num_segments=1))
        with pytest.raises(errors.InvalidArgumentError, match="is not in"):
            session.run(sparse_segment_sum(data, [0, 2], [0, 1]))
    with pytest.raises(ValueError, match="sizes differ: 2 and 1"):
        sparse_segment_sum(data, [0, 1], [0])
