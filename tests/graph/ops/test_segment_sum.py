import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.base import errors
from thalweg._src.base.config import ConfigProto
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.segment import unsorted_segment_sum
from thalweg._src.runtime.session.session import Session


@pytest.mark.parametrize("ids", [[2, 0, 2, 4], [1, -1, -5, 1]])
@pytest.mark.parametrize("rows", [(), (3,), (2, 3)])
@pytest.mark.parametrize("index_type", ["int32", "int64"])
def test_rows_of_one_segment_add_up(ids: list[int], rows: tuple[int, ...], index_type: str) -> None:
    def reference(data: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        kept = indices >= 0
        total = torch.zeros(5, *rows, dtype=data.dtype)
        return total.index_add(0, indices[kept].long(), data[kept])

    data = np.random.default_rng(0).normal(size=(4, *rows)).astype("float32")
    check_op(lambda x, i: unsorted_segment_sum(x, i, 5), reference, data, np.array(ids, index_type))


def test_ids_of_higher_rank() -> None:
    def reference(data: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        return torch.zeros(4, 2, dtype=data.dtype).index_add(0, indices.reshape(-1).long(), data.reshape(6, 2))

    data = np.random.default_rng(0).normal(size=(2, 3, 2))
    check_op(lambda x, i: unsorted_segment_sum(x, i, 4), reference, data, np.array([[0, 1, 1], [3, 1, 0]]))


def test_no_rows() -> None:
    with Graph().as_default(), Session() as session:
        total = unsorted_segment_sum(constant(np.zeros((0, 2), "int32")), constant(np.zeros(0, "int32")), 3)
        assert total.shape.as_list() == [3, 2]
        np.testing.assert_array_equal(session.run(total), np.zeros((3, 2)))


def test_errors() -> None:
    with Graph().as_default(), Session(config=ConfigProto(device_count={"GPU": 0})) as session:
        with pytest.raises(ValueError, match=r"segment_ids has shape \[2\]"):
            unsorted_segment_sum(constant([1.0, 2.0, 3.0]), constant([0, 0]), 1)
        with pytest.raises(ValueError, match="num_segments is -1"):
            unsorted_segment_sum(constant([1.0]), constant([0]), -1)
        count = placeholder("int32", [])
        total = unsorted_segment_sum(constant([1.0, 2.0]), constant([0, 2]), count)
        with pytest.raises(errors.InvalidArgumentError, match=r"segment_ids\[1\] = 2 is out of range \[0, 2\)"):
            session.run(total, {count: 2})
        with pytest.raises(errors.InvalidArgumentError, match="num_segments is -1"):
            session.run(total, {count: -1})
