"""Sparse tensors that are kept under numbers, and taken."""

from __future__ import annotations

import numpy as np
import pytest

from tests.graph.ops.sparse_values import PLACES, SHAPE, same, sparse
from thalweg._src.base import errors
from thalweg._src.graph.op_def import OpDef
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.graph.ops.sparse_maps import (
    add_many_sparse_to_tensors_map_op,
    add_sparse_to_tensors_map_op,
    take_many_sparse_from_tensors_map_op,
)
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.session import Session


def added(definition: OpDef, tensor: SparseTensor, shared_name: str = "") -> Tensor:
    return definition(tensor.indices, tensor.values, tensor.dense_shape, shared_name=shared_name)


def taken_from(adding: Operation, handles: object) -> SparseTensor:
    """Takes sparse tensors out of the map of the operation that added them, and stacks them."""
    shared_name = adding.attrs["shared_name"] or adding.name
    return SparseTensor(
        *take_many_sparse_from_tensors_map_op.many(handles, dtype=adding.attrs["T"], shared_name=shared_name)
    )


@pytest.mark.parametrize("values", [[1.0, 2.0, 3.0, 4.0], [b"a", b"", b"c", b"d"], [1, 2, 3, 4]])
def test_rows_round_trip(values: list) -> None:
    handles = added(add_many_sparse_to_tensors_map_op, sparse(PLACES, values, SHAPE))
    assert handles.shape.as_list() == [3]
    given = placeholder("int64", [None])
    taken = taken_from(handles.op, given)
    with Session() as session:
        numbers = session.run(handles)
        same(session.run(taken, {given: numbers}), PLACES, values, SHAPE)
        with pytest.raises(errors.InvalidArgumentError, match="Unable to find SparseTensor"):
            session.run(taken, {given: numbers})


def test_a_row_is_as_wide_as_the_widest() -> None:
    one = added(add_sparse_to_tensors_map_op, sparse([[1]], [5], [3]), shared_name="both")
    other = added(add_sparse_to_tensors_map_op, sparse([[2], [4]], [6, 7], [8]), shared_name="both")
    taken = taken_from(one.op, stack([one, other]))
    with Session() as session:
        same(session.run(taken), [[0, 1], [1, 2], [1, 4]], [5, 6, 7], [2, 8])


def test_what_does_not_fit_is_refused() -> None:
    vector = added(add_sparse_to_tensors_map_op, sparse([[1]], [5], [3]), shared_name="mixed")
    matrix = added(add_sparse_to_tensors_map_op, sparse([[1, 1]], [5], [3, 3]), shared_name="mixed")
    numbers = added(add_sparse_to_tensors_map_op, sparse([[1]], [5.0], [3]), shared_name="mixed")
    with Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match="differ in rank"):
            session.run(taken_from(vector.op, stack([vector, matrix])))
        with pytest.raises(errors.InvalidArgumentError, match="float32 is requested as int32"):
            session.run(taken_from(vector.op, stack([numbers])))
        with pytest.raises(errors.InvalidArgumentError, match="names one twice"):
            session.run(taken_from(vector.op, stack([vector, vector])))
    with pytest.raises(ValueError, match="rank at least 2"):
        added(add_many_sparse_to_tensors_map_op, sparse([[1]], [5], [3]))
    with pytest.raises(ValueError, match="at least one handle"):
        taken_from(vector.op, np.zeros(0, np.int64))
