"""tf.contrib.nn and tf.contrib.signal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thalweg as tf

nn = tf.contrib.nn
RNG = np.random.default_rng(4)
W, B = RNG.normal(size=(20, 3)).astype(np.float32), RNG.normal(size=20).astype(np.float32)
X, LABELS = RNG.normal(size=(4, 3)).astype(np.float32), np.array([3, 0, 17, 5])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(2)
        yield graph


def run(*fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = tf.random_normal([200, 500])
    y, same = run(nn.alpha_dropout(x, 0.8), nn.alpha_dropout(x, 1))
    assert abs(y.mean()) < 0.02 and abs(y.var() - 1) < 0.03
    values, counts = np.unique(y.round(4), return_counts=True)
    assert abs(counts.max() / y.size - 0.2) < 0.01 and values[counts.argmax()] < -1
    assert same.shape == (200, 500)
    (rows,) = run(nn.alpha_dropout(tf.ones([50, 4]), 0.5, noise_shape=[50, 1]))
    assert (rows == rows[:, :1]).all() and len(np.unique(rows)) == 2
    with pytest.raises(ValueError, match="keep_prob is 0"):
        nn.alpha_dropout(x, 0)


def test_scaled_softplus() -> None:
    x = np.array([-3.0, 0.0, 2.0, 50.0], np.float32)
    plain, clipped = run(nn.scaled_softplus(x, 0.5), nn.scaled_softplus(x, 0.5, clip=6))
    np.testing.assert_allclose(plain, 0.5 * np.logaddexp(0, x / 0.5), rtol=1e-5)
    np.testing.assert_allclose(clipped, np.minimum(plain, 6), rtol=1e-6)


def test_losses_with_logits_first() -> None:
    logits, classes = tf.constant(X), tf.constant([1, 0, 2, 1])
    hot = tf.one_hot(classes, 3)
    found = run(
        nn.deprecated_flipped_softmax_cross_entropy_with_logits(logits, hot),
        nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, classes),
        nn.deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, hot),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits),
        tf.nn.sigmoid_cross_entropy_with_logits(labels=hot, logits=logits),
    )
    np.testing.assert_allclose(found[0], found[3], rtol=1e-6)
    np.testing.assert_allclose(found[1], found[3], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[4], rtol=1e-6)


@pytest.mark.parametrize("shape", [[4], [4, 1]])
def test_sampled_sparse_softmax_is_the_loss_over_true_and_sampled_classes(shape: list[int]) -> None:
    sampled = (np.array([1, 3, 9]), np.full([4, 1], 0.4, np.float32), np.array([0.3, 0.5, 0.2], np.float32))
    loss = nn.sampled_sparse_softmax_loss(W, B, LABELS.reshape(shape), X, 3, 20, sampled_values=sampled)
    same = tf.nn.sampled_softmax_loss(W, B, LABELS.reshape(4, 1), X, 3, 20, sampled_values=sampled)
    first, second = run(loss, same)
    np.testing.assert_allclose(first, second, rtol=1e-5)
    assert run(nn.sampled_sparse_softmax_loss(W, B, LABELS, X, 5, 20))[0].shape == (4,)


def test_rank_sampled_softmax_uses_the_best_of_the_sample() -> None:
    classes, expected = np.array([1, 3, 9, 12, 6]), np.array([0.3, 0.5, 0.2, 0.4, 0.1], np.float32)
    true_expected = np.full([4, 1], 0.4, np.float32)
    labels = LABELS.reshape(4, 1)
    loss = nn.rank_sampled_softmax_loss(
        W, B, labels, X, 5, 2, 20, 1, (classes, true_expected, expected), 0.7, True, "mod"
    )
    scores = np.logaddexp.reduce((X @ W[classes].T + B[classes] - np.log(expected)) / 0.7, axis=0)
    best = np.argsort(-scores)[:2]
    wanted = tf.nn.sampled_softmax_loss(
        W, B, labels, X, 2, 20, sampled_values=(classes[best], true_expected, expected[best])
    )
    first, second = run(loss, wanted)
    np.testing.assert_allclose(first, second, rtol=1e-5)
    with pytest.raises(ValueError, match="num_resampled is 6"):
        nn.rank_sampled_softmax_loss(W, B, labels, X, 5, 6, 20, 1, None, 1.0, True, "mod")


def test_names_of_other_namespaces() -> None:
    assert tf.contrib.signal.stft is tf.signal.stft and tf.contrib.signal.hann_window is tf.signal.hann_window
    assert nn.conv1d_transpose is tf.nn.conv1d_transpose
    assert run(nn.nth_element(np.array([5.0, 1.0, 3.0]), 1)) == (3.0,)
