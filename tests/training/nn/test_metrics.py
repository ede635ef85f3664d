"""Metrics: values over batches, variables, collections, names and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf


@pytest.fixture(autouse=True)
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _run(session: Any, metric: tuple[Any, Any], *feeds: dict[Any, Any]) -> Any:
    """Feeds batches to a metric; returns its value, which the last update gave already."""
    value, update = metric
    session.run(tf.local_variables_initializer())
    for feed in feeds or ({},):
        last = session.run(update, feed)
    result = session.run(value)
    if np.shape(result) == np.shape(last):
        np.testing.assert_allclose(result, last, rtol=1e-6)
    return result


def test_mean_over_batches(session: Any) -> None:
    x = tf.placeholder(tf.float32)
    feeds: list[dict[Any, Any]] = [{x: [1.0, 2.0]}, {x: [6.0]}, {x: []}]
    metric = tf.metrics.mean(x)
    session.run(tf.local_variables_initializer())
    assert session.run(metric[0]) == 0
    assert _run(session, metric, *feeds) == 3
    w = tf.placeholder(tf.float32)
    weighted = tf.metrics.mean(x, weights=w)
    assert _run(session, weighted, {x: [1.0, 2.0], w: [1.0, 3.0]}, {x: [[4.0]], w: 2.0}) == 15 / 6


def test_variables_names_and_collections() -> None:
    value, update = tf.metrics.accuracy([1], [1], metrics_collections="values", updates_collections=["updates"])
    tf.metrics.accuracy([1], [1], name="mine")
    tf.metrics.precision([True], [True])
    names = [variable.op.name for variable in tf.local_variables()]
    assert names == [
        *("accuracy/total", "accuracy/count", "mine/total", "mine/count"),
        *("precision/true_positives/count", "precision/false_positives/count"),
    ]
    assert tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) == tf.local_variables()
    assert not tf.global_variables() and not tf.trainable_variables()
    assert (value.op.name, update.op.name) == ("accuracy/value", "accuracy/update_op")
    assert tf.get_collection("values") == [value] and tf.get_collection("updates") == [update]


def test_accuracy_of_any_type(session: Any) -> None:
    assert _run(session, tf.metrics.accuracy(["a", "b"], ["a", "c"])) == 0.5
    assert _run(session, tf.metrics.accuracy([[1], [2]], [1.0, 2.0], weights=[[1.0], [0.0]])) == 1
    with pytest.raises(ValueError, match="incompatible"):
        tf.metrics.accuracy([1, 2], [1, 2, 3])


def test_errors_of_numbers(session: Any) -> None:
    labels, predictions = np.array([[1.0, 2.0]], np.float32), np.array([[3.0, 1.0]], np.float32)
    assert _run(session, tf.metrics.mean_absolute_error(labels, predictions)) == 1.5
    assert _run(session, tf.metrics.mean_squared_error(labels, predictions)) == 2.5
    np.testing.assert_allclose(_run(session, tf.metrics.root_mean_squared_error(labels, predictions)), 2.5**0.5)
    assert _run(session, tf.metrics.mean_relative_error(labels, predictions, [[4.0, 0.0]])) == 0.25
    assert _run(session, tf.metrics.mean_cosine_distance(labels, predictions, 1)) == -4
    assert _run(session, tf.metrics.percentage_below([1.0, 2.0, 3.0], 2.5)) == pytest.approx(2 / 3)
    np.testing.assert_array_equal(_run(session, tf.metrics.mean_tensor(labels), {}, {}), labels)


_TRUE, _SAID = np.array([1, 1, 0, 0, 1], bool), np.array([1, 0, 1, 0, 1], bool)


def test_true_and_false_positives(session: Any) -> None:
    for name, expected in (
        ("true_positives", 2),
        ("true_negatives", 1),
        ("false_positives", 1),
        ("false_negatives", 1),
        ("precision", 2 / 3),
        ("recall", 2 / 3),
    ):
        assert _run(session, getattr(tf.metrics, name)(_TRUE, _SAID)) == pytest.approx(expected)
    assert _run(session, tf.metrics.true_positives(_TRUE, _SAID, weights=[2.0, 0, 0, 0, 5.0])) == 7
    assert _run(session, tf.metrics.precision([0], [0])) == 0


def test_thresholds(session: Any) -> None:
    scores = np.array([0.9, 0.4, 0.6, 0.1, 0.8], np.float32)
    limits = [0.0, 0.5, 1.0]
    counts = {"true_positives": [3, 2, 0], "true_negatives": [0, 1, 2]}
    counts |= {"false_positives": [2, 1, 0], "false_negatives": [0, 1, 3]}
    for name, expected in counts.items():
        metric = getattr(tf.metrics, f"{name}_at_thresholds")(_TRUE, scores, limits)
        np.testing.assert_array_equal(_run(session, metric), expected)
    precision = _run(session, tf.metrics.precision_at_thresholds(_TRUE, scores, limits))
    np.testing.assert_allclose(precision, [3 / 5, 2 / 3, 0], rtol=1e-5)
    recall = _run(session, tf.metrics.recall_at_thresholds(_TRUE, scores, limits))
    np.testing.assert_allclose(recall, [1, 2 / 3, 0], rtol=1e-5)
    assert _run(session, tf.metrics.auc(_TRUE, scores)) == pytest.approx(5 / 6, abs=1e-5)
    assert _run(session, tf.metrics.sensitivity_at_specificity(_TRUE, scores, 1.0)) == pytest.approx(2 / 3, abs=1e-5)
    assert _run(session, tf.metrics.specificity_at_sensitivity(_TRUE, scores, 1.0)) == pytest.approx(0.5, abs=1e-5)


def test_thresholds_reject_invalid_arguments(session: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    metric = tf.metrics.auc([True, False], x)
    session.run(tf.local_variables_initializer())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[0, 1\]"):
        session.run(metric[1], {x: [0.5, 1.5]})
    with pytest.raises(ValueError, match="curve"):
        tf.metrics.auc([True], [0.5], curve="XY")
    with pytest.raises(ValueError, match="summation_method"):
        tf.metrics.auc([True], [0.5], summation_method="guessing")
    with pytest.raises(ValueError, match="specificity"):
        tf.metrics.sensitivity_at_specificity([True], [0.5], 1.5)


def test_classes(session: Any) -> None:
    labels, predictions = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    value, update = tf.metrics.mean_iou(labels, predictions, num_classes=3)
    assert _run(session, (value, update)) == pytest.approx((1 / 2 + 2 / 3) / 2)
    np.testing.assert_array_equal(session.run(update), 2 * np.array([[1, 1, 0], [0, 2, 0], [0, 0, 0]]))
    value, update = tf.metrics.mean_per_class_accuracy(labels, predictions, num_classes=2)
    assert _run(session, (value, update)) == 0.75
    np.testing.assert_array_equal(session.run(update), [0.5, 1.0])


_SCORES = np.array([[0.1, 0.3, 0.2, 0.4], [0.5, 0.1, 0.3, 0.2]], np.float32)  # best first: 3, 1, 2, 0 and 0, 2, 3, 1


def test_ranking(session: Any) -> None:
    labels = np.array([[3, 0], [2, 1]])
    assert _run(session, tf.metrics.precision_at_k(labels, _SCORES, 2)) == 0.5
    assert _run(session, tf.metrics.recall_at_k(labels, _SCORES, 3)) == 0.5
    assert _run(session, tf.metrics.recall_at_k([3, 3], _SCORES, 1)) == 0.5
    assert _run(session, tf.metrics.precision_at_k(labels, _SCORES, 2, class_id=2)) == 1
    assert _run(session, tf.metrics.precision_at_top_k(labels, [[3, 0], [0, 2]])) == 0.75
    assert _run(session, tf.metrics.recall_at_top_k(labels, [[3], [0]], weights=[3.0, 1.0])) == 3 / 8
    assert _run(session, tf.metrics.sparse_precision_at_k(labels, _SCORES, 2)) == 0.5
    expected = np.mean([(1 / 1 + 2 / 4) / 2, (1 / 2 + 2 / 4) / 2])
    assert _run(session, tf.metrics.average_precision_at_k(labels, _SCORES, 4)) == expected
    assert _run(session, tf.metrics.sparse_average_precision_at_k(labels, _SCORES, 4, weights=2.0)) == expected


def test_ranking_of_sparse_labels(session: Any) -> None:
    labels = tf.SparseTensor(np.array([[0, 0], [1, 0], [1, 1]]), np.array([3, 2, 1]), np.array([2, 2]))
    assert _run(session, tf.metrics.precision_at_k(labels, _SCORES, 2)) == 0.5
    assert _run(session, tf.metrics.recall_at_k(labels, _SCORES, 2)) == pytest.approx(2 / 3)
    assert np.isnan(_run(session, tf.metrics.recall_at_k(labels, _SCORES, 2, class_id=0)))
    expected = np.mean([1, (1 / 2 + 2 / 4) / 2])
    assert _run(session, tf.metrics.average_precision_at_k(labels, _SCORES, 4)) == expected


def test_ranking_rejects_invalid_arguments() -> None:
    with pytest.raises(ValueError, match="k"):
        tf.metrics.average_precision_at_k([[1]], _SCORES[:1], 0)
    with pytest.raises(ValueError, match="labels shape"):
        tf.metrics.precision_at_k(np.zeros((2, 2, 2), np.int64), _SCORES, 1)


def test_shapes_known_only_in_the_step(session: Any) -> None:
    labels, predictions, weights = (tf.placeholder(tf.float32) for _ in range(3))
    metric = tf.metrics.mean_squared_error(labels, predictions, weights)
    columns = {labels: [[1.0], [2.0]], predictions: [2.0, 4.0], weights: [[1.0], [3.0]]}
    rows = {labels: [1.0, 2.0], predictions: [[2.0], [4.0]], weights: [1.0, 3.0]}
    assert _run(session, metric, columns, rows) == 13 / 4
    assert _run(session, metric, {labels: [[1.0, 2.0]], predictions: [[1.0, 4.0]], weights: [1.0]}) == 2
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(metric[1], {labels: [1.0, 2.0], predictions: [2.0, 4.0], weights: [1.0, 2.0, 3.0]})


def test_older_names_take_predictions_first(session: Any) -> None:
    scores = np.array([0.9, 0.4, 0.6, 0.1, 0.8], np.float32)
    names_to_values, names_to_updates = tf.contrib.metrics.aggregate_metric_map(
        {
            "precision": tf.contrib.metrics.streaming_precision([1, 1], [1, 0]),
            "recall": tf.contrib.metrics.streaming_recall([1, 1], [1, 0]),
            "auc": tf.contrib.metrics.streaming_auc(scores, _TRUE, num_thresholds=100),
            "best": tf.contrib.metrics.streaming_recall_at_k(_SCORES, [3, 3], 1),
            "mean": tf.contrib.metrics.streaming_mean([1.0, 2.0]),
        }
    )
    session.run(tf.local_variables_initializer())
    session.run(names_to_updates)
    expected = {"precision": 0.5, "recall": 1.0, "auc": 5 / 6, "best": 0.5, "mean": 1.5}
    assert session.run(names_to_values) == pytest.approx(expected, abs=1e-5)
    assert tf.contrib.metrics.aggregate_metrics((1, 2), (3, 4)) == ([1, 3], [2, 4])
