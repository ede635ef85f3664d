"""Trains and evaluates an Estimator as TF_CONFIG says; the data come from a dataset."""

import argparse
import time

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--folder", required=True, help="for checkpoints")
parser.add_argument("--steps", type=int, default=1000000)
parser.add_argument("--pause", type=float, default=0.05, help="seconds after each step")
parser.add_argument("--rest", type=float, nargs=2, default=(-1, 0), help="seconds without a step, once, after a step")
parser.add_argument("--save_steps", type=int, default=200)
parser.add_argument("--all_reduce", action="store_true")
arguments = parser.parse_args()


def input_fn():
    numbers = np.random.RandomState(5)
    features = numbers.randn(64, 6).astype(np.float32)
    labels = np.tanh(features @ numbers.randn(6, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(8)


class Report(tf.train.SessionRunHook):
    def __init__(self, loss):
        self.loss, (self.rest, self.seconds) = loss, arguments.rest

    def before_run(self, run_context):
        return tf.train.SessionRunArgs([tf.train.get_global_step(), self.loss])

    def after_run(self, run_context, run_values):
        print("step {} {:.9g} {}".format(*run_values.results, time.monotonic()), flush=True)
        time.sleep(arguments.pause)
        if 0 <= self.rest <= run_values.results[0]:
            self.rest = -1
            time.sleep(self.seconds)
            print(f"goes on {time.monotonic()}", flush=True)


def model_fn(features, labels, mode):
    hidden = tf.layers.dense(features, 16, tf.tanh)
    loss = tf.losses.mean_squared_error(labels, tf.layers.dense(hidden, 1))
    optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
    train = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, training_hooks=[Report(loss)])


strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy() if arguments.all_reduce else None
config = tf.estimator.RunConfig(
    arguments.folder, save_checkpoints_steps=arguments.save_steps, train_distribute=strategy
)
tf.estimator.train_and_evaluate(
    tf.estimator.Estimator(model_fn, config=config),
    tf.estimator.TrainSpec(input_fn, max_steps=arguments.steps),
    tf.estimator.EvalSpec(input_fn, steps=2, start_delay_secs=0, throttle_secs=0),
)
print("done", flush=True)
