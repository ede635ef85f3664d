"""Tables and strings return in onnxruntime what they do in a session."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.onnx_export.running import case, check, parameters, types

WORDS = np.array([["valley", "sea"], ["slope", "river"]])
NUMBERS = np.array([[2, 0], [7, 1]])


def _table(keys, values, default):
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), default)


def _numbers(words):
    table = _table(["river", "valley", "slope"], tf.constant([0, 1, 2], tf.int64), -1)
    return tf.gather([1.0, 2.0, 3.0, 0.0], table.lookup(words) % 4)


def _words(numbers):
    return tf.identity(_table(tf.constant([0, 1, 2], tf.int64), ["river", "valley", "slope"], "?").lookup(numbers), "w")


CASES = [
    case("LookupTableFindV2", _numbers, WORDS),
    case("LookupTableFindV2", _words, NUMBERS),
    case("HashTableV2", lambda x: _table([4, 5], [2.0, 3.0], -1.0).lookup(x), np.array([5, 6], np.int32)),
    case(
        "LookupTableFindV2",
        lambda x: _table(tf.constant([4, 5], tf.int64), tf.constant([1, 2], tf.int64), 0).lookup(x),
        np.array([5, 6]),
    ),
    case(
        "LookupTableSizeV2",
        lambda x: _table(["a", "b"], tf.constant([1, 2], tf.int64), 0).size() + x,
        np.array([5, 6]),
    ),
    case("StringLower", tf.strings.lower, np.array([["River", "SEA"]])),
    case("StringUpper", tf.strings.upper, np.array([["River", "sea"]])),
]


@pytest.mark.parametrize(("each", "mode"), **parameters(CASES))
def test_tables_and_strings_return_the_same_values(each, mode):
    check(each, mode)


def test_a_table_is_a_label_encoder():
    assert "LabelEncoder" in types(check(CASES[0]))
