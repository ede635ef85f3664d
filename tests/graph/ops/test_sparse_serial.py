import pytest

from tests.graph.ops.sparse_values import PLACES, SHAPE, run, same, sparse
from thalweg._src.base import errors
from thalweg._src.graph.ops.concat import stack
from thalweg._src.graph.ops.constants import constant
from thalweg._src.graph.ops.sparse_cross import (
    sparse_cross,
    sparse_cross_hashed,
    sparse_cross_hashed_op,
    sparse_cross_op,
)
from thalweg._src.graph.ops.sparse_serial import (
    deserialize_many_sparse,
    deserialize_sparse_op,
    serialize_many_sparse,
    serialize_sparse,
)
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.graph.tensor import Tensor


def restored(serialized: Tensor, dtype: str) -> SparseTensor:
    return SparseTensor(*deserialize_sparse_op.many(serialized, dtype=dtype))


@pytest.mark.parametrize(
    ("values", "dtype"), [([1.0, 2.0, 3.0, 4.0], "float32"), (["a", "", "c", "d"], "string"), ([1, 2, 3, 4], "int32")]
)
def test_serialized_tensors_round_trip(values: list, dtype: str) -> None:
    tensor = sparse(PLACES, values, SHAPE)
    expected = [v.encode() if isinstance(v, str) else v for v in values]
    many = serialize_many_sparse(tensor)
    assert many.shape.as_list() == [3, 3]
    same(run(deserialize_many_sparse(many, dtype, rank=2)), PLACES, expected, SHAPE)
    same(run(restored(serialize_sparse(tensor), dtype)), PLACES, expected, SHAPE)


def test_minibatch_is_as_wide_as_its_widest_member() -> None:
    one, other = serialize_sparse(sparse([[1]], [5], [3])), serialize_sparse(sparse([[2], [4]], [6, 7], [8]))
    same(run(deserialize_many_sparse(stack([one, other]), "int32")), [[0, 1], [1, 2], [1, 4]], [5, 6, 7], [2, 8])


def test_invalid_sparse_tensors_are_rejected() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Could not parse serialized_sparse"):
        run(deserialize_many_sparse([["x", "y", "z"]], "int32"))
    with pytest.raises(errors.InvalidArgumentError, match="holds values of int32, expected float32"):
        run(deserialize_many_sparse(serialize_many_sparse(sparse(PLACES, [1, 2, 3, 4], SHAPE)), "float32"))
    with pytest.raises(ValueError, match=r"expected: \[..., 3\]"):
        deserialize_many_sparse([["x", "y"]], "int32")


def test_cross() -> None:
    dense = constant([[1, 2], [3, 4], [5, 6]])
    tensor = sparse([[0, 0], [0, 1], [2, 0]], ["a", "b", "c"], [3, 2])
    value = run(sparse_cross([tensor, dense]))
    assert value.indices.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [2, 0], [2, 1]]
    assert value.values.tolist() == [b"a_X_1", b"a_X_2", b"b_X_1", b"b_X_2", b"c_X_5", b"c_X_6"]
    assert value.dense_shape.tolist() == [3, 4]
    assert run(sparse_cross([tensor, dense], separator="-")).values[0] == b"a-1"


def test_hashes_match_tensorflow() -> None:
    letters, numbers = constant([["a", "b"], ["c", "d"]]), constant([[1], [2]])
    assert run(sparse_cross_hashed([letters, numbers], num_buckets=100)).values.tolist() == [85, 83, 23, 23]
    inputs = ([], [], [], [constant([["a", "b"]]), constant([[1, 2]], "int64")])
    weak = sparse_cross_hashed_op.many(*inputs, 0, False, [1, 2]).output_values
    assert run(weak)[:2].tolist() == [6222962060873510234, 3219302265842617099]
    words = ([], [], [], [constant([["a", "b"]]), constant([["c"]])])
    strong = sparse_cross_hashed_op.many(*words, 0, True, [1, 2]).output_values
    assert run(strong).tolist() == [8107488888371392231, 8859139738754480422]
    number = ([[[0, 0]]], [constant([3], "int64")], [[1, 1]], [])
    assert run(sparse_cross_hashed_op.many(*number, 0, False, [1, 2]).output_values).tolist() == [2681491882390849628]
    assert run(sparse_cross_hashed_op.many(*number, -1, True, [1, 2]).output_values).tolist() == [5347293944578695997]


def test_dtype_selects_hashed_crosses() -> None:
    inputs = ([], [], [], [constant([["a"]]), constant([[3]], "int64")])
    attrs = {"hashed_output": True, "num_buckets": 7, "hash_key": 5}
    words = sparse_cross_op.many(*inputs, out_type="string", internal_type="int64", **attrs).output_values
    assert run(words).tolist() == [b"a_X_3"]
    with pytest.raises(errors.InvalidArgumentError, match="internal_type is string"):
        run(sparse_cross_op.many(*inputs, out_type="string", internal_type="string", **attrs).output_values)


def test_rows_must_agree() -> None:
    with pytest.raises(ValueError, match="numbers of rows differ"):
        sparse_cross([constant([["a"]]), constant([["b"], ["c"]])])


def test_strings_of_tensorflow_are_parsed() -> None:
    written = [
        b'\x08\t\x12\x08\x12\x02\x08\x02\x12\x02\x08\x01"\x10\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00',
        b'\x08\x07\x12\x04\x12\x02\x08\x02"\x05\x01\x02abc',
        b'\x08\t\x12\x04\x12\x02\x08\x01"\x08\x03\x00\x00\x00\x00\x00\x00\x00',
    ]
    same(run(deserialize_many_sparse([written], "string")), [[0, 0], [0, 1]], [b"a", b"bc"], [1, 3])
    assert run(serialize_sparse(sparse([[0], [1]], ["a", "bc"], [3]))).tolist() == written
    long = sparse([[0]], ["x" * 300], [1])
    assert run(restored(serialize_sparse(long), "string")).values.tolist() == [b"x" * 300]
