"""Parsing of Examples and SequenceExamples: values, static shapes, and an error for everything wrong."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import thalweg as tf
from tests.valid_calls.parsing import example, sequence_example
from thalweg._src.graph.ops.parsing import decode_json_example, parse_example_v2_op, parse_tensor, serialize_tensor
from thalweg._src.graph.sparse_tensor import SparseTensorValue
from thalweg._src.training.input.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
)

BATCH = [example(a=[1.0, 2.0], b=[1, 2, 3], c=[b"x"]), example(a=[3.0, 4.0], b=[5])]
SEQUENCES = [
    sequence_example({"a": [1.0, 2.0], "b": [1, 2]}, x=[[1, 2], [3], []], y=[[1.0, 2.0], [3.0, 4.0]]),
    sequence_example({"a": [3.0, 4.0]}, x=[[7, 8, 9]], y=[[5.0, 6.0]]),
]


def run(tensors):
    with tf.Session() as session:
        return plain(session.run(tensors))


def plain(value):
    if isinstance(value, SparseTensorValue):
        return tuple(np.asarray(part).tolist() for part in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(map(plain, value))
    return value.tolist() if hasattr(value, "tolist") else value


def shapes(tensors):
    return {key: tensor.shape.as_list() for key, tensor in tensors.items()}


# -- Examples ----------------------------------------------------------------------------------------------------------


def test_a_batch():
    parsed = parse_example(
        BATCH,
        {"a": FixedLenFeature([2], tf.float32), "b": VarLenFeature(tf.int64), "c": FixedLenFeature([], tf.string, "d")},
    )
    assert shapes(parsed) == {"a": [2, 2], "b": [None, None], "c": [2]}
    assert run(parsed) == {
        "a": [[1, 2], [3, 4]],
        "b": ([[0, 0], [0, 1], [0, 2], [1, 0]], [1, 2, 3, 5], [2, 3]),
        "c": [b"x", b"d"],
    }
    assert [tensor.dtype for tensor in parsed.values()] == [tf.int64, tf.float32, tf.string]


def test_a_batch_of_unknown_size():
    serialized = tf.placeholder(tf.string, [None])
    parsed = parse_example(serialized, {"a": FixedLenFeature([2, 1], tf.float32), "v": VarLenFeature(tf.string)})
    assert shapes(parsed) == {"a": [None, 2, 1], "v": [None, None]}
    with tf.Session() as session:
        value = session.run(parsed, {serialized: BATCH})
        assert plain(value) == {"a": [[[1], [2]], [[3], [4]]], "v": ([], [], [2, 0])}
        value = session.run(parsed, {serialized: []})
        assert value["a"].shape == (0, 2, 1) and plain(value["v"]) == ([], [], [0, 0])


def test_sequences_are_padded():
    feature = FixedLenSequenceFeature([], tf.int64, allow_missing=True)
    assert run(parse_example(BATCH, {"b": feature})) == {"b": [[1, 2, 3], [5, 0, 0]]}
    parsed = parse_example(BATCH, {"b": feature._replace(default_value=7), "none": feature._replace(dtype=tf.string)})
    assert shapes(parsed) == {"b": [2, None], "none": [2, None]}
    assert run(parsed) == {"b": [[1, 2, 3], [5, 7, 7]], "none": [[], []]}
    pairs = parse_example([example(b=[1, 2, 3, 4]), example()], {"b": FixedLenSequenceFeature([2], tf.int64, True)})
    assert run(pairs) == {"b": [[[1, 2], [3, 4]], [[0, 0], [0, 0]]]}


def test_sparse_features():
    batch = [example(i=[1, 3], j=[2, 0], v=[1.0, 2.0]), example()]
    one = SparseFeature("i", "v", tf.float32, 5)
    two = SparseFeature(["i", "j"], "v", tf.float32, [5, 6])
    parsed = parse_example(batch, {"one": one, "two": two, "i": VarLenFeature(tf.int64)})
    assert run(parsed) == {
        "one": ([[0, 1], [0, 3]], [1, 2], [2, 5]),
        "two": ([[0, 1, 2], [0, 3, 0]], [1, 2], [2, 5, 6]),
        "i": ([[0, 0], [0, 1]], [1, 3], [2, 2]),
    }
    with pytest.raises(ValueError, match="Conflicting type"):
        parse_example(batch, {"one": one, "i": VarLenFeature(tf.string)})


def test_one_example():
    features = {
        "a": FixedLenFeature([2], tf.float32),
        "b": VarLenFeature(tf.int64),
        "c": FixedLenFeature([], tf.string, "d"),
        "z": FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    }
    expected = {"a": [1, 2], "b": ([[0], [1], [2]], [1, 2, 3], [3]), "c": b"x", "z": []}
    for names in (None, "first"):
        parsed = parse_single_example(BATCH[0], features, example_names=names)
        assert shapes(parsed) == {"a": [2], "b": [None], "c": [], "z": [None]}
        assert run(parsed) == expected


FLOATS, TEXT = FixedLenFeature([2], tf.float32), FixedLenFeature([], tf.string)


@pytest.mark.parametrize(
    ("feature", "text"),
    [
        ({"c": TEXT}, "Feature: c .data type: string. is required"),
        ({"a": FixedLenFeature([3], tf.float32)}, "Number of float values != expected"),
        ({"a": FixedLenFeature([2], tf.int64)}, "Data type: float but expected type: int64"),
        ({"b": VarLenFeature(tf.float32)}, "Data type: int64 but expected type: float"),
        ({"b": FixedLenSequenceFeature([2], tf.int64, True)}, "do not fill"),
    ],
)
def test_mismatched_values(feature, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Name: <unknown>, .*{text}"):
        run(parse_example(BATCH, feature))
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(parse_single_example(BATCH["c" in feature], feature))


def test_errors_name_the_example():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: second, Feature: c"):
        run(parse_example(BATCH, {"c": TEXT}, example_names=["first", "second"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: only, Feature: c"):
        run(parse_single_example(BATCH[1], {"c": TEXT}, example_names="only"))
    with pytest.raises(ValueError, match="1 names"):
        parse_example(BATCH, {"a": FLOATS}, example_names=["first"])


@pytest.mark.parametrize(
    ("features", "kind", "text"),
    [
        ({}, ValueError, "features was"),
        (None, ValueError, "features was"),
        ({"a": 3}, ValueError, "Unsupported int"),
        ({"a": VarLenFeature(None)}, ValueError, "Missing type for feature a"),
        ({"a": FixedLenFeature(None, tf.float32)}, ValueError, "Missing shape for feature a"),
        ({"a": FixedLenFeature([None], tf.float32)}, ValueError, "FixedLenSequenceFeature"),
        ({"a": FixedLenFeature([2, None], tf.float32)}, ValueError, "unknown dimension"),
        ({"a": FixedLenSequenceFeature([], tf.int64)}, ValueError, "allow_missing"),
        ({"a": FixedLenFeature([2], tf.float32, [1.0])}, ValueError, "reshape|elements|values"),
        ({"a": VarLenFeature(tf.int32)}, (TypeError, ValueError), "int32"),
    ],
)
def test_invalid_features(features, kind, text):
    for parse, serialized in ((parse_example, BATCH), (parse_single_example, BATCH[0])):
        with pytest.raises(kind, match=text):
            parse(serialized, features)


def test_serialized_has_the_rank_of_the_function():
    with pytest.raises(ValueError, match="vector"):
        parse_example(BATCH[0], {"a": FLOATS})
    with pytest.raises(ValueError, match="scalar"):
        parse_single_example(BATCH, {"a": FLOATS})


def test_the_second_version_reads_ragged_features():
    none = np.empty(0, object)
    attrs = {"num_sparse": 0, "sparse_types": [], "dense_shapes": []}
    kinds = {"ragged_value_types": [tf.int64], "ragged_split_types": [tf.int32]}
    for serialized, splits in ((BATCH, [0, 3, 4]), (BATCH[0], [])):
        parsed = parse_example_v2_op.many(
            tf.constant(serialized), tf.constant(none, tf.string), none, none, [b"b"], [], **attrs, **kinds
        )
        assert run(parsed.ragged_values[0]) == ([1, 2, 3, 5] if splits else [1, 2, 3])
        assert run(parsed.ragged_row_splits[0]) == splits


# -- SequenceExamples --------------------------------------------------------------------------------------------------

CONTEXT = {"a": FixedLenFeature([2], tf.float32), "b": VarLenFeature(tf.int64)}
LISTS = {
    "x": VarLenFeature(tf.int64),
    "y": FixedLenSequenceFeature([2], tf.float32),
    "z": FixedLenSequenceFeature([], tf.int64, allow_missing=True),
}


def test_one_sequence_example():
    context, lists = parse_single_sequence_example(SEQUENCES[0], CONTEXT, LISTS)
    assert shapes(context) == {"a": [2], "b": [None]}
    assert shapes(lists) == {"x": [None, None], "y": [None, 2], "z": [None]}
    assert run(context) == {"a": [1, 2], "b": ([[0], [1]], [1, 2], [2])}
    x = ([[0, 0], [0, 1], [1, 0]], [1, 2, 3], [3, 2])
    assert run(lists) == {"x": x, "y": [[1, 2], [3, 4]], "z": []}


def test_a_batch_of_sequence_examples():
    context, lists, lengths = parse_sequence_example(SEQUENCES, CONTEXT, LISTS)
    assert shapes(context) == {"a": [2, 2], "b": [None, None]}
    assert shapes(lists) == {"x": [None, None, None], "y": [2, None, 2], "z": [2, None]}
    assert run(context) == {"a": [[1, 2], [3, 4]], "b": ([[0, 0], [0, 1]], [1, 2], [2, 2])}
    places = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 0, 2]]
    assert run(lists) == {
        "x": (places, [1, 2, 3, 7, 8, 9], [2, 3, 3]),
        "y": [[[1, 2], [3, 4]], [[5, 6], [0, 0]]],
        "z": [[], []],
    }
    assert run(lengths) == {"y": [2, 1], "z": [0, 0]}


@pytest.mark.parametrize(
    ("context", "lists", "text"),
    [
        ({"c": TEXT}, {}, "Name: n, Feature: c .data type"),
        ({}, {"z": FixedLenSequenceFeature([], tf.int64)}, "Feature list 'z': the example lacks it"),
        ({}, {"y": FixedLenSequenceFeature([3], tf.float32)}, "Key: y, Index: 0.*of shape \\[3\\]"),
        ({}, {"y": FixedLenSequenceFeature([2], tf.int64)}, "Feature list: y, Index: 0.*expected type: int64"),
        ({}, {"x": VarLenFeature(tf.float32)}, "Feature list: x, Index: 0.*expected type: float"),
        ({}, {"x": FixedLenSequenceFeature([], tf.int64)}, "Key: x, Index: 0"),
    ],
)
def test_mismatched_sequences(context, lists, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(parse_single_sequence_example(SEQUENCES[0], context, lists, example_name="n"))
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(parse_sequence_example(SEQUENCES, context, lists, example_names=["n", "m"]))


def test_invalid_sequence_features():
    for parse, serialized in ((parse_single_sequence_example, SEQUENCES[0]), (parse_sequence_example, SEQUENCES)):
        with pytest.raises(ValueError, match="both"):
            parse(serialized)
        with pytest.raises(ValueError, match="Unsupported FixedLenFeature"):
            parse(serialized, {}, {"x": FixedLenFeature([], tf.int64)})
        with pytest.raises(ValueError, match="Unsupported FixedLenSequenceFeature"):
            parse(serialized, {"x": FixedLenSequenceFeature([], tf.int64)}, {})


# -- tensors and JSON --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.array(5, np.int64),
        np.array([True, False]),
        np.zeros((0, 3), np.float64),
        np.array([1 + 2j], np.complex64),
        np.array([[b"a", b""]], object),
    ],
    ids=lambda array: str(array.dtype),
)
def test_serialized_tensor_round_trip(array):
    serialized = serialize_tensor(array)
    assert serialized.shape.as_list() == []
    value = tf.Session().run(parse_tensor(serialized, tf.as_dtype(array.dtype)))
    assert np.asarray(value).dtype == array.dtype
    np.testing.assert_array_equal(value, array)


def test_serialized_tensors_match_tensorflow():
    # Written by TensorFlow 2.21.
    assert run(serialize_tensor(np.arange(3, dtype=np.int32))) == (
        b'\x08\x03\x12\x04\x12\x02\x08\x03"\x0c\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00'
    )
    assert run(serialize_tensor(["a", "bc"])) == b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x02bc"
    assert run(serialize_tensor(5.0)) == b'\x08\x01\x12\x00"\x04\x00\x00\xa0@'


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xff\xff", "not a serialized TensorProto"),
        (b"", "not a serialized TensorProto"),
        (b"\x08\x03\x12\x00", "Type mismatch"),
        (b"\x08\x01\x12\x04\x12\x02\x08\x05\x22\x01a", "cannot be parsed"),
        (b"\x08\x01\x12\x0b\x12\x09\x08\xff\xff\xff\xff\xff\xff\xff\x7f", "shape"),
        (b"\x08\x01\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "shape"),
        (b"\x08\x01\x12\x08\x12\x06\x08\x80\x80\x80\x80\x10", "shape"),
    ],
)
def test_damaged_tensors(data, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(parse_tensor(np.array(data, object), tf.float32))


def test_json():
    text = '{"features": {"feature": {"a": {"int64List": {"value": ["1"]}}}}}'
    assert run(decode_json_example([[text, "{}"]])) == [[example(a=[1]), b""]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="JSON"):
        run(decode_json_example(["{"]))


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_random_bytes_are_rejected_or_parsed(data):
    """Messages cut off, overwritten or made up never end in anything but values or InvalidArgumentError."""
    original = data.draw(st.sampled_from([*BATCH, *SEQUENCES, b""]))
    damaged = bytearray(original)
    for _ in range(data.draw(st.integers(0, 4))):
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(damaged[: data.draw(st.integers(0, len(damaged)))]) + data.draw(st.binary(max_size=8))
    serialized = np.array(damaged, object)
    features = {"a": FixedLenFeature([2], tf.float32), "b": VarLenFeature(tf.int64), "c": VarLenFeature(tf.string)}
    with tf.Graph().as_default(), tf.Session() as session:
        for tensors in (
            parse_example(serialized.reshape(1), features),
            parse_single_example(serialized, features),
            parse_single_sequence_example(serialized, features, LISTS),
            parse_tensor(serialized, tf.float32),
            decode_json_example(serialized),
        ):
            with contextlib.suppress(tf.errors.InvalidArgumentError):
                session.run(tensors)
