"""Padded sequences, pairs of words and windows of series, compared with the numbers of tf_keras."""

import json
import random

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.keras.preprocessing.sequence import (
    TimeseriesGenerator,
    make_sampling_table,
    pad_sequences,
    skipgrams,
)

_RAGGED = [[1], [2, 3], [4, 5, 6], []]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, [[0, 0, 1], [0, 2, 3], [4, 5, 6], [0, 0, 0]]),
        ({"maxlen": 2}, [[0, 1], [2, 3], [5, 6], [0, 0]]),
        ({"maxlen": 2, "truncating": "post"}, [[0, 1], [2, 3], [4, 5], [0, 0]]),
        ({"padding": "post"}, [[1, 0, 0], [2, 3, 0], [4, 5, 6], [0, 0, 0]]),
        (
            {"maxlen": 4, "padding": "post", "value": -1},
            [[1, -1, -1, -1], [2, 3, -1, -1], [4, 5, 6, -1], [-1, -1, -1, -1]],
        ),
        ({"dtype": "float64", "value": 0.5}, [[0.5, 0.5, 1], [0.5, 2, 3], [4, 5, 6], [0.5, 0.5, 0.5]]),
        ({"dtype": object, "value": "x"}, [["x", "x", 1], ["x", 2, 3], [4, 5, 6], ["x", "x", "x"]]),
    ],
)
def test_sequences_are_padded_and_truncated_to_one_length(options, expected):
    padded = pad_sequences(_RAGGED, **options)
    assert padded.dtype == np.dtype(options.get("dtype", "int32"))
    assert padded.tolist() == expected


def test_the_elements_of_padded_sequences_may_be_arrays():
    padded = pad_sequences([[[1, 2]], [[3, 4], [5, 6]], []])
    assert padded.tolist() == [[[0, 0], [1, 2]], [[3, 4], [5, 6]], [[0, 0], [0, 0]]]
    assert pad_sequences(np.array([[1, 2, 3], [4, 5, 6]]), maxlen=2).tolist() == [[2, 3], [5, 6]]


def test_the_type_of_padded_sequences_may_be_one_of_tensorflow():
    assert pad_sequences([[1.7], [2, 3]], dtype=tf.float32).dtype == np.float32
    assert pad_sequences([[1.7], [2.2, 3]]).tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "sequences, options, words",
    [
        ([1, 2], {}, "list of sequences"),
        (5, {}, "list of sequences"),
        ([], {}, "at least one"),
        ([[1]], {"padding": "before"}, "padding"),
        ([[1]], {"truncating": "before"}, "truncating"),
        ([[1]], {"value": "x"}, "not compatible"),
        ([[[1, 2]], [[3], [5]]], {}, "different from expected shape"),
    ],
)
def test_what_cannot_be_padded_is_refused(sequences, options, words):
    with pytest.raises(ValueError, match=words):
        pad_sequences(sequences, **options)


def test_frequent_words_are_kept_with_a_low_probability():
    np.testing.assert_allclose(make_sampling_table(3), [0.00315224787519425, 0.00315224787519425, 0.0054759726939177])
    expected = [0.31522478751942506, 0.31522478751942506, 0.5475972693917698, 0.7415564097374219, 0.9128167456366163]
    np.testing.assert_allclose(make_sampling_table(8, 0.1), [*expected, 1, 1, 1])


@pytest.mark.parametrize(
    "options, couples, labels",
    [
        ({"negative_samples": 0, "window_size": 1}, [[2, 3], [4, 3], [3, 4], [3, 2]], [1, 1, 1, 1]),
        (
            {"categorical": True, "window_size": 1},
            [[3, 1], [3, 2], [3, 4], [2, 4], [3, 1], [4, 3], [2, 3], [4, 3]],
            [[1, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1]],
        ),
        (
            {"sampling_table": [0, 0.1, 0.5, 0.9, 1.0], "window_size": 2},
            [[3, 4], [4, 2], [3, 2], [3, 4], [4, 3], [3, 2], [4, 2], [4, 3]],
            [1, 0, 1, 0, 0, 0, 1, 1],
        ),
        (
            {"negative_samples": 0.5, "window_size": 2, "shuffle": False},
            [[1, 2], [2, 1], [2, 3], [2, 4], [3, 2], [3, 4], [4, 2], [4, 3], [1, 1], [3, 1], [4, 4], [2, 3]],
            [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
        ),
    ],
)
def test_pairs_of_words_are_those_of_keras_for_the_same_random_numbers(options, couples, labels):
    random.seed(3)
    assert skipgrams([1, 0, 2, 3, 4], 5, **options) == (couples, labels)


def test_a_seed_decides_on_the_order_of_pairs():
    random.seed(3)
    couples, labels = skipgrams([1, 0, 2, 3, 4], 5, seed=7, window_size=2)
    assert couples[:6] == [[2, 4], [3, 4], [4, 3], [3, 1], [4, 2], [2, 3]]
    assert labels == [1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0]
    assert skipgrams([0], 5) == ([], [])


_DATA, _TARGETS = np.arange(20).reshape(10, 2), np.arange(10)


@pytest.mark.parametrize(
    "options, count, first, targets",
    [
        ({}, 1, [0, 2, 4], [3, 4, 5, 6, 7, 8, 9]),
        ({"batch_size": 2}, 4, [0, 2, 4], [3, 4]),
        ({"batch_size": 2, "stride": 3}, 2, [0, 2, 4], [3, 6]),
        ({"batch_size": 3, "sampling_rate": 2}, 3, [0, 4], [3, 4, 5]),
        ({"batch_size": 2, "start_index": 2, "end_index": 7}, 2, [4, 6, 8], [5, 6]),
        ({"batch_size": 2, "reverse": True}, 4, [4, 2, 0], [3, 4]),
    ],
)
def test_a_window_comes_with_the_target_that_follows(options, count, first, targets):
    generator = TimeseriesGenerator(_DATA, _TARGETS, 3, **options)
    assert len(generator) == count
    samples, wanted = generator[0]
    assert samples[0, :, 0].tolist() == first
    assert samples.shape == (len(targets), len(first), 2)
    assert wanted.tolist() == targets
    assert sum(len(batch) for batch, _ in generator) == len(
        range(3 + options.get("start_index", 0), options.get("end_index", 9) + 1, options.get("stride", 1))
    )


def test_shuffled_windows_keep_their_targets():
    np.random.seed(2)
    samples, targets = TimeseriesGenerator(_DATA, _TARGETS, 3, shuffle=True, batch_size=50)[0]
    assert samples[:, -1, 0].tolist() == [2 * (target - 1) for target in targets]
    assert len(set(targets.tolist())) == 7


def test_series_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="target for each place"):
        TimeseriesGenerator(_DATA, _TARGETS[1:], 3)
    with pytest.raises(ValueError, match="end_index"):
        TimeseriesGenerator(_DATA, _TARGETS, 10)


def test_a_generator_is_described_as_json():
    described = json.loads(TimeseriesGenerator([1, 2, 3], np.array([4, 5, 6]), 1, batch_size=2).to_json())
    assert described["class_name"] == "TimeseriesGenerator"
    config = described["config"]
    assert json.loads(config["data"]) == [1, 2, 3]
    assert json.loads(config["targets"]) == [4, 5, 6]
    assert (config["start_index"], config["end_index"], config["batch_size"]) == (1, 2, 2)
