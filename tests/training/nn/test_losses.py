"""Losses: values, weights, reductions, collections, names and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

_LABELS = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]], np.float32)
_PREDICTIONS = np.array([[0.9, 0.2, 0.4], [0.1, 0.6, 0.8]], np.float32)
_WEIGHTS = np.array([[2.0], [0.0]], np.float32)


@pytest.fixture(autouse=True)
def session() -> Any:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


_EACH = {
    "absolute_difference": abs(_PREDICTIONS - _LABELS),
    "hinge_loss": np.maximum(0, 1 - (2 * _LABELS - 1) * _PREDICTIONS),
    "huber_loss": 0.5 * (_PREDICTIONS - _LABELS) ** 2,
    "log_loss": -_LABELS * np.log(_PREDICTIONS + 1e-7) - (1 - _LABELS) * np.log(1 - _PREDICTIONS + 1e-7),
    "mean_squared_error": (_PREDICTIONS - _LABELS) ** 2,
    "sigmoid_cross_entropy": np.log1p(np.exp(_PREDICTIONS)) - _LABELS * _PREDICTIONS,
}


@pytest.mark.parametrize("name", _EACH)
def test_values_and_reductions(session: Any, name: str) -> None:
    each, function = _EACH[name], getattr(tf.losses, name)
    np.testing.assert_allclose(session.run(function(_LABELS, _PREDICTIONS)), each.mean(), rtol=1e-5)
    weighted = each * _WEIGHTS
    for reduction, expected in (
        (tf.losses.Reduction.NONE, weighted),
        (tf.losses.Reduction.SUM, weighted.sum()),
        (tf.losses.Reduction.MEAN, weighted.sum() / 6),
        (tf.losses.Reduction.SUM_OVER_BATCH_SIZE, weighted.sum() / 6),
        (tf.losses.Reduction.SUM_OVER_NONZERO_WEIGHTS, weighted.sum() / 3),
    ):
        loss = function(_LABELS, _PREDICTIONS, weights=_WEIGHTS, reduction=reduction)
        np.testing.assert_allclose(session.run(loss), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="Invalid Reduction Key"):
        function(_LABELS, _PREDICTIONS, reduction="mean")


def test_losses_of_rows(session: Any) -> None:
    logits = np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]], np.float32)
    onehot, classes = np.array([[0, 0, 1], [1, 0, 0]]), np.array([2, 0])
    entropy = np.log(np.exp(logits).sum(1)) - logits[[0, 1], classes]
    np.testing.assert_allclose(session.run(tf.losses.softmax_cross_entropy(onehot, logits)), entropy.mean(), rtol=1e-5)
    for labels in (classes, classes[:, None]):
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits, weights=[[0.0], [2.0]])
        np.testing.assert_allclose(session.run(loss), 2 * entropy[1], rtol=1e-5)
    distance = tf.losses.cosine_distance(logits[:, :1] / 3, logits[:, 1:2] / 3, axis=1)
    np.testing.assert_allclose(session.run(distance), 1 - np.mean([2 / 9, 1 / 9]), rtol=1e-5)
    pairs = [(a - b) ** 2 for row in _PREDICTIONS - _LABELS for i, a in enumerate(row) for b in row[i + 1 :]]
    loss = tf.losses.mean_pairwise_squared_error(_LABELS, _PREDICTIONS)
    np.testing.assert_allclose(session.run(loss), np.sum(pairs) / 3, rtol=1e-5)


def test_zero_weights_give_zero_loss(session: Any) -> None:
    assert session.run(tf.losses.mean_squared_error(_LABELS, _PREDICTIONS, weights=0.0)) == 0
    assert session.run(tf.losses.mean_squared_error(np.zeros((0, 3)), np.zeros((0, 3)))) == 0


def test_collections_and_names(session: Any) -> None:
    with tf.name_scope("outer"):
        first = tf.losses.mean_squared_error([1.0], [3.0])
    second = tf.losses.absolute_difference([1.0], [3.0], scope="mine")
    tf.losses.hinge_loss([1.0], [0.5], loss_collection=None)
    tf.losses.add_loss(tf.constant(0.5), loss_collection="other")
    assert (first.op.name, second.op.name) == ("outer/mean_squared_error/value", "mine/value")
    assert tf.losses.get_losses() == [first, second]
    assert tf.losses.get_losses(scope="outer") == [first]
    assert len(tf.losses.get_losses(loss_collection="other")) == 1
    assert session.run(tf.losses.get_regularization_loss()) == 0
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(10.0))
    assert session.run(tf.losses.get_total_loss()) == 16
    assert session.run(tf.losses.get_total_loss(add_regularization_losses=False, name="plain")) == 6
    assert tf.losses.get_regularization_loss().op.name == "total_regularization_loss"


def test_dtype_of_losses_is_preserved(session: Any) -> None:
    loss = tf.losses.compute_weighted_loss(tf.constant([1.0, 3.0], tf.float64), weights=[1, 0])
    assert loss.dtype is tf.float64 and session.run(loss) == 1


@pytest.mark.parametrize("weights", [np.ones(2), np.ones((3, 3)), np.ones((2, 2)), np.ones((2, 3, 1))])
def test_incompatible_weights(session: Any, weights: np.ndarray) -> None:
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        tf.losses.mean_squared_error(_LABELS, _PREDICTIONS, weights=weights)
    unknown = tf.placeholder(tf.float32)
    loss = tf.losses.mean_squared_error(_LABELS, _PREDICTIONS, weights=unknown)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(loss, {unknown: weights})
    assert session.run(loss, {unknown: 2.0}) > 0


def test_shapes_and_missing_arguments() -> None:
    with pytest.raises(ValueError, match="incompatible"):
        tf.losses.mean_squared_error(_LABELS, _PREDICTIONS[:, :2])
    with pytest.raises(ValueError, match="labels"):
        tf.losses.huber_loss(None, _PREDICTIONS)
    with pytest.raises(ValueError, match="axis"):
        tf.losses.cosine_distance(_LABELS, _PREDICTIONS)
    with pytest.raises(ValueError, match="both"):
        tf.losses.cosine_distance(_LABELS, _PREDICTIONS, axis=1, dim=1)


def test_training_on_a_loss(session: Any) -> None:
    w = tf.Variable(np.zeros((3, 1), np.float32))
    x = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    tf.losses.mean_squared_error(y, tf.matmul(tf.constant(x), w))
    step = tf.train.GradientDescentOptimizer(0.3).minimize(tf.losses.get_total_loss())
    session.run(tf.global_variables_initializer())
    for _ in range(100):
        session.run(step)
    np.testing.assert_allclose(session.run(w).ravel(), [1.0, -2.0, 0.5], atol=1e-3)
