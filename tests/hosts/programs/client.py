"""Trains from a host that is no task: a session at another host's server, with variables and computation there."""

import argparse
import time

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("target")
parser.add_argument("--pause", type=float, default=0.05, help="seconds after each step")
parser.add_argument("--rest", type=float, nargs=2, default=(-1, 0), help="seconds without a step, once, after a step")
arguments = parser.parse_args()

numbers = np.random.RandomState(5)
features = numbers.randn(64, 6).astype(np.float32)
labels = np.tanh(features @ numbers.randn(6, 1)).astype(np.float32)
with tf.device("/job:ps/task:0"):
    global_step = tf.train.get_or_create_global_step()
with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")):
    x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None, 1])
    hidden = tf.layers.dense(x, 16, tf.tanh)
    loss = tf.losses.mean_squared_error(y, tf.layers.dense(hidden, 1))
    train = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, global_step=global_step)

rest, seconds = arguments.rest
with tf.train.MonitoredTrainingSession(arguments.target, log_step_count_steps=None) as session:
    while not session.should_stop():
        step, value, _ = session.run([global_step, loss, train], {x: features, y: labels})
        print(f"step {step} {value:.9g} {time.monotonic()}", flush=True)
        time.sleep(arguments.pause)
        if 0 <= rest <= step:
            rest = -1
            time.sleep(seconds)
            print(f"goes on {time.monotonic()}", flush=True)
