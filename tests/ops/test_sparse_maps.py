"""Sparse tensors that are kept under numbers, and taken."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.sparse_values import PLACES, SHAPE, same, sparse
from thalweg._src import errors
from thalweg._src.ops.concat import stack
from thalweg._src.ops.constants import placeholder
from thalweg._src.ops.sparse_maps import (
    add_many_sparse_to_tensors_map,
    add_sparse_to_tensors_map,
    take_many_sparse_from_tensors_map,
)
from thalweg._src.session.session import Session


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 4.0], [b"a", b"", b"c", b"d"], [1, 2, 3, 4]])
def test_rows_round_trip(values: list) -> None:
    handles = add_many_sparse_to_tensors_map(sparse(PLACES, values, SHAPE))
    assert handles.shape.as_list() == [3]
    given = placeholder("int64", [None])
    taken = take_many_sparse_from_tensors_map(handles.op, given, rank=2)
    assert taken.dense_shape.shape.as_list() == [2]
    with Session() as session:
        numbers = session.run(handles)
        same(session.run(taken, {given: numbers}), PLACES, values, SHAPE)
        with pytest.raises(errors.InvalidArgumentError, match="Unable to find SparseTensor"):
            session.run(taken, {given: numbers})


def test_a_row_is_as_wide_as_the_widest() -> None:
    one = add_sparse_to_tensors_map(sparse([[1]], [5], [3]), shared_name="both")
    other = add_sparse_to_tensors_map(sparse([[2], [4]], [6, 7], [8]), shared_name="both")
    taken = take_many_sparse_from_tensors_map(one.op, stack([one, other]))
    with Session() as session:
        same(session.run(taken), [[0, 1], [1, 2], [1, 4]], [5, 6, 7], [2, 8])


def test_mismatches_are_rejected() -> None:
    vector = add_sparse_to_tensors_map(sparse([[1]], [5], [3]), shared_name="mixed")
    matrix = add_sparse_to_tensors_map(sparse([[1, 1]], [5], [3, 3]), shared_name="mixed")
    numbers = add_sparse_to_tensors_map(sparse([[1]], [5.0], [3]), shared_name="mixed")
    with Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match="differ in rank"):
            session.run(take_many_sparse_from_tensors_map(vector.op, stack([vector, matrix])))
        with pytest.raises(errors.InvalidArgumentError, match="float32 is requested as int32"):
            session.run(take_many_sparse_from_tensors_map(vector.op, stack([numbers])))
        with pytest.raises(errors.InvalidArgumentError, match="names one twice"):
            session.run(take_many_sparse_from_tensors_map(vector.op, stack([vector, vector])))
    with pytest.raises(ValueError, match="rank at least 2"):
        add_many_sparse_to_tensors_map(sparse([[1]], [5], [3]))
    with pytest.raises(ValueError, match="at least one handle"):
        take_many_sparse_from_tensors_map(vector.op, np.zeros(0, np.int64))
