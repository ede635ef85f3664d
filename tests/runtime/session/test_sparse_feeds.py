from typing import Any

import numpy as np
import pytest

from thalweg._src.graph.indexed_slices import IndexedSlices, IndexedSlicesValue
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.math import square
from thalweg._src.graph.ops.sparse import sparse_placeholder, sparse_tensor_to_dense
from thalweg._src.graph.sparse_tensor import SparseTensorValue
from thalweg._src.runtime.session.fetches import register_session_run_conversion_functions
from thalweg._src.runtime.session.session import Session

PLACES, VALUES, SHAPE = [[0, 1], [1, 0]], [2.0, 3.0], [2, 2]


@pytest.mark.parametrize("kind", [SparseTensorValue, lambda *parts: parts])
def test_sparse_tensors_are_fed_and_fetched(kind: Any) -> None:
    tensor = sparse_placeholder("float32")
    dense = sparse_tensor_to_dense(tensor)
    with Session() as session:
        for _ in range(2):
            full, value = session.run((dense, square(tensor)), {tensor: kind(PLACES, VALUES, SHAPE)})
            assert full.tolist() == [[0.0, 2.0], [3.0, 0.0]]
            assert isinstance(value, SparseTensorValue)
            assert value.indices.tolist() == PLACES and value.values.tolist() == [4.0, 9.0]
        assert tensor.eval({tensor: kind(PLACES, VALUES, SHAPE)}, session).dense_shape.tolist() == SHAPE


def test_fetched_value_can_be_fed() -> None:
    tensor = sparse_placeholder("string")
    with Session() as session:
        value = session.run(tensor, {tensor: (PLACES, ["a", "b"], SHAPE)})
        assert session.run(sparse_tensor_to_dense(tensor), {tensor: value}).tolist() == [[b"", b"a"], [b"b", b""]]


def test_callables_and_partial_runs() -> None:
    tensor, factor = sparse_placeholder("float32"), placeholder("float32", [])
    product = sparse_tensor_to_dense(tensor) * factor
    with Session() as session:
        call = session.make_callable(product, [tensor, factor])
        assert call((PLACES, VALUES, SHAPE), 2.0).tolist() == [[0.0, 4.0], [6.0, 0.0]]
        with pytest.raises(TypeError, match="takes 2 feeds, 1 were given"):
            call(2.0)
        handle = session.partial_run_setup([product], [tensor, factor])
        assert session.partial_run(handle, product, {tensor: (PLACES, VALUES, SHAPE), factor: 1.0}).sum() == 5.0
        assert "def " in session.show_program(product, [tensor, factor])


def test_tuples_of_keys() -> None:
    a, b, tensor = placeholder("float32"), placeholder("float32"), sparse_placeholder("float32")
    total = a + b + sparse_tensor_to_dense(tensor)
    with Session() as session:
        value = session.run(total, {(a, (tensor, b)): (1.0, ((PLACES, VALUES, SHAPE), 2.0))})
        assert value.tolist() == [[3.0, 5.0], [6.0, 3.0]]
        with pytest.raises(ValueError, match="fed twice"):
            session.run(a, {(a,): (1.0,), a: 2.0})
        with pytest.raises(ValueError, match="Cannot feed"):
            session.run(a, {(a, b): (1.0,)})


def test_invalid_values_are_rejected() -> None:
    tensor = sparse_placeholder("float32", [2, 2])
    with Session() as session:
        with pytest.raises(TypeError, match="Cannot feed 3 for SparseTensor"):
            session.run(tensor, {tensor: 3})
        with pytest.raises(ValueError, match="Cannot feed"):
            session.run(tensor, {tensor: (PLACES, VALUES)})
        with pytest.raises(ValueError, match="which has shape"):
            session.run(tensor, {tensor: ([[0, 1, 2]], VALUES, SHAPE)})
        with pytest.raises(TypeError, match="part of a graph"):
            session.run(tensor, {tensor: (constant(PLACES), VALUES, SHAPE)})


def test_indexed_slices_are_fed() -> None:
    for shape in (None, [4, 1]):
        rows = IndexedSlices(placeholder("float32"), placeholder("int32"), None if shape is None else constant(shape))
        with Session() as session:
            value = session.run(rows, {rows: IndexedSlicesValue([[1.0]], [3], shape)})
            assert value.values.tolist() == [[1.0]] and value.indices.tolist() == [3]


class Pair:
    """A composite type of a user's own."""

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = left, right


def test_custom_composite_types() -> None:
    register_session_run_conversion_functions(
        Pair,
        lambda pair: ([pair.left, pair.right], tuple),
        lambda pair, value: [(pair.left, value), (pair.right, -value)],
    )
    with pytest.raises(ValueError, match="registered"):
        register_session_run_conversion_functions(Pair, lambda pair: ([], tuple))
    pair = Pair(placeholder("float32"), placeholder("float32"))
    with Session() as session:
        assert session.run(pair, {pair: np.float32(2)}) == (2.0, -2.0)
        with pytest.raises(ValueError, match="partial runs"):
            session.partial_run_setup([pair], [pair])
