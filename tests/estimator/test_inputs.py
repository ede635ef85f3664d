"""Input functions of arrays."""

import sys
from types import ModuleType

import numpy as np
import pytest

import thalweg as tf

A, B = np.arange(5, dtype=np.int32), np.arange(10, dtype=np.float64).reshape(5, 2)
numpy_input_fn, pandas_input_fn = tf.estimator.inputs.numpy_input_fn, tf.estimator.inputs.pandas_input_fn


def batches(input_fn):
    """Returns all batches of an input function."""
    fetches = input_fn()
    found = []
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(fetches))
    return found


def test_arrays_give_batches_of_features_and_labels():
    found = batches(numpy_input_fn({"b": B, "a": A}, A * 2, batch_size=2, shuffle=False))
    assert [list(features) for features, _ in found] == [["a", "b"]] * 3
    np.testing.assert_array_equal(np.concatenate([features["b"] for features, _ in found]), B)
    np.testing.assert_array_equal(np.concatenate([labels for _, labels in found]), A * 2)
    assert [len(labels) for _, labels in found] == [2, 2, 1]


def test_batches_continue_over_epochs():
    found = batches(numpy_input_fn(A, batch_size=4, num_epochs=2, shuffle=False))
    assert [list(batch) for batch in found] == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4]]


def test_labels_may_be_a_dictionary():
    ((features, labels),) = batches(numpy_input_fn(A, {"z": A, "y": B}, shuffle=False))
    np.testing.assert_array_equal(features, A)
    assert list(labels) == ["y", "z"]
    np.testing.assert_array_equal(labels["y"], B)


def test_shapes_are_known_except_for_the_batch():
    features, labels = numpy_input_fn({"a": A, "b": B}, A, shuffle=False)()
    assert features["b"].shape.as_list() == [None, 2] and features["b"].dtype == tf.float64
    assert labels.shape.as_list() == [None]


def test_strings_are_a_feature():
    (found,) = batches(numpy_input_fn({"s": np.array(["a", "b"])}, shuffle=False))
    assert list(found["s"]) == [b"a", b"b"]


def test_shuffled_rows_stay_together():
    tf.set_random_seed(1)
    ((features, labels),) = batches(numpy_input_fn({"a": A}, A * 2, shuffle=True))
    assert sorted(features["a"]) == list(A)
    np.testing.assert_array_equal(labels, features["a"] * 2)


@pytest.mark.parametrize(
    ("x", "y", "error", "words"),
    [
        ([1, 2], None, TypeError, "x must be a dict or array"),
        ({}, None, ValueError, "empty"),
        ({"a": [1]}, None, TypeError, "must be an array"),
        (A, {}, ValueError, "empty"),
        (A, {"a": [1]}, TypeError, "must be an array"),
        (A, [1], TypeError, "must be an array"),
        ({"a": A, "b": B[:2]}, None, ValueError, "mismatched"),
        (A, A[:2], ValueError, "mismatched"),
    ],
)
def test_wrong_arrays_are_refused(x, y, error, words):
    with pytest.raises(error, match=words):
        numpy_input_fn(x, y, shuffle=False)()


def test_shuffle_must_be_given():
    with pytest.raises(ValueError, match="shuffle"):
        numpy_input_fn(A)


@pytest.fixture
def pandas(monkeypatch):
    """Stands for the package: what the function uses of a DataFrame and a Series."""

    class Series:
        def __init__(self, values, index=None):
            self.values = np.asarray(values)
            self.index = np.arange(len(self.values)) if index is None else np.asarray(index)

    class DataFrame(dict):
        @property
        def index(self):
            return next(iter(self.values())).index

    module = ModuleType("pandas")
    module.Series, module.DataFrame = Series, DataFrame
    monkeypatch.setitem(sys.modules, "pandas", module)
    return module


def test_a_table_gives_a_feature_for_each_column(pandas):
    table = pandas.DataFrame(a=pandas.Series(A), b=pandas.Series(A * 3))
    (features,) = batches(pandas_input_fn(table, shuffle=False))
    np.testing.assert_array_equal(features["b"], A * 3)
    ((_, labels),) = batches(pandas_input_fn(table, pandas.Series(A * 2), shuffle=False))
    np.testing.assert_array_equal(labels, A * 2)
    ((_, labels),) = batches(pandas_input_fn(table, pandas.DataFrame(z=pandas.Series(A)), shuffle=False))
    np.testing.assert_array_equal(labels["z"], A)


def test_wrong_tables_are_refused(pandas):
    table = pandas.DataFrame(target=pandas.Series(A))
    with pytest.raises(TypeError, match="DataFrame"):
        pandas_input_fn({"a": A}, shuffle=False)
    with pytest.raises(ValueError, match="shuffle"):
        pandas_input_fn(table)
    with pytest.raises(ValueError, match="target"):
        pandas_input_fn(table, pandas.Series(A), shuffle=False)
    with pytest.raises(ValueError, match="mismatched"):
        pandas_input_fn(table, pandas.Series(A, index=A + 1), shuffle=False, target_column="other")


def test_without_pandas_nothing_is_a_table(monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    with pytest.raises(TypeError, match="DataFrame"):
        pandas_input_fn({"a": A}, shuffle=False)
