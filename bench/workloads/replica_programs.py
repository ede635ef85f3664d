"""Training programs of replicas: models, and the three ways to update them; `tf` is Thalweg or TensorFlow."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from workloads import data

DIGITS_SIZES = (64, 128, 10)
LANGUAGE_LETTERS = "abcdefghijklmnopqrstuvwxyz .\n"
LANGUAGE_WIDTH = 64
LANGUAGE_STEPS = 20
LANGUAGE_BATCH = 16
BATCH = 32
WORDS = ("the", "a", "old", "young", "cat", "dog", "sailor", "king", "sees", "follows", "sings", "sleeps")


def mlp(tf: Any, replica: int) -> tuple[Any, Any, Any]:
    """The bench's MLP, with the same batch in every step; returns loss, optimizer and the function of feeds."""
    x = tf.placeholder(tf.float32, [data.MLP_BATCH, data.MLP_SIZES[0]])
    labels = tf.placeholder(tf.int32, [data.MLP_BATCH])
    loss = _classifier(tf, x, labels, data.MLP_SIZES)
    images, answers = data.mlp_batch()
    return loss, tf.train.AdamOptimizer(data.MLP_RATE), lambda: {x: images, labels: answers}


def digits(tf: Any, replica: int) -> tuple[Any, Any, Any]:
    """An MLP on handwritten digits, with random batches of its own for every replica."""
    from sklearn.datasets import load_digits

    pixels, answers = load_digits(return_X_y=True)
    pixels = (pixels / 16).astype(np.float32)
    x, labels = tf.placeholder(tf.float32, [BATCH, 64]), tf.placeholder(tf.int32, [BATCH])
    random = np.random.default_rng(replica)

    def feeds() -> dict[Any, Any]:
        chosen = random.integers(len(pixels), size=BATCH)
        return {x: pixels[chosen], labels: answers[chosen]}

    return _classifier(tf, x, labels, DIGITS_SIZES), tf.train.GradientDescentOptimizer(0.1), feeds


def _classifier(tf: Any, x: Any, labels: Any, sizes: tuple[int, ...]) -> Any:
    for i, (rows, columns) in enumerate(pairwise(sizes)):
        scale = np.sqrt(2 / rows)
        initial = (np.random.default_rng(i).standard_normal((rows, columns)) * scale).astype(np.float32)
        weights = tf.get_variable(f"weights{i}", initializer=initial)
        bias = tf.get_variable(f"bias{i}", [columns], initializer=tf.zeros_initializer())
        x = tf.matmul(x, weights) + bias
        if i < len(sizes) - 2:
            x = tf.nn.relu(x)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x))


def language(tf: Any, replica: int) -> tuple[Any, Any, Any]:
    """An LSTM that predicts the next letter of random sentences."""
    random = np.random.default_rng(replica)
    text = " ".join(random.choice(WORDS) + random.choice([".\n", "", ""]) for _ in range(20_000))
    codes = np.array([LANGUAGE_LETTERS.index(letter) for letter in text], np.int32)
    x = tf.placeholder(tf.int32, [LANGUAGE_BATCH, LANGUAGE_STEPS + 1])
    letters = len(LANGUAGE_LETTERS)
    uniform = tf.random_uniform_initializer(-0.1, 0.1, seed=1)
    table = tf.get_variable("table", [letters, LANGUAGE_WIDTH], initializer=uniform)
    cell = tf.nn.rnn_cell.LSTMCell(LANGUAGE_WIDTH, initializer=uniform)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(table, x[:, :-1]), dtype=tf.float32)
    weights = tf.get_variable("weights", [LANGUAGE_WIDTH, letters], initializer=uniform)
    logits = tf.matmul(tf.reshape(outputs, [-1, LANGUAGE_WIDTH]), weights)
    answers = tf.reshape(x[:, 1:], [-1])
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=answers, logits=logits))

    def feeds() -> dict[Any, Any]:
        starts = random.integers(len(codes) - LANGUAGE_STEPS - 1, size=LANGUAGE_BATCH)
        return {x: codes[starts[:, None] + np.arange(LANGUAGE_STEPS + 1)]}

    return loss, tf.train.AdagradOptimizer(0.3), feeds


MODELS = {"mlp": mlp, "digits": digits, "language": language}
MODES = {"async": "asynchronous", "sync": "synchronous", "backup": "synchronous, one backup"}


def wrapped(tf: Any, mode: str, optimizer: Any, workers: int) -> Any:
    """Returns the optimizer of a mode."""
    if mode == "async":
        return optimizer
    return tf.train.SyncReplicasOptimizer(optimizer, workers - (mode == "backup"), workers)
