import numpy as np
import pytest

from thalweg._src.base import errors
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.bincount import (
    bincount,
    bincount_op,
    confusion_matrix,
    dense_bincount_op,
    histogram_fixed_width,
    histogram_fixed_width_bins,
    remove_squeezable_dimensions,
)
from thalweg._src.graph.ops.constants import placeholder
from thalweg._src.runtime.session.session import Session


def run(value, feeds=None):
    with Session() as session:
        return session.run(value, feeds)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_histogram(dtype: str) -> None:
    values = np.array([[-1, 0, 1, 2], [5, 15, 3, 4]], dtype)
    counts = histogram_fixed_width(values, np.array([0, 5], dtype), 5)
    assert counts.shape == (5,) and run(counts).tolist() == [2, 1, 1, 1, 3]
    places = histogram_fixed_width_bins(values, np.array([0, 5], dtype), 5)
    assert run(places).tolist() == [[0, 0, 1, 2], [4, 4, 3, 4]]


def test_histogram_of_empty_input_and_invalid_ranges() -> None:
    assert run(histogram_fixed_width(np.zeros(0, np.float32), [0.0, 1.0], 3, dtype="int64")).dtype == np.int64
    with pytest.raises(errors.InvalidArgumentError, match="value_range"):
        run(histogram_fixed_width([1.0], [1.0, 1.0], 3))
    with pytest.raises(ValueError, match="nbins is 0"):
        histogram_fixed_width([1.0], [0.0, 1.0], 0)


def test_bincount() -> None:
    arr = [1, 2, 2, 5]
    assert run(bincount(arr)).tolist() == [0, 1, 2, 0, 0, 1]
    assert run(bincount(arr, minlength=8)).tolist() == [0, 1, 2, 0, 0, 1, 0, 0]
    assert run(bincount(arr, maxlength=3)).tolist() == [0, 1, 2]
    assert run(bincount(arr, weights=[1.0, 2.0, 3.0, 4.0])).tolist() == [0, 1, 5, 0, 0, 4]
    assert run(bincount([], dtype="float32")).tolist() == []
    given = placeholder("int32", [None])
    assert bincount(arr).shape.as_list() == [6] and bincount(given, minlength=4, maxlength=4).shape.as_list() == [4]
    assert bincount(given, minlength=4).shape.as_list() == [None]


@pytest.mark.cpu_only(reason="a GPU does not check what is out of range")
def test_counted_values_must_not_be_negative() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="not be negative"):
        run(bincount([1, -1], minlength=3))


def test_bincount_ops() -> None:
    with Graph().as_default(), Session() as session:
        values, weights = placeholder("int32"), placeholder("float32")
        counts = bincount_op(values, 3, weights)
        assert counts.shape == (3,)
        feeds = {values: [[0, 2], [2, 9]], weights: [[1, 2], [3, 4]]}
        assert session.run(counts, feeds).tolist() == [1, 0, 5]
        rows = dense_bincount_op(values, 3, np.zeros(0, np.int64))
        assert session.run(rows, feeds).tolist() == [[1, 0, 1], [0, 0, 1]]
        seen = dense_bincount_op(values, 3, np.zeros(0, np.int64), binary_output=True)
        assert session.run(seen, {values: [2, 2, 1]}).tolist() == [0, 1, 1]
        with pytest.raises(errors.InvalidArgumentError, match="weights have shape"):
            session.run(counts, {values: [0, 1], weights: [1]})


def test_confusion_matrix() -> None:
    labels, predictions = [0, 1, 2, 2], [0, 2, 2, 1]
    assert run(confusion_matrix(labels, predictions)).tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 1]]
    weighted = confusion_matrix(labels, predictions, 4, "float32", weights=[1.0, 2.0, 3.0, 4.0])
    assert weighted.shape == (4, 4)
    assert run(weighted)[:3, :3].tolist() == [[1, 0, 0], [0, 0, 2], [0, 4, 3]]
    assert run(confusion_matrix(np.array(labels)[:, None], predictions)).shape == (3, 3)
    with pytest.raises(errors.InvalidArgumentError, match="`labels` out of bound"):
        run(confusion_matrix([0, 3], [0, 1], num_classes=3))
    with pytest.raises(errors.InvalidArgumentError, match="`predictions` contains negative values"):
        run(confusion_matrix(placeholder_with(labels := [0, 1]), placeholder_with([0, -1])))
    assert labels == [0, 1]


def placeholder_with(values):
    from thalweg._src.graph.ops.constants import placeholder_with_default

    return placeholder_with_default(np.array(values), [None])


def test_labels_with_an_extra_dimension() -> None:
    labels, predictions = remove_squeezable_dimensions(np.zeros((3, 2)), np.zeros((3, 2, 1)))
    assert labels.shape == predictions.shape == (3, 2)
    labels, predictions = remove_squeezable_dimensions(np.zeros((3, 1)), np.zeros((3, 7)), expected_rank_diff=1)
    assert labels.shape == (3,) and predictions.shape == (3, 7)


def test_weights_of_a_wrong_shape() -> None:
    values, weights = np.array([[0, 2, 2]], np.int32), np.array([0.5, 1.0, 2.0], np.float32)
    assert run(bincount_op(values, 3, weights)).tolist() == [0.5, 0, 3]
    with pytest.raises(ValueError, match="weights have shape"):
        dense_bincount_op(values, 3, weights)
