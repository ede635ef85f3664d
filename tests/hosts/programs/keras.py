"""Fits a Keras model with all workers, which reduce their gradients with each other."""

import argparse
import time

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100000)
parser.add_argument("--pause", type=float, default=0.05, help="seconds after each step")
arguments = parser.parse_args()


class Report(tf.keras.callbacks.Callback):
    step = 0

    def on_batch_end(self, batch, logs=None):
        self.step += 1
        print("step {} {:.9g} {}".format(self.step, logs["loss"], time.monotonic()), flush=True)
        time.sleep(arguments.pause)


strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
numbers = np.random.RandomState(5)
features = numbers.randn(64, 6).astype(np.float32)
labels = np.tanh(features @ numbers.randn(6, 1)).astype(np.float32)
data = tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(16)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(16, "tanh", input_shape=(6,)), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(0.01, 0.9), "mse")
model.fit(data, steps_per_epoch=arguments.steps, epochs=1, callbacks=[Report()], verbose=0)
print("done", flush=True)
