import numpy as np
import pytest
import torch

from tests.checks import check_op
from tests.graph.ops.sparse_values import NOWHERE, PLACES, SHAPE, array, dense, run, same, sparse
from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.indexed_slices import IndexedSlices
from thalweg._src.graph.ops.cast import cast
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.math import abs, negative, square
from thalweg._src.graph.ops.reshape import rank, shape, size
from thalweg._src.graph.ops.sparse import (
    sparse_eye,
    sparse_from_dense,
    sparse_mask,
    sparse_placeholder,
    sparse_reset_shape,
    sparse_retain,
    sparse_tensor_to_dense,
    sparse_to_dense,
)
from thalweg._src.graph.ops.sparse_shaping import sparse_merge, sparse_to_indicator
from thalweg._src.graph.sparse_tensor import (
    SparseTensor,
    SparseTensorValue,
    convert_to_tensor_or_indexed_slices,
    convert_to_tensor_or_sparse_tensor,
)
from thalweg._src.graph.tensor import Tensor


def test_sparse_tensor_has_its_parts_and_a_static_shape() -> None:
    tensor = sparse([[0, 1]], [2.0], [3, 4])
    assert tensor.dtype is dtypes.float32
    assert tensor.shape.as_list() == tensor.get_shape().as_list() == [3, 4]
    assert tensor.graph is tensor.values.graph
    assert tensor.op is tensor.values.op
    assert "SparseTensor(indices=Tensor(" in str(tensor)
    other = tensor.with_values(constant([7]))
    assert other.indices is tensor.indices and other.dtype is dtypes.int32


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([[0, 1]], [1.0, 2.0], [3, 4]), "has 1 rows, but values has 2 elements"),
        (([[0, 1]], [1.0], [3]), "has 2 columns, but dense_shape has 1 elements"),
        (([0, 1], [1.0], [3]), "indices of a SparseTensor must have rank 2"),
    ],
)
def test_components_must_match(parts: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SparseTensor(*parts)


def test_indices_are_int64() -> None:
    with pytest.raises(ValueError, match="int64"):
        SparseTensor(placeholder("int32", [2, 2]), constant([1.0, 2.0]), [3, 4])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint16", "bool", "complex64"])
def test_to_dense(dtype: str) -> None:
    check_op(
        lambda i, v, s: sparse_tensor_to_dense(SparseTensor(i, v, s)), dense, PLACES, array(4).astype(dtype), SHAPE
    )


def test_to_dense_has_a_gradient_by_values_and_default() -> None:
    check_op(
        lambda v, d: sparse_to_dense(PLACES, SHAPE, v, d),
        lambda v, d: d.expand(3, 4).index_put(tuple(torch.from_numpy(PLACES).t()), v),
        array(4),
        np.float32(0.5),
    )


def test_to_dense_of_no_values_and_of_a_scalar_value() -> None:
    assert run(sparse_to_dense(NOWHERE, SHAPE, array(0), 7.0)).tolist() == np.full((3, 4), 7.0).tolist()
    assert run(sparse_to_dense([1, 3], [5], 1, 9)).tolist() == [9, 1, 9, 1, 9]
    assert run(sparse_to_dense(2, [3], 1)).tolist() == [0, 0, 1]
    assert run(sparse_tensor_to_dense(sparse([[0, 1]], ["a"], [1, 3]))).tolist() == [[b"", b"a", b""]]
    assert run(sparse_tensor_to_dense(sparse([[0, 1]], ["a"], [1, 3]), "-")).tolist() == [[b"-", b"a", b"-"]]


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([[1, 0], [0, 1]], r"indices\[1\] = \[0,1\] is out of order.*tf.sparse.reorder"),
        ([[1, 0], [1, 0]], r"indices\[1\] = \[1,0\] is repeated"),
        ([[0, 0], [1, 4]], r"indices\[1\] = \[1,4\] is out of bounds: need 0 <= index < \[3,4\]"),
        ([[-1, 0], [1, 1]], r"indices\[0\] = \[-1,0\] is out of bounds"),
    ],
)
def test_indices_are_validated(places: list, message: str) -> None:
    tensor = sparse_tensor_to_dense(sparse(places, [1.0, 2.0], [3, 4]))
    with pytest.raises(errors.InvalidArgumentError, match=message):
        run(tensor)


def test_order_is_not_validated_on_request() -> None:
    tensor = sparse_tensor_to_dense(sparse([[1], [0], [1]], [1, 2, 3], [2]), validate_indices=False)
    assert run(tensor).tolist() == [2, 3]


def test_one_value_for_all_places_gets_the_sum_of_their_gradients() -> None:
    one = placeholder("float32")
    (grad,) = gradients(sparse_to_dense([1, 3], [4], one, 0.0) * [1.0, 2.0, 3.0, 4.0], one)
    assert run(grad, {one: 1.0}) == 6.0


def test_from_dense() -> None:
    same(run(sparse_from_dense([[0, 5], [7, 0]])), [[0, 1], [1, 0]], [5, 7], [2, 2])
    same(run(sparse_from_dense(["", "a"])), [[1]], [b"a"], [2])
    same(run(sparse_from_dense([False, True])), [[1]], [True], [2])


def test_eye_and_retain() -> None:
    same(run(sparse_eye(2, 3)), [[0, 0], [1, 1]], [1.0, 1.0], [2, 3])
    same(
        run(sparse_retain(sparse(PLACES, [1, 2, 3, 4], SHAPE), [True, False, False, True])),
        PLACES[[0, 3]],
        [1, 4],
        SHAPE,
    )
    with pytest.raises(ValueError, match="to_retain has shape"):
        sparse_retain(sparse(PLACES, [1, 2, 3, 4], SHAPE), [True])


def test_retain_has_a_gradient() -> None:
    check_op(
        lambda v: sparse_retain(SparseTensor(PLACES, v, SHAPE), [True, False, True, True]).values,
        lambda v: v[[0, 2, 3]],
        array(4),
    )


def test_mask() -> None:
    rows = IndexedSlices(constant([[1.0], [2.0], [3.0]]), constant([1, 5, 7]))
    value = run(sparse_mask(rows, [5]))
    assert value.indices.tolist() == [1, 7] and value.values.tolist() == [[1.0], [3.0]]


def test_reset_shape() -> None:
    tensor = sparse([[0, 1], [2, 0]], [1, 2], [5, 4])
    same(run(sparse_reset_shape(tensor)), [[0, 1], [2, 0]], [1, 2], [3, 2])
    same(run(sparse_reset_shape(tensor, [6, 4])), [[0, 1], [2, 0]], [1, 2], [6, 4])
    same(run(sparse_reset_shape(sparse([], np.zeros(0), [5, 4]))), [], [], [0, 0])
    with pytest.raises(ValueError, match="smaller"):
        sparse_reset_shape(tensor, [6, 3])
    with pytest.raises(ValueError, match="3 dimensions"):
        sparse_reset_shape(tensor, [6, 4, 1])
    unknown = sparse_placeholder("int32")
    with pytest.raises(errors.InvalidArgumentError):
        run(sparse_reset_shape(unknown, [1, 1]), {unknown: ([[0, 1]], [1], [1, 2])})


def test_indicator_and_merge() -> None:
    ids = sparse([[0, 0], [0, 1], [1, 0]], np.array([0, 3, 2]), [3, 2])
    marked = run(sparse_to_indicator(ids, 5))
    assert marked.dtype == bool and np.argwhere(marked).tolist() == [[0, 0], [0, 3], [1, 2]] and marked.shape == (3, 5)
    swapped = sparse([[0, 0], [0, 1], [1, 0]], np.array([3, 0, 2]), [3, 2])
    merged = sparse_merge(swapped, swapped.with_values(constant([1, 2, 3])), 5)
    same(run(merged), [[0, 0], [0, 3], [1, 2]], [2, 1, 3], [3, 5])
    several = sparse_merge([swapped, swapped], swapped.with_values(constant([1, 2, 3])), [5, 6], already_sorted=True)
    same(run(several), [[0, 3, 3], [0, 0, 0], [1, 2, 2]], [1, 2, 3], [3, 5, 6])


def test_placeholder_has_the_given_shape() -> None:
    tensor = sparse_placeholder("float32", [None, 4], name="given")
    assert tensor.shape.as_list() == [None, 4]
    assert tensor.indices.shape.as_list() == [None, 2]
    assert tensor.values.name == "given/values:0" and tensor.dense_shape.name == "given/shape:0"
    assert sparse_placeholder("float32").shape.dims is None
    full = sparse_placeholder("float32", [2, 4])
    assert run(shape(full)).tolist() == [2, 4]


def test_functions_that_take_sparse_tensors() -> None:
    tensor = sparse(PLACES, [-1, 2, -3, 4], SHAPE)
    same(run(abs(tensor)), PLACES, [1, 2, 3, 4], SHAPE)
    same(run(negative(tensor)), PLACES, [1, -2, 3, -4], SHAPE)
    same(run(square(tensor)), PLACES, [1, 4, 9, 16], SHAPE)
    assert cast(tensor, "float64").dtype is dtypes.float64
    assert [np.array(part).tolist() for part in run([shape(tensor), size(tensor), rank(tensor)])] == [[3, 4], 12, 2]


def test_conversions() -> None:
    value = SparseTensorValue([[0]], [1.0], [2])
    assert isinstance(convert_to_tensor_or_sparse_tensor(value), SparseTensor)
    assert isinstance(convert_to_tensor_or_sparse_tensor([1.0]), Tensor)
    with pytest.raises(RuntimeError, match="Sparse dtype: requested = int32"):
        convert_to_tensor_or_sparse_tensor(value, dtype="int32")
    rows = IndexedSlices(constant([1.0]), constant([0]))
    assert convert_to_tensor_or_indexed_slices(rows) is rows
    with pytest.raises(TypeError, match="must be a SparseTensor"):
        sparse_tensor_to_dense(constant([1.0]))


def test_gradient_of_dense_by_values_of_a_placeholder() -> None:
    tensor = sparse_placeholder("float32")
    (grad,) = gradients(square(sparse_tensor_to_dense(tensor)), tensor.values)
    assert run(grad, {tensor: (PLACES, [1.0, 2.0, 3.0, 4.0], SHAPE)}).tolist() == [2.0, 4.0, 6.0, 8.0]
