"""Trains a small network without parameter servers: workers reduce their gradients with each other."""

import argparse
import time

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--folder", required=True, help="for checkpoints")
parser.add_argument("--steps", type=int, default=1000000)
parser.add_argument("--pause", type=float, default=0.05, help="seconds after each step")
parser.add_argument("--save_steps", type=int, default=200)
arguments = parser.parse_args()

resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()  # of TF_CONFIG
server = tf.train.Server(resolver.cluster_spec(), resolver.task_type, resolver.task_id)
print(f"serves {time.monotonic()}", flush=True)

numbers = np.random.RandomState(5)
features = numbers.randn(64, 6).astype(np.float32)
labels = np.tanh(features @ numbers.randn(6, 1)).astype(np.float32)
with strategy.scope():
    iterator = strategy.make_dataset_iterator(tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(16))
    global_step = tf.train.get_or_create_global_step()

    def step(inputs):
        x, y = inputs
        hidden = tf.layers.dense(x, 16, tf.tanh, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
        output = tf.layers.dense(hidden, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
        loss = tf.reduce_sum(tf.square(output - y)) / 16
        optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
        with tf.control_dependencies([optimizer.minimize(loss, global_step)]):
            return tf.identity(loss)

    losses = strategy.experimental_run(step, iterator)
    loss = strategy.reduce(tf.distribute.ReduceOp.SUM, losses)

with tf.train.MonitoredTrainingSession(
    server.target,
    is_chief=strategy.extended.should_checkpoint,
    checkpoint_dir=arguments.folder,
    save_checkpoint_steps=arguments.save_steps,
    save_checkpoint_secs=None,
    save_summaries_steps=None,
    save_summaries_secs=None,
    log_step_count_steps=None,
    scaffold=tf.train.Scaffold(local_init_op=iterator.initializer),
    hooks=[tf.train.StopAtStepHook(last_step=arguments.steps)],
    config=strategy.update_config_proto(tf.ConfigProto()),
) as session:
    while not session.should_stop():
        value, now = session.run([loss, global_step])
        print(f"step {now} {value:.9g} {time.monotonic()}", flush=True)
        time.sleep(arguments.pause)
print("done", flush=True)
