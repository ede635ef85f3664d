"""Lookup tables: static and mutable ones, their initializers, vocabularies with buckets."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import thalweg as tf
from thalweg import lookup
from thalweg._src.graph.ops.lookup import (
    hash_table_op,
    initialize_table_op,
    lookup_table_import_op,
    lookup_table_insert_op,
)
from thalweg._src.graph.sparse_tensor import SparseTensor
from thalweg._src.training.nn.lookup import HashTable, MutableDenseHashTable, MutableHashTable, tables_initializer
from thalweg._src.training.nn.vocabularies import (
    IdTableWithHashBuckets,
    StrongHashSpec,
    index_table_from_file,
    index_table_from_tensor,
    index_to_string_table_from_file,
    index_to_string_table_from_tensor,
    string_to_index,
)


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def entries(keys=("a", "b"), values=(1, 2)):
    return lookup.KeyValueTensorInitializer(list(keys), tf.constant(list(values), tf.int64))


def test_static_table(session):
    table = lookup.StaticHashTable(entries(), -1)
    found = table.lookup(tf.constant([["a", "z"], ["b", "a"]]))
    assert (found.shape.as_list(), found.dtype) == ([2, 2], tf.int64)
    with pytest.raises(tf.errors.FailedPreconditionError, match=r"(?s)Table not initialized.*'hash_table'"):
        session.run(found)
    assert session.run(table.size()) == 0
    session.run(tables_initializer())
    assert session.run(found).tolist() == [[1, -1], [2, 1]]
    assert session.run(table.size()) == 2
    assert session.run(table.lookup(tf.zeros([0, 3], tf.string))).shape == (0, 3)
    sparse = session.run(table.lookup(SparseTensor([[0, 1], [2, 0]], ["b", "?"], [3, 2])))
    assert sparse.values.tolist() == [2, -1]
    assert sparse.dense_shape.tolist() == [3, 2]


def test_types_are_checked():
    table = lookup.StaticHashTable(entries(), -1)
    with pytest.raises(TypeError, match="keys: expected string"):
        table.lookup(tf.constant([1]))
    with pytest.raises((TypeError, ValueError)):
        lookup.StaticHashTable(entries(), "x")
    with pytest.raises(ValueError, match="shape"):
        lookup.StaticHashTable(entries(), [-1])


def test_a_table_is_initialized_once(session):
    table = lookup.StaticHashTable(entries(), -1)
    session.run(table.initializer)
    session.run(table.initializer)
    session.run(entries(values=(5, 6)).initialize(table))  # as many entries: the first stay
    assert session.run(table.lookup(tf.constant("a"))) == 1
    with pytest.raises(tf.errors.FailedPreconditionError, match="initialized only once"):
        session.run(entries("abc", (1, 2, 3)).initialize(table))


def test_equal_keys(session):
    session.run(lookup.StaticHashTable(entries("aa", (1, 1)), -1).initializer)
    with pytest.raises(tf.errors.FailedPreconditionError, match="has two values"):
        session.run(lookup.StaticHashTable(entries("aa", (1, 2)), -1).initializer)


def test_each_session_has_its_own_tables(session):
    table = lookup.StaticHashTable(entries(), -1)
    session.run(table.initializer)
    with tf.Session() as other, pytest.raises(tf.errors.FailedPreconditionError):
        other.run(table.lookup(tf.constant("a")))


@pytest.mark.parametrize(
    ("key", "value", "default"),
    [(tf.int64, tf.string, "?"), (tf.int32, tf.float32, -1.0), (tf.string, tf.bool, False)],
)
def test_types(session, key, value, default):
    keys = tf.strings.as_string([3, 4]) if key == tf.string else tf.constant([3, 4], key)
    values = {tf.string: ["x", "y"], tf.float32: [1.5, 2.5], tf.bool: [True, True]}[value]
    table = HashTable(lookup.KeyValueTensorInitializer(keys, values, value_dtype=value), default)
    session.run(table.initializer)
    wanted = tf.strings.as_string([4, 9]) if key == tf.string else tf.constant([4, 9], key)
    found = session.run(table.lookup(wanted)).tolist()
    assert found == [values[1].encode() if value == tf.string else values[1], b"?" if value == tf.string else default]


class TestTextFiles:
    @pytest.fixture
    def vocabulary(self, tmp_path):
        path = tmp_path / "vocabulary"
        path.write_bytes(b"lake\t5\r\npalmer\t6\nemerson\t7")
        return str(path)

    def test_lines_and_columns(self, session, vocabulary):
        line, number = lookup.TextFileIndex.WHOLE_LINE, lookup.TextFileIndex.LINE_NUMBER
        whole = lookup.StaticHashTable(lookup.TextFileInitializer(vocabulary, tf.string, line, tf.int64, number), -1)
        column = lookup.StaticHashTable(lookup.TextFileInitializer(vocabulary, tf.string, 0, tf.int64, 1), -1)
        back = lookup.StaticHashTable(lookup.TextFileInitializer(vocabulary, tf.int64, number, tf.string, 0), "?")
        session.run(tables_initializer())
        assert session.run(whole.lookup(tf.constant(["palmer\t6", "lake\t5", "x"]))).tolist() == [1, 0, -1]
        assert session.run(column.lookup(tf.constant(["emerson", "x"]))).tolist() == [7, -1]
        assert session.run(back.lookup(tf.constant([2, 9], tf.int64))).tolist() == [b"emerson", b"?"]
        assert len(tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)) == 3

    def test_vocab_size(self, session, vocabulary):
        table = index_table_from_file(vocabulary, vocab_size=2, key_column_index=0)
        session.run(table.initializer)
        assert session.run(table.lookup(tf.constant(["palmer", "emerson"]))).tolist() == [1, -1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid vocab_size"):
            session.run(index_table_from_file(vocabulary, vocab_size=9).initializer)

    @pytest.mark.parametrize(
        ("text", "key", "columns", "match"),
        [
            (b"a\n\nb\n", tf.string, (-2, -1), "empty line found at position 1"),
            (b"a\t1\nb\n", tf.string, (0, 1), "Invalid number of columns"),
            (b"a\nb\n", tf.int64, (-2, -1), "not a valid int64"),
        ],
    )
    def test_invalid_files(self, session, tmp_path, text, key, columns, match):
        (tmp_path / "bad").write_bytes(text)
        initializer = lookup.TextFileInitializer(str(tmp_path / "bad"), key, columns[0], tf.int64, columns[1])
        with pytest.raises(tf.errors.InvalidArgumentError, match=match):
            session.run(lookup.StaticHashTable(initializer, -1).initializer)

    def test_invalid_arguments(self, session, vocabulary):
        with pytest.raises(ValueError, match="int64"):
            lookup.TextFileInitializer(vocabulary, tf.string, -1, tf.int64, -2)
        with pytest.raises(ValueError, match="vocab_size"):
            lookup.TextFileInitializer(vocabulary, tf.string, -2, tf.int64, -1, vocab_size=0)
        with pytest.raises(ValueError, match="index"):
            lookup.TextFileInitializer(vocabulary, tf.string, -3, tf.int64, -1)
        with pytest.raises(tf.errors.NotFoundError):
            session.run(index_table_from_file("/no/such/file").initializer)


def test_vocabulary_with_buckets(session):
    table = lookup.StaticVocabularyTable(entries(values=(0, 1)), 3)
    session.run(tables_initializer())
    words = tf.constant(["a", "z", "b", "yy", "x"])
    buckets = session.run(tf.strings.to_hash_bucket_fast(words, 3))
    assert session.run(table.lookup(words)).tolist() == [0, 2 + buckets[1], 1, 2 + buckets[3], 2 + buckets[4]]
    assert session.run(table.size()) == 5
    alone = lookup.StaticVocabularyTable(None, 3)
    assert session.run(alone.lookup(words)).tolist() == buckets.tolist()
    with pytest.raises(ValueError, match="> 0"):
        lookup.StaticVocabularyTable(entries(), 0)


def test_buckets_of_numbers(session):
    numbers = lookup.KeyValueTensorInitializer(tf.constant([10, 20], tf.int64), tf.constant([0, 1], tf.int64))
    table = lookup.StaticVocabularyTable(numbers, 4, lookup_key_dtype=tf.int32)
    session.run(tables_initializer())
    bucket = session.run(tf.strings.to_hash_bucket_fast(["-7"], 4))[0]
    assert session.run(table.lookup(tf.constant([20, -7], tf.int32))).tolist() == [1, 2 + bucket]


def test_strong_buckets(session):
    table = IdTableWithHashBuckets(HashTable(entries(values=(0, 1)), -1), 10, StrongHashSpec([98765, 132]))
    session.run(table.initializer)
    assert session.run(table.lookup(tf.constant(["a", "b", "c"]))).tolist() == [0, 1, 2 + 8]
    with pytest.raises(ValueError, match="size 2"):
        StrongHashSpec([1])


def test_tables_from_lists(session, tmp_path):
    words = ["emerson", "lake", "palmer"]
    (tmp_path / "words").write_text("\n".join(words))
    there, back = index_table_from_tensor(words, num_oov_buckets=1), index_to_string_table_from_tensor(words)
    numbers = index_table_from_tensor([7, 9], dtype=tf.int32)
    file = index_to_string_table_from_file(str(tmp_path / "words"), default_value="?")
    indices = string_to_index(["palmer", "x"], words)
    session.run(tables_initializer())
    assert session.run(there.lookup(tf.constant(["lake", "x"]))).tolist() == [1, 3]
    assert session.run(back.lookup(tf.constant([2, 5], tf.int64))).tolist() == [b"palmer", b"UNK"]
    assert session.run(numbers.lookup(tf.constant([9, 1], tf.int32))).tolist() == [1, -1]
    assert session.run(file.lookup(tf.constant([0, 3], tf.int64))).tolist() == [b"emerson", b"?"]
    assert session.run(indices).tolist() == [2, -1]


def test_mutable_table(session):
    table = MutableHashTable(tf.string, tf.int64, -1)
    assert session.run(table.size()) == 0
    session.run(table.insert(["a", "b", "b"], np.array([1, 2, 3])))
    session.run(table.remove(["a", "z"]))
    assert session.run(table.lookup(tf.constant([["a", "b"]]))).tolist() == [[-1, 3]]
    keys, values = session.run(table.export())
    assert (keys.tolist(), values.tolist()) == ([b"b"], [3])
    session.run(lookup_table_import_op.operation(table.resource_handle, ["q"], np.array([9])))
    assert [part.tolist() for part in session.run(table.export())] == [[b"q"], [9]]
    with pytest.raises(ValueError, match="value for each key"):
        table.insert(["a", "b"], np.array([1]))
    with pytest.raises(TypeError, match="keys: expected string"):
        table.insert(tf.constant([1]), np.array([1]))


def test_values_with_dimensions(session):
    table = MutableHashTable(tf.int64, tf.float32, [0.0, -1.0])
    session.run(table.insert(np.array([3, 4]), np.float32([[1, 2], [3, 4]])))
    found = table.lookup(tf.constant([[4], [5]], tf.int64))
    assert found.shape.as_list() == [2, 1, 2]
    assert session.run(found).tolist() == [[[3, 4]], [[0, -1]]]
    assert session.run(table.export()[1]).tolist() == [[1, 2], [3, 4]]
    names = MutableHashTable(tf.int64, tf.string, ["x", "y"])
    session.run(names.insert(np.array([1]), [["a", "b"]]))
    assert session.run(names.lookup(tf.constant([1, 2], tf.int64))).tolist() == [[b"a", b"b"], [b"x", b"y"]]


def test_tables_do_not_alias_their_source(session):
    table = MutableHashTable(tf.int64, tf.float32, [0.0, 0.0])
    rows = tf.placeholder(tf.float32, [1, 2])
    array = np.ones((1, 2), np.float32)
    session.run(table.insert(np.array([1]), rows), {rows: array})
    array[:] = 5
    assert session.run(table.lookup(tf.constant([1], tf.int64))).tolist() == [[1, 1]]


def test_dense_table(session):
    table = MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=0, deleted_key=-1)
    session.run(table.insert(np.array([11, 12]), np.array([1, 2])))
    session.run(table.remove(np.array([11])))
    assert session.run(table.lookup(tf.constant([11, 12], tf.int64))).tolist() == [-1, 2]
    for key, name in ((0, "empty_key"), (-1, "deleted_key")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=name):
            session.run(table.insert(np.array([key]), np.array([1])))
    pairs = MutableDenseHashTable(tf.int64, tf.int64, -1, empty_key=[0, 0], deleted_key=[-1, -1])
    session.run(pairs.insert(np.array([[1, 2], [3, 4]]), np.array([5, 6])))
    assert session.run(pairs.lookup(tf.constant([[3, 4], [4, 3]], tf.int64))).tolist() == [6, -1]
    assert session.run(pairs.export()[0]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="power of 2"):
        odd = MutableDenseHashTable(tf.int64, tf.int64, -1, 0, -1, initial_num_buckets=7)
        session.run(odd.size())
    with pytest.raises(tf.errors.InvalidArgumentError, match="different keys"):
        session.run(MutableDenseHashTable(tf.int64, tf.int64, -1, 0, 0, name="same").size())


def test_static_tables_reject_changes_and_mutable_ones_initializers(session):
    static = hash_table_op(key_dtype=tf.string, value_dtype=tf.int64)
    with pytest.raises(tf.errors.UnimplementedError, match="static"):
        session.run(lookup_table_insert_op.operation(static, ["a"], np.array([1])))
    mutable = MutableHashTable(tf.string, tf.int64, -1).resource_handle
    with pytest.raises(tf.errors.InvalidArgumentError, match="mutable"):
        session.run(initialize_table_op.operation(mutable, ["a"], np.array([1])))


def test_handles_that_share_a_name(session):
    first = hash_table_op(key_dtype=tf.string, value_dtype=tf.int64, shared_name="t")
    session.run(initialize_table_op.operation(first, ["a"], np.array([1])))
    other = hash_table_op(key_dtype=tf.string, value_dtype=tf.float32, shared_name="t")
    with pytest.raises(tf.errors.InvalidArgumentError, match="another type"):
        session.run(initialize_table_op.operation(other, ["a"], [1.0]))


def test_many_threads_insert(session):
    table = MutableHashTable(tf.int64, tf.int64, -1)
    keys = tf.placeholder(tf.int64, [None])
    insert = table.insert(keys, keys)
    ranges = [np.arange(1000 * i, 1000 * (i + 1)) for i in range(8)]
    threads = [threading.Thread(target=session.run, args=(insert, {keys: part})) for part in ranges]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.run(table.size()) == 8000
