"""Cardinality, optionals, reduction by key, rejection resampling, SQL, and older names."""

import sqlite3

import numpy as np
import pytest

import thalweg as tf
from tests.training.data.running import elements, take
from thalweg._src.training.data.structure import Spec

Dataset = tf.data.Dataset
ex = tf.data.experimental


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _count(build):
    with tf.Graph().as_default(), tf.Session() as session:
        return int(session.run(ex.cardinality(build(Dataset.range(10)))))


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda d: d, 10),
        (lambda d: d.repeat(), ex.INFINITE_CARDINALITY),
        (lambda d: d.repeat(3).take(7), 7),
        (lambda d: d.repeat().take(-1), ex.INFINITE_CARDINALITY),
        (lambda d: d.skip(4), 6),
        (lambda d: d.skip(-1), 0),
        (lambda d: d.filter(lambda x: x > 3), ex.UNKNOWN_CARDINALITY),
        (lambda d: d.flat_map(lambda x: Dataset.range(x)), ex.UNKNOWN_CARDINALITY),
        (lambda d: d.shuffle(3).prefetch(2).cache(), 10),
        (lambda d: d.map(lambda x: x + 1), ex.UNKNOWN_CARDINALITY),
        (lambda d: d.batch(3), 4),
        (lambda d: d.batch(3, drop_remainder=True), 3),
        (lambda d: d.batch(5, drop_remainder=True).unbatch(), ex.UNKNOWN_CARDINALITY),
        (lambda d: d.window(3), 4),
        (lambda d: d.window(3, shift=1, stride=2, drop_remainder=True), 6),
        (lambda d: d.shard(3, 0), 4),
        (lambda d: d.concatenate(d.take(2)), 12),
        (lambda d: Dataset.zip((d, d.skip(3), d.repeat())), 7),
        (lambda d: d.enumerate(), 10),
        (lambda d: Dataset.range(10, 0, -3), 4),
        (lambda d: Dataset.from_tensors(1), 1),
        (lambda d: Dataset.from_tensor_slices([1, 2, 3]), 3),
        (lambda d: Dataset.from_generator(lambda: range(3), tf.int64), ex.UNKNOWN_CARDINALITY),
        (lambda d: ex.Counter(), ex.INFINITE_CARDINALITY),
        (lambda d: ex.RandomDataset(), ex.INFINITE_CARDINALITY),
        (lambda d: tf.data.TextLineDataset(["x"]), ex.UNKNOWN_CARDINALITY),
    ],
)
def test_cardinality(build, expected):
    assert _count(build) == expected


# -- optionals --------------------------------------------------------------------------------------------------------


def test_optional():
    held = ex.Optional.from_value({"a": tf.constant([1, 2]), "b": tf.constant("x")})
    none = ex.Optional.none_from_structure(tf.TensorSpec([], tf.float32))
    assert held.value_structure == {"a": tf.TensorSpec([2], tf.int32), "b": tf.TensorSpec([], tf.string)}
    with tf.Session() as session:
        assert session.run([held.has_value(), none.has_value()]) == [True, False]
        found = session.run(held.get_value())
        assert found["a"].tolist() == [1, 2] and found["b"] == b"x"
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            session.run(none.get_value())
        chosen = tf.cond(none.has_value(), none.get_value, lambda: tf.constant(-1.0))
        assert session.run(chosen) == -1


def test_iterators_return_optionals():
    iterator = Dataset.range(3).make_initializable_iterator()
    first, second = ex.get_next_as_optional(iterator), iterator.get_next_as_optional()
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(first.has_value())
        session.run(iterator.initializer)
        assert session.run([first.has_value(), first.get_value()]) == [True, 0]
        assert session.run(second.get_value()) == 1
        assert session.run(first.get_value()) == 2
        assert not session.run(first.has_value())
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            session.run(first.get_value())


def test_loop_until_an_optional_is_empty():
    iterator = Dataset.range(5).make_initializable_iterator()

    def body(total, more):
        optional = ex.get_next_as_optional(iterator)
        has = optional.has_value()
        return total + tf.cond(has, optional.get_value, lambda: tf.constant(0, tf.int64)), has

    total, _ = tf.while_loop(lambda total, more: more, body, [tf.constant(0, tf.int64), tf.constant(True)])
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert session.run(total) == 10


def test_optionals_in_datasets():
    def build():
        return Dataset.range(3).map(ex.Optional.from_value).map(lambda optional: optional.get_value() * 2)

    assert elements(build) == [0, 2, 4]
    spec = Dataset.range(1).map(ex.Optional.from_value).element_spec
    assert spec == tf.OptionalSpec(tf.TensorSpec([], tf.int64)) and isinstance(spec, Spec)


# -- groups -----------------------------------------------------------------------------------------------------------


def _sums():
    return ex.Reducer(
        lambda key: (tf.constant(0, tf.int64), key),
        lambda state, x: (state[0] + x, state[1]),
        lambda total, key: (key, total),
    )


def test_group_by_reducer():
    def build():
        return Dataset.range(10).apply(ex.group_by_reducer(lambda x: (7 - x) % 3, _sums()))

    assert elements(build) == [(0, 12), (1, 18), (2, 15)]
    assert elements(lambda: Dataset.range(0).apply(ex.group_by_reducer(lambda x: x, _sums()))) == []
    with pytest.raises(ValueError, match="key_func"):
        Dataset.range(3).apply(ex.group_by_reducer(lambda x: tf.cast(x, tf.float32), _sums()))
    wrong = ex.Reducer(lambda key: 0.5, lambda state, x: x, lambda state: state)
    with pytest.raises(TypeError, match="initial state"):
        Dataset.range(3).apply(ex.group_by_reducer(lambda x: x, wrong))


def test_states_of_groups_may_grow():
    reducer = ex.Reducer(
        lambda key: tf.zeros([0], tf.int64), lambda state, x: tf.concat([state, [x]], 0), lambda state: state
    )
    dataset = Dataset.range(5).apply(ex.group_by_reducer(lambda x: x % 2, reducer))
    assert dataset.output_shapes.as_list() == [None]
    assert elements(lambda: Dataset.range(5).apply(ex.group_by_reducer(lambda x: x % 2, reducer))) == [
        [0, 2, 4],
        [1, 3],
    ]


def test_position_in_groups_is_saved(tmp_path):
    def build():
        dataset = Dataset.range(10).apply(ex.group_by_reducer(lambda x: x % 4, _sums()))
        iterator = dataset.make_initializable_iterator()
        saver = tf.train.Saver({"iterator": ex.make_saveable_from_iterator(iterator)})
        return iterator, iterator.get_next(), saver

    iterator, element, saver = build()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert take(session, element, 2) == [(0, 12), (1, 15)]
        path = saver.save(session, str(tmp_path / "position"))
    with tf.Graph().as_default(), tf.Session() as session:
        iterator, element, saver = build()
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert take(session, element) == [(2, 8), (3, 10)]


@pytest.mark.parametrize("known", [True, False])
def test_rejection_resample(known):
    classes = np.repeat([0, 1, 2, 3], [1200, 600, 120, 80])
    np.random.RandomState(1).shuffle(classes)
    initial = (np.bincount(classes) / len(classes)).astype(np.float32)
    target = np.array([0.25, 0.25, 0.25, 0.25], np.float32)

    def build():
        dataset = Dataset.from_tensor_slices((classes, np.arange(len(classes)))).repeat()
        return dataset.apply(
            ex.rejection_resample(lambda c, i: c, target, initial_dist=initial if known else None, seed=7)
        )

    found = elements(build, most=2000)
    counts = np.bincount([c for c, _ in found])
    np.testing.assert_allclose(counts / counts.sum(), target, atol=0.06)
    assert all(classes[i] == c == again for c, (again, i) in found)


def test_rejection_resample_without_rejections():
    half = np.array([0.5, 0.5], np.float32)
    build = lambda: Dataset.range(6).apply(ex.rejection_resample(lambda x: x % 2, half, initial_dist=half))  # noqa: E731
    assert elements(build) == [(x % 2, x) for x in range(6)]


# -- databases --------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path):
    path = str(tmp_path / "data.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (name TEXT, age INTEGER, height REAL)")
        rows = [("Ann", 31, 1.7), ("Bob", 45, 1.8), (None, None, None)]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    connection.close()
    return path


def test_sql(database):
    types = (tf.string, tf.int32, tf.float64, tf.bool)
    query = "SELECT name, age, height, age > 40 FROM people"
    dataset = ex.SqlDataset("sqlite", database, query, types)
    assert dataset.output_types == types and dataset.output_shapes == (tf.TensorShape([]),) * 4
    expected = [(b"Ann", 31, 1.7, False), (b"Bob", 45, 1.8, True), (b"", 0, 0.0, False)]
    assert elements(lambda: ex.SqlDataset("sqlite", database, query, types)) == expected
    assert elements(lambda: ex.SqlDataset("sqlite", database, query, types).repeat(2).skip(4)) == expected[1:]


@pytest.mark.parametrize(
    ("driver", "query", "types", "text"),
    [  # the classes are TensorFlow's
        ("mysql", "SELECT name FROM people", (tf.string,), "not supported by SqlDataset"),
        ("sqlite", "SELECT name FROM nobody", (tf.string,), "no such table"),
        ("sqlite", "SELECT name, age FROM people", (tf.string,), "number of columns"),
        ("sqlite", "SELECT name FROM people", (tf.int64,), "is not int64"),
        ("sqlite", "DELETE FROM people", (tf.string,), "readonly"),
    ],
)
def test_sql_errors(database, driver, query, types, text):
    element = ex.SqlDataset(driver, database, query, types).make_one_shot_iterator().get_next()
    with tf.Session() as session, pytest.raises(tf.errors.OpError, match=text) as caught:
        session.run(element)
    assert caught.type in (tf.errors.InvalidArgumentError, tf.errors.UnknownError)


def test_sql_types():
    with pytest.raises(TypeError, match="complex64"):
        ex.SqlDataset("sqlite", "x", "y", (tf.complex64,))


# -- older names ------------------------------------------------------------------------------------------------------


def test_contrib_data():
    old = tf.contrib.data
    assert elements(lambda: Dataset.range(5).apply(old.batch_and_drop_remainder(2))) == [[0, 1], [2, 3]]
    assert elements(lambda: Dataset.range(5).apply(old.sliding_window_batch(3, stride=2))) == [[0, 1, 2], [2, 3, 4]]
    pairs = lambda: Dataset.range(4).map(lambda x: (x, -x)).apply(old.sliding_window_batch(2))  # noqa: E731
    assert elements(pairs) == [([0, 1], [0, -1]), ([1, 2], [-1, -2]), ([2, 3], [-2, -3])]
    ragged = lambda: Dataset.range(5).map(lambda n: tf.fill([n], n))  # noqa: E731
    padded = elements(lambda: ragged().apply(old.padded_batch_and_drop_remainder(2, [None])))
    assert padded == [[[0], [1]], [[2, 2, 0], [3, 3, 3]]]
    shaped = ragged().apply(old.assert_element_shape([4]))
    assert shaped.output_shapes.as_list() == [4]
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(shaped.make_one_shot_iterator().get_next())
    with pytest.raises(ValueError, match="both"):
        old.sliding_window_batch(3, stride=2, window_shift=1)


def test_specifications():
    assert isinstance(tf.TensorSpec([2], tf.int32), tf.TypeSpec)
    assert tf.SparseTensorSpec([2, 3], tf.string).value_type is tf.SparseTensor
    inner = tf.data.DatasetSpec(tf.TensorSpec([], tf.int64))
    assert Dataset.range(4).window(2).element_spec == inner
    variant = ex.to_variant(Dataset.range(3))
    again = ex.from_variant(variant, tf.TensorSpec([], tf.int64))
    assert again.output_types is tf.int64


def test_options_are_properties():
    options = tf.data.Options()
    options.experimental_stats.latency_all_edges = True
    options.experimental_distribute.auto_shard_policy = ex.AutoShardPolicy.DATA
    assert options.experimental_deterministic is None and hasattr(tf.data.Options, "experimental_threading")
    with pytest.raises(AttributeError, match="Cannot set"):
        options.no_such_option = 1
