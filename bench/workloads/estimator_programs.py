"""Steps of one network: by an Estimator, and in a MonitoredTrainingSession with the same fetches and intervals."""

from __future__ import annotations

import tempfile
import time
from typing import Any

import numpy as np

import thalweg as tf
from workloads import data

FIRST_STEPS = 200  # in which steps are compiled
RATE = 0.01


class _Timer(tf.train.SessionRunHook):
    """Measures steps per second, without the first ones."""

    def __init__(self, steps: int) -> None:
        self._left = FIRST_STEPS + steps
        self._steps = steps
        self.rate = 0.0

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._left -= 1
        if self._left == self._steps:
            self._start = time.perf_counter()
        elif self._left == 0:
            self.rate = self._steps / (time.perf_counter() - self._start)


def _batches() -> Any:
    rng = np.random.default_rng(0)
    inputs = rng.random((100 * data.MLP_BATCH, data.MLP_SIZES[0]), np.float32)
    labels = rng.integers(0, data.CLASSES, len(inputs))
    return tf.data.Dataset.from_tensor_slices((inputs, labels)).repeat().batch(data.MLP_BATCH)


def _network(features: Any, labels: Any) -> tuple[Any, Any]:
    for units in data.MLP_SIZES[1:-1]:
        features = tf.layers.dense(features, units, tf.nn.relu)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(features, data.CLASSES))
    step = tf.train.get_or_create_global_step()
    return loss, tf.train.GradientDescentOptimizer(RATE).minimize(loss, step)


def _model_fn(features: Any, labels: Any, mode: str) -> Any:
    loss, train_op = _network(features, labels)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def estimator(steps: int) -> float:
    """Trains by an Estimator, and returns the steps per second."""
    timer = _Timer(steps)
    with tempfile.TemporaryDirectory() as folder:
        tf.estimator.Estimator(_model_fn, folder).train(_batches, [timer], FIRST_STEPS + steps)
    return timer.rate


def monitored_session(steps: int) -> float:
    """Trains in a MonitoredTrainingSession, and returns the steps per second."""
    timer = _Timer(steps)
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        loss, train_op = _network(*_batches().make_one_shot_iterator().get_next())
        tf.summary.scalar("loss", loss)
        hooks = [timer, tf.train.StopAtStepHook(FIRST_STEPS + steps)]
        with tf.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks) as session:
            while not session.should_stop():
                session.run([train_op, loss])
    return timer.rate
