"""tf.contrib.losses.metric_learning, against plain loops over the examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

metric = tf.contrib.losses.metric_learning
RNG = np.random.default_rng(8)
LABELS = np.array([0, 1, 2, 0, 1, 0])
X, Y = (RNG.normal(size=(6, 4)).astype(np.float32) for _ in range(2))
DISTANCES = np.sqrt(((X[:, None] - X[None]) ** 2).sum(-1))
PAIRS = [(i, j) for i in range(6) for j in range(6) if i != j and LABELS[i] == LABELS[j]]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def value_and_gradient(loss: Any, x: Any) -> tuple[Any, Any]:
    with tf.Session() as session:
        return session.run([loss, tf.gradients(loss, x)[0]])


@pytest.mark.parametrize("shape", [[6], [6, 1]])
def test_semihard_triplets(shape: list[int]) -> None:
    x = tf.constant(X)
    loss, gradient = value_and_gradient(metric.triplet_semihard_loss(LABELS.reshape(shape), x, 0.7), x)
    squares, wanted = DISTANCES**2, 0.0
    for a, p in PAIRS:
        negatives = squares[a][LABELS[a] != LABELS]
        farther = negatives[negatives > squares[a, p]]
        chosen = farther.min() if len(farther) else negatives.max()
        wanted += max(0.7 + squares[a, p] - chosen, 0) / len(PAIRS)
    np.testing.assert_allclose(loss, wanted, rtol=1e-4)
    assert np.isfinite(gradient).all() and gradient.any()


def test_contrastive() -> None:
    x = tf.constant(X)
    same = np.array([1, 0, 1, 0, 0, 1])
    loss, gradient = value_and_gradient(metric.contrastive_loss(same, x, Y, margin=3.0), x)
    distances = np.linalg.norm(X - Y, axis=1)
    wanted = np.where(same, distances**2, np.maximum(3.0 - distances, 0) ** 2).mean()
    np.testing.assert_allclose(loss, wanted, rtol=1e-5)
    assert np.isfinite(gradient).all()


def npairs(targets: Any) -> Any:
    logits = X @ Y.T
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    entropy = -(targets / targets.sum(1, keepdims=True) * logs).sum(1).mean()
    return entropy + 0.25 * 0.01 * ((X**2).sum(1).mean() + (Y**2).sum(1).mean())


def test_npairs(capfd: Any) -> None:
    x = tf.constant(X)
    loss, gradient = value_and_gradient(metric.npairs_loss(LABELS, x, Y, reg_lambda=0.01, print_losses=True), x)
    np.testing.assert_allclose(loss, npairs((LABELS[:, None] == LABELS).astype(float)), rtol=1e-5)
    assert gradient.any() and "l2loss" in capfd.readouterr().err


def test_npairs_with_several_labels() -> None:
    dense = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [1, 0, 0], [0, 1, 1], [1, 1, 1]])
    sparse = [tf.SparseTensor(np.argwhere(row[None]), np.ones(row.sum(), np.int64), [1, 3]) for row in dense]
    x = tf.constant(X)
    loss, _ = value_and_gradient(metric.npairs_loss_multilabel(sparse, x, Y, reg_lambda=0.01), x)
    np.testing.assert_allclose(loss, npairs((dense @ dense.T).astype(float)), rtol=1e-5)


def test_lifted_structure() -> None:
    x = tf.constant(X)
    loss, gradient = value_and_gradient(metric.lifted_struct_loss(LABELS, x, margin=1.5), x)
    wanted = 0.0
    for i, j in PAIRS:
        negatives = [np.exp(1.5 - DISTANCES[k, n]) for k in (i, j) for n in range(6) if LABELS[n] != LABELS[k]]
        wanted += max(np.log(sum(negatives)) + DISTANCES[i, j], 0) ** 2 / (2 * len(PAIRS))
    np.testing.assert_allclose(loss, wanted, rtol=1e-4)
    assert np.isfinite(gradient).all()
