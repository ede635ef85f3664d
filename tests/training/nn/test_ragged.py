"""Ragged tensors: construction, conversion, indexing, and functions of tensors called with them, against lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thalweg as tf

ROWS = [[1, 2, 3], [], [4, 5], [6]]
NESTED = [[[1], [2, 3]], [], [[4, 5, 6], [], [7]]]
FLAT = [1, 2, 3, 4, 5, 6]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def run(value: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return as_list(session.run(value, feeds))


def as_list(value: Any) -> Any:
    if isinstance(value, tf.ragged.RaggedTensorValue):
        return value.to_list()
    return value.tolist() if hasattr(value, "tolist") else value


def rows() -> Any:
    return tf.ragged.constant(ROWS)


def nested() -> Any:
    return tf.ragged.constant(NESTED)


# -- construction -----------------------------------------------------------------------------------------------------

from_ = tf.RaggedTensor


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: from_.from_row_splits(FLAT, [0, 3, 3, 5, 6]), ROWS),
        (lambda: from_.from_row_lengths(FLAT, [3, 0, 2, 1]), ROWS),
        (lambda: from_.from_row_starts(FLAT, [0, 3, 3, 5]), ROWS),
        (lambda: from_.from_row_limits(FLAT, [3, 3, 5, 6]), ROWS),
        (lambda: from_.from_value_rowids(FLAT, [0, 0, 0, 2, 2, 3]), ROWS),
        (lambda: from_.from_value_rowids(FLAT, [0, 0, 0, 2, 2, 3], nrows=5), [*ROWS, []]),
        (lambda: from_.from_nested_row_splits(range(1, 8), [[0, 2, 2, 5], [0, 1, 3, 6, 6, 7]]), NESTED),
        (lambda: from_.from_nested_row_lengths(range(1, 8), [[2, 0, 3], [1, 2, 3, 0, 1]]), NESTED),
        (lambda: from_.from_nested_value_rowids(range(1, 8), [[0, 0, 2, 2, 2], [0, 1, 1, 2, 2, 2, 4]]), NESTED),
        (lambda: from_.from_tensor([[1, 2, 0], [3, 0, 0]]), [[1, 2, 0], [3, 0, 0]]),
        (lambda: from_.from_tensor([[1, 0, 2, 0], [0, 0, 0, 0]], padding=0), [[1, 0, 2], []]),
        (lambda: from_.from_tensor([["a", ""], ["", ""]], padding=""), [[b"a"], []]),
        (lambda: from_.from_tensor([[1, 2, 0], [3, 0, 0]], lengths=[1, 2]), [[1], [3, 0]]),
        (lambda: from_.from_tensor([[[1, 2]], [[3, 4]]], ragged_rank=2), [[[1, 2]], [[3, 4]]]),
        (lambda: from_.from_sparse(rows().to_sparse()), ROWS),
        (lambda: tf.ragged.constant([["a"], ["b", "c"]]), [[b"a"], [b"b", b"c"]]),
        (lambda: tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1), [[[1, 2]], [[3, 4], [5, 6]]]),
        (lambda: tf.ragged.constant([3, 4]), [3, 4]),
        (lambda: tf.ragged.range([3, 0, 2]), [[0, 1, 2], [], [0, 1]]),
        (lambda: tf.ragged.range([0, 9], [5, 3], [2, -3]), [[0, 2, 4], [9, 6]]),
        (lambda: tf.ragged.range(2), [[0, 1]]),
        (lambda: tf.ragged.range([0.0], [1.0], 0.4).row_lengths(), [3]),
        (lambda: tf.ragged.stack([[1, 2], [3]]), [[1, 2], [3]]),
        (lambda: tf.ragged.stack([rows(), [[9]]]), [ROWS, [[9]]]),
        (lambda: tf.ragged.stack([1, 2]), [1, 2]),
        (lambda: tf.ragged.stack_dynamic_partitions([5, 6, 7, 8], [1, 0, 1, 3], 5), [[6], [5, 7], [], [8], []]),
        (lambda: tf.ragged.stack_dynamic_partitions(rows(), [1, 0, 1, 0], 2), [[[], [6]], [[1, 2, 3], [4, 5]]]),
    ],
)
def test_rows_are_built(build: Callable[[], Any], expected: Any) -> None:
    assert run(build()) == expected


def test_types_and_shapes_are_static() -> None:
    assert (rows().dtype, rows().row_splits.dtype, rows().ragged_rank) == (tf.int32, tf.int64, 1)
    assert tf.ragged.constant([[1.0]]).dtype == tf.float32
    assert tf.ragged.constant([[1]], dtype=tf.int64, row_splits_dtype=tf.int32).row_splits.dtype == tf.int32
    assert rows().shape.as_list() == rows().get_shape().as_list() == [4, None]
    assert nested().shape.as_list() == [3, None, None]
    assert tf.ragged.constant([[[1, 2]], []], ragged_rank=1, inner_shape=(2,)).shape.as_list() == [2, None, 2]
    assert from_.from_tensor(tf.zeros([2, 3, 4]), ragged_rank=2).shape.as_list() == [2, None, None]
    assert rows().with_row_splits_dtype(tf.int32).row_splits.dtype == tf.int32
    assert tf.is_tensor(rows())
    assert not tf.is_tensor(ROWS)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: tf.RaggedTensor(FLAT, [0, 6]), "from_row_splits"),
        (lambda: from_.from_row_splits(FLAT, [[0, 6]]), "vector"),
        (lambda: from_.from_row_splits(FLAT, [0.0, 6.0]), "int32 or int64"),
        (lambda: from_.from_tensor([1, 2]), "ragged_rank is 1"),
        (lambda: from_.from_tensor([[1]], lengths=[1], padding=0), "not both"),
        (lambda: tf.ragged.constant([[1], 2]), "same nesting depth"),
        (lambda: tf.ragged.constant([[1]], ragged_rank=2), "ragged_rank is 2"),
        (lambda: tf.ragged.constant(1, ragged_rank=1), "scalar"),
        (lambda: tf.ragged.constant([[1]], row_splits_dtype=tf.float32), "int32 or int64"),
        (lambda: rows() + nested(), "ragged_rank 1"),
        (lambda: rows()[:, 0], "Cannot index into an inner ragged dimension"),
        (lambda: rows()[[0, 1]], "tf.gather"),
        (lambda: tf.concat([rows(), nested()], 0), "one known rank"),
        (lambda: tf.expand_dims(rows(), 5), "out of range"),
        (lambda: tf.reduce_sum(rows(), axis=1, keepdims=True), "does not keep dimensions"),
        (lambda: tf.string_split(["a"], result_type="list"), "result_type"),
    ],
)
def test_what_cannot_work_is_refused(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build()


def test_wrong_partitions_fail_in_the_step() -> None:
    splits = tf.placeholder(tf.int64, [None])
    checked = from_.from_row_splits(FLAT, splits).row_splits
    for given, words in (([0, 7], "end at the values"), ([1, 6], "begin with 0"), ([0, 4, 2, 6], "decrease")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            run(checked, {splits: given})
    gap = tf.SparseTensor([[0, 1]], [5], [1, 2])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="no gaps"):
        run(from_.from_sparse(gap))
    unequal = rows() + from_.from_row_splits(FLAT, splits, validate=False)
    with pytest.raises(tf.errors.InvalidArgumentError, match="different lengths"):
        run(unequal, {splits: [0, 2, 3, 5, 6]})


# -- sessions ---------------------------------------------------------------------------------------------------------


def test_sessions_fetch_and_feed_values() -> None:
    x = tf.ragged.placeholder(tf.float32, 2)
    with tf.Session() as session:
        value = session.run(x * 2, {x: tf.ragged.constant_value(NESTED, dtype=tf.float32)})
        assert isinstance(value, tf.ragged.RaggedTensorValue)
        assert (value.ragged_rank, value.dtype, value.shape) == (2, np.float32, (3, None, None))
        assert value.flat_values.tolist() == [2, 4, 6, 8, 10, 12, 14]
        assert [splits.tolist() for splits in value.nested_row_splits] == [[0, 2, 2, 5], [0, 1, 3, 6, 6, 7]]
        assert session.run({"a": [x]}, {x: value})["a"][0].to_list() == session.run(x, {x: value}).to_list()
        assert session.run(x, {x: NESTED}).to_list() == NESTED
        assert rows().eval(session=session).to_list() == ROWS
        with pytest.raises(ValueError, match="ragged_rank 2"):
            session.run(x, {x: tf.ragged.constant_value(ROWS, dtype=tf.float32)})
    assert "RaggedTensorValue" in repr(value)


def test_values_are_built_from_lists() -> None:
    value = tf.ragged.constant_value(ROWS, dtype=np.int64, row_splits_dtype="int32")
    assert (value.values.dtype, value.row_splits.dtype, value.shape) == (np.int64, np.int32, (4, None))
    assert tf.ragged.constant_value([1, 2]).tolist() == [1, 2]
    assert tf.ragged.constant_value([[], []]).to_list() == [[], []]
    with pytest.raises(ValueError, match="row_splits"):
        tf.ragged.RaggedTensorValue([1.0], [0.0, 1.0])


def test_gradients_flow_through_rows() -> None:
    x = tf.placeholder(tf.float32, [None])
    ragged = from_.from_row_splits(x, [0, 3, 3, 5, 6])
    weights = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
    loss = tf.reduce_sum(ragged.to_tensor() * weights) + tf.reduce_sum(tf.reduce_max(ragged * ragged, axis=1)[::2])
    grad = run(tf.convert_to_tensor(tf.gradients(loss, x)[0]), {x: FLAT})
    assert grad == [0, 1, 2 + 2 * 3, 6, 7 + 2 * 5, 9]


# -- conversion -------------------------------------------------------------------------------------------------------


def test_rows_become_dense_or_sparse() -> None:
    assert run(rows().to_tensor()) == [[1, 2, 3], [0, 0, 0], [4, 5, 0], [6, 0, 0]]
    assert run(rows().to_tensor(-1))[1] == [-1, -1, -1]
    assert run(tf.ragged.constant([["a"], []]).to_tensor("z")) == [[b"a"], [b"z"]]
    assert run(nested().to_tensor()) == [
        [[1, 0, 0], [2, 3, 0], [0, 0, 0]],
        [[0, 0, 0]] * 3,
        [[4, 5, 6], [0, 0, 0], [7, 0, 0]],
    ]
    sparse = run(nested().to_sparse())
    assert sparse.indices.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 1], [2, 0, 0], [2, 0, 1], [2, 0, 2], [2, 2, 0]]
    assert (sparse.values.tolist(), sparse.dense_shape.tolist()) == ([1, 2, 3, 4, 5, 6, 7], [3, 3, 3])
    uniform = run(tf.ragged.constant([[[1, 2]], [], [[3, 4]]], ragged_rank=1).to_sparse())
    assert uniform.indices.tolist() == [[0, 0, 0], [0, 0, 1], [2, 0, 0], [2, 0, 1]]


def test_parts_of_rows() -> None:
    ragged = nested()
    assert run(ragged.nrows()) == 3
    assert run(ragged.row_starts()) == [0, 2, 2]
    assert run(ragged.row_limits()) == [2, 2, 5]
    assert run(ragged.row_lengths()) == [2, 0, 3]
    assert run(ragged.row_lengths(axis=2)) == [[1, 2], [], [3, 0, 1]]
    assert [run(lengths) for lengths in ragged.nested_row_lengths()] == [[2, 0, 3], [1, 2, 3, 0, 1]]
    assert [run(ids) for ids in ragged.nested_value_rowids()] == [[0, 0, 2, 2, 2], [0, 1, 1, 2, 2, 2, 4]]
    assert run(ragged.value_rowids()) == [0, 0, 2, 2, 2]
    assert run(ragged.bounding_shape()) == [3, 3, 3]
    assert run(ragged.bounding_shape(axis=1)) == 3
    assert run(ragged.with_flat_values(ragged.flat_values * 0)) == [[[0], [0, 0]], [], [[0, 0, 0], [], [0]]]
    assert run(tf.ragged.row_splits_to_segment_ids([0, 3, 3, 5])) == [0, 0, 0, 2, 2]
    assert run(tf.ragged.segment_ids_to_row_splits([0, 0, 0, 2, 2], num_segments=4)) == [0, 3, 3, 5, 5]


# -- indexing ---------------------------------------------------------------------------------------------------------

INDICES: list[Any] = [
    *(0, -1, slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(-2, None), Ellipsis),
    *((slice(None), slice(1, None)), (slice(None), slice(None, -1)), (slice(None), slice(None, None, -1))),
    *((slice(None), slice(-2, None)), (slice(None), slice(5, 1, -2)), (slice(1, None), slice(0, 1))),
    *((Ellipsis, slice(1, None)), (0, slice(1, 2)), (2, slice(None, None, -1)), (0, 1)),
]


def at(value: Any, keys: Any) -> Any:
    """Returns what an index means, applied to nested lists."""
    keys = keys if isinstance(keys, tuple) else (keys,)
    depth, probe = 0, value
    while isinstance(probe, list):
        depth, probe = depth + 1, next((item for item in probe if item), 0) if probe else 0
    if Ellipsis in keys:
        place = keys.index(Ellipsis)
        keys = keys[:place] + (slice(None),) * (depth - len(keys) + 1) + keys[place + 1 :]
    if not keys:
        return value
    first, *rest = keys
    return (
        [at(item, tuple(rest)) for item in value[first]] if isinstance(first, slice) else at(value[first], tuple(rest))
    )


@pytest.mark.parametrize("key", INDICES, ids=str)
@pytest.mark.parametrize("data", [ROWS, NESTED], ids=["rows", "nested"])
def test_an_index_means_what_it_means_for_lists(data: Any, key: Any) -> None:
    assert run(tf.ragged.constant(data)[key]) == at(data, key)


def test_indices_within_inner_rows_and_new_axes() -> None:
    assert run(nested()[:, :, 1:]) == [[[], [3]], [], [[5, 6], [], []]]
    assert run(nested()[2, 0, 1:]) == [5, 6]
    assert run(rows()[tf.newaxis]) == [ROWS]
    assert run(rows()[:, tf.newaxis]) == [[row] for row in ROWS]
    assert run(rows()[tf.constant(2)]) == [4, 5]
    uniform = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)
    assert run(uniform[:, :, 0]) == [[1], [3, 5]]


# -- functions of tensors ---------------------------------------------------------------------------------------------


def each(function: Callable[[Any], Any], data: Any) -> Any:
    return [each(function, item) for item in data] if isinstance(data, list) else function(data)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: x + 1, lambda v: v + 1),
        (lambda x: 1 - x, lambda v: 1 - v),
        (lambda x: x * x, lambda v: v * v),
        (lambda x: tf.constant(7) // x, lambda v: 7 // v),
        (lambda x: x % 2, lambda v: v % 2),
        (lambda x: -x, lambda v: -v),
        (lambda x: abs(-x), lambda v: v),
        (lambda x: x > 2, lambda v: v > 2),
        (lambda x: (x > 1) & ~(x > 4), lambda v: 1 < v <= 4),
        (lambda x: tf.equal(x, 3), lambda v: v == 3),
        (lambda x: tf.cast(x, tf.float32) / 2.0, lambda v: v / 2),
        (lambda x: tf.square(x), lambda v: v * v),
        (lambda x: tf.maximum(x, 3), lambda v: max(v, 3)),
        (lambda x: tf.clip_by_value(x, 2, 4), lambda v: min(max(v, 2), 4)),
        (lambda x: tf.zeros_like(x), lambda v: 0),
        (lambda x: tf.add_n([x, x, x]), lambda v: 3 * v),
        (lambda x: tf.where(x > 2, x, -x), lambda v: v if v > 2 else -v),
        (lambda x: tf.as_string(x), lambda v: str(v).encode()),
        (lambda x: tf.strings.join([tf.as_string(x), "!"]), lambda v: f"{v}!".encode()),
        (lambda x: tf.one_hot(x, 2, dtype=tf.int32), lambda v: [0, int(v == 1)]),
        (lambda x: tf.gather([0, 10, 20, 30, 40, 50, 60, 70], x), lambda v: 10 * v),
        (lambda x: tf.ragged.map_flat_values(tf.multiply, x, y=x), lambda v: v * v),
        (lambda x: tf.nn.relu(tf.cast(x, tf.float32) - 3), lambda v: max(v - 3, 0)),
    ],
)
@pytest.mark.parametrize("data", [ROWS, NESTED], ids=["rows", "nested"])
def test_element_wise_functions_keep_the_rows(build: Any, expected: Any, data: Any) -> None:
    assert run(build(tf.ragged.constant(data))) == each(expected, data)


def test_operands_with_equal_rows_are_combined() -> None:
    assert run(rows() + rows() * 10) == each(lambda v: 11 * v, ROWS)
    assert run(tf.where(rows() > 2, rows(), -rows())) == each(lambda v: v if v > 2 else -v, ROWS)
    assert run(tf.add_n([nested(), nested()])) == each(lambda v: 2 * v, NESTED)


def test_dense_operands_are_broadcast_to_rows() -> None:
    assert run(rows() + tf.constant([[10], [20], [30], [40]])) == [[11, 12, 13], [], [34, 35], [46]]
    assert run(np.array([100]) + rows()) == [[101, 102, 103], [], [104, 105], [106]]
    uniform = tf.ragged.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1)
    assert run(uniform * [1, 10]) == [[[1, 20]], [[3, 40], [5, 60]]]
    assert run(uniform * [[[1, 10]], [[0, 100]]]) == [[[1, 20]], [[0, 400], [0, 600]]]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: tf.reduce_sum(rows()), 21),
        (lambda: tf.reduce_sum(rows(), axis=1), [6, 0, 9, 6]),
        (lambda: tf.reduce_sum(rows(), axis=0), [11, 7, 3]),
        (lambda: tf.reduce_sum(rows(), axis=-1), [6, 0, 9, 6]),
        (lambda: tf.reduce_sum(nested(), axis=0), [[5, 5, 6], [2, 3], [7]]),
        (lambda: tf.reduce_sum(nested(), axis=1), [[3, 3], [], [11, 5, 6]]),
        (lambda: tf.reduce_sum(nested(), axis=2), [[1, 5], [], [15, 0, 7]]),
        (lambda: tf.reduce_sum(nested(), axis=[1, 2]), [6, 0, 22]),
        (lambda: tf.reduce_prod(rows(), 1), [6, 1, 20, 6]),
        (lambda: tf.reduce_max(rows(), 0), [6, 5, 3]),
        (lambda: tf.reduce_min(rows(), 0), [1, 2, 3]),
        (lambda: tf.reduce_mean(tf.cast(rows(), tf.float64), 0), [11 / 3, 3.5, 3]),
        (lambda: tf.reduce_any(rows() > 5, 1), [False, False, False, True]),
        (lambda: tf.reduce_all(rows() > 1, 1), [False, True, True, True]),
    ],
)
def test_reductions(build: Callable[[], Any], expected: Any) -> None:
    assert run(build()) == expected


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: tf.concat([rows(), rows()], 0), ROWS + ROWS),
        (lambda: tf.concat([rows(), rows()], 1), [row + row for row in ROWS]),
        (lambda: tf.concat([rows(), [[7], [8], [9], [0]]], -1), [[1, 2, 3, 7], [8], [4, 5, 9], [6, 0]]),
        (lambda: tf.concat([nested(), nested()], 2), [[row * 2 for row in rows] for rows in NESTED]),
        (lambda: tf.stack([rows(), rows()]), [ROWS, ROWS]),
        (lambda: tf.stack([rows(), rows()], 1), [[row, row] for row in ROWS]),
        (lambda: tf.stack([rows(), rows() * 10], 2), [[[v, 10 * v] for v in row] for row in ROWS]),
        (lambda: tf.expand_dims(rows(), 0), [ROWS]),
        (lambda: tf.expand_dims(rows(), 1), [[row] for row in ROWS]),
        (lambda: tf.expand_dims(rows(), -1), [[[v] for v in row] for row in ROWS]),
        (lambda: tf.squeeze(tf.expand_dims(rows(), 1), [1]), ROWS),
        (lambda: tf.size(rows()), 6),
        (lambda: tf.rank(nested()), 3),
        (lambda: tf.gather(rows(), [2, 0, 2]), [[4, 5], [1, 2, 3], [4, 5]]),
        (lambda: tf.gather(rows(), 2), [4, 5]),
        (lambda: tf.gather(rows(), [[2], [0]]), [[[4, 5]], [[1, 2, 3]]]),
        (lambda: tf.gather(nested(), tf.ragged.constant([[2], [], [0]])), [[NESTED[2]], [], [NESTED[0]]]),
        (lambda: tf.gather_nd(rows(), [[0, 1], [2, 1]]), [2, 5]),
        (lambda: tf.gather_nd(nested(), [[0, 1], [2, 0]]), [[2, 3], [4, 5, 6]]),
        (lambda: tf.batch_gather(rows(), tf.ragged.constant([[0, 2], [], [1], [0]])), [[1, 3], [], [5], [6]]),
        (lambda: tf.ragged.boolean_mask(rows(), rows() > 2), [[3], [], [4, 5], [6]]),
        (lambda: tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]]), [[1], [3, 4]]),
        (lambda: tf.boolean_mask(nested(), nested() > 2), [[[], [3]], [], [[4, 5, 6], [], [7]]]),
        (lambda: tf.boolean_mask(rows(), [True, False, False, True]), [[1, 2, 3], [6]]),
        (lambda: tf.where(rows() > 2), [[0, 2], [2, 0], [2, 1], [3, 0]]),
        (lambda: tf.tile(rows(), [2, 1]), ROWS * 2),
        (lambda: tf.tile(rows(), [1, 3]), [row * 3 for row in ROWS]),
        (lambda: tf.unsorted_segment_sum(rows(), [0, 0, 1, 1], 2), [[1, 2, 3], [10, 5]]),
        (lambda: tf.unsorted_segment_max(rows(), [1, 0, 1, 0], 2), [[6], [4, 5, 3]]),
        (lambda: tf.nn.embedding_lookup(np.arange(14).reshape(7, 2), rows())[3], [[12, 13]]),
    ],
)
def test_rows_are_joined_and_gathered(build: Callable[[], Any], expected: Any) -> None:
    assert run(build()) == expected


# -- strings ----------------------------------------------------------------------------------------------------------


def test_strings_are_split_into_rows() -> None:
    words, ragged = ["a b", "", "c"], "RaggedTensor"
    assert run(tf.strings.split(words, result_type=ragged)) == [[b"a", b"b"], [], [b"c"]]
    assert run(tf.string_split(words, result_type=ragged)) == [[b"a", b"b"], [], [b"c"]]
    assert run(tf.strings.split([["a b", "x"], ["", "c d"]], result_type=ragged)) == [
        [[b"a", b"b"], [b"x"]],
        [[], [b"c", b"d"]],
    ]
    texts = tf.ragged.constant([["1", "22"], []])
    assert run(tf.strings.to_number(texts)) == [[1, 22], []]
    assert run(tf.strings.length(texts)) == [[1, 2], []]
    assert run(tf.strings.regex_replace(texts, "2", "3")) == [[b"1", b"33"], []]
    assert run(tf.strings.to_hash_bucket_fast(texts, 10)) == [[9, 0], []]
    assert run(tf.strings.bytes_split(["ab", "", "c"])) == [[b"a", b"b"], [], [b"c"]]


def test_characters_of_strings() -> None:
    texts = ["añ", "", "z"]
    points = tf.strings.unicode_decode(texts, "UTF-8")
    assert run(points) == [[97, 241], [], [122]]
    assert run(tf.strings.unicode_encode(points, "UTF-8")) == [text.encode() for text in texts]
    assert run(tf.strings.unicode_encode(tf.stack([points, points]), "UTF-8")) == [[t.encode() for t in texts]] * 2
    assert run(tf.strings.unicode_decode("añ", "UTF-8")) == [97, 241]
    assert run(tf.strings.unicode_split(texts, "UTF-8")) == [[b"a", "ñ".encode()], [], [b"z"]]
    found, starts = tf.strings.unicode_split_with_offsets(["ñaz"], "UTF-8")
    assert (run(found), run(starts)) == ([["ñ".encode(), b"a", b"z"]], [[0, 2, 3]])
