"""Eager training beside TensorFlow's: equal numbers and names, and checkpoints that each continues of the other."""

import json

import numpy as np
import pytest

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow

pytestmark = [needs_tensorflow, pytest.mark.timeout(300), pytest.mark.usefixtures("fresh")]
PROGRAM = """
class Model(tf.Module):
    def __init__(self):
        super().__init__(name="model")
        self.scale = tf.Variable([1.0, 2.0], name="scale")

    def __call__(self, x):
        if not hasattr(self, "more"):
            self.more = [tf.Variable(tf.ones([2, 3]), name="a"), {"b": tf.Variable(tf.ones([3, 1]), name="b")}]
        return tf.matmul(tf.matmul(x * self.scale, self.more[0]), self.more[1]["b"])


class Training:
    def __init__(self):
        self.model, self.optimizer = Model(), tf.train.AdamOptimizer(0.1)
        self.step = tf.Variable(0, dtype=tf.int64, name="step")
        self.checkpoint = tf.train.Checkpoint(model=self.model, optimizer=self.optimizer, step=self.step)

    def run(self, steps):
        losses = []

        def loss():
            losses.append(tf.reduce_mean(tf.square(self.model(tf.constant([[1.0, 2.0], [3.0, 4.0]])) - 1.0)))
            return losses[-1]

        for _ in range(steps):
            self.optimizer.minimize(loss, global_step=self.step)
        return [float(each.numpy()) for each in losses]

    def state(self):
        variables = [self.model.scale, *self.optimizer.variables(), self.step]
        return {variable.name: np.asarray(variable.numpy()).tolist() for variable in variables}
"""
START = "import json\ntf.enable_eager_execution()\n"


def _training():
    defined = {"tf": tf, "np": np}
    exec(PROGRAM, defined)
    return defined["Training"]()


def _same(found, expected):
    assert list(found) == list(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-6)


def test_tensorflow_goes_on_with_our_training(tmp_path):
    training = _training()
    training.run(3)
    path = training.checkpoint.save(str(tmp_path / "ours"))
    losses, state = training.run(3), training.state()
    code = """
training = Training()
status = training.checkpoint.restore(sys.argv[1])
losses = training.run(3)
status.assert_consumed()
print(json.dumps([losses, training.state()]))
"""
    expected = json.loads(run_tensorflow(START + PROGRAM + code, path).splitlines()[-1])
    np.testing.assert_allclose(losses, expected[0], rtol=1e-5)
    _same(state, expected[1])


def test_we_go_on_with_tensorflows_training(tmp_path):
    code = """
training = Training()
training.run(3)
path = training.checkpoint.save(sys.argv[1] + "/theirs")
print(json.dumps([path, training.run(3), training.state()]))
"""
    path, losses, state = json.loads(run_tensorflow(START + PROGRAM + code, tmp_path).splitlines()[-1])
    training = _training()
    status = training.checkpoint.restore(path)
    found = training.run(3)
    status.assert_consumed()
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    _same(training.state(), state)
