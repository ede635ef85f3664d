"""Trains a small network with parameter servers; TF_CONFIG says where, the arguments how."""

import argparse
import json
import os
import time

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--mode", choices=["async", "sync", "backup"], default="async")
parser.add_argument("--folder", default="", help="for checkpoints")
parser.add_argument("--steps", type=int, default=1000000)
parser.add_argument("--pause", type=float, default=0.05, help="seconds after each step")
parser.add_argument("--rest", type=float, nargs=2, default=(-1, 0), help="seconds without a step, once, after a step")
parser.add_argument("--serve", action="store_true", help="trains nothing")
parser.add_argument("--save_steps", type=int, default=200)
arguments = parser.parse_args()

config = json.loads(os.environ["TF_CONFIG"])
cluster, job, index = tf.train.ClusterSpec(config["cluster"]), config["task"]["type"], config["task"]["index"]
server = tf.train.Server(cluster, job, index)
print(f"serves {time.monotonic()}", flush=True)
if job == "ps" or arguments.serve:
    server.join()

numbers = np.random.RandomState(5)
features = numbers.randn(64, 6).astype(np.float32)
labels = np.tanh(features @ numbers.randn(6, 1)).astype(np.float32)
workers = cluster.num_tasks("worker")
with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{index}")):
    global_step = tf.train.get_or_create_global_step()
    now = tf.identity(global_step)  # the examples follow from the step: losses repeat where the updates do
    rows = (tf.range(8, dtype=tf.int64) + 8 * (now * workers + index)) % 64
    x, y = tf.gather(features, rows), tf.gather(labels, rows)
    hidden = tf.layers.dense(x, 16, tf.tanh, kernel_initializer=tf.glorot_uniform_initializer(seed=1))
    output = tf.layers.dense(hidden, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=2))
    loss = tf.reduce_mean(tf.square(output - y))
    optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
    hooks = [tf.train.StopAtStepHook(last_step=arguments.steps)]
    if arguments.mode != "async":
        optimizer = tf.train.SyncReplicasOptimizer(
            optimizer, workers - (arguments.mode == "backup"), total_num_replicas=workers
        )
        hooks.append(optimizer.make_session_run_hook(index == 0))
    train = optimizer.minimize(loss, global_step=global_step)

rest, seconds = arguments.rest
with tf.train.MonitoredTrainingSession(
    server.target,
    is_chief=index == 0,
    checkpoint_dir=arguments.folder or None,
    save_checkpoint_steps=arguments.save_steps,
    save_checkpoint_secs=None,
    save_summaries_steps=None,
    save_summaries_secs=None,
    log_step_count_steps=None,
    config=tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"]),
    hooks=hooks,
) as session:
    while not session.should_stop():
        step, value, _ = session.run([now, loss, train])
        print(f"step {step} {value:.9g} {time.monotonic()}", flush=True)
        time.sleep(arguments.pause)
        if 0 <= rest <= step:
            rest = -1
            time.sleep(seconds)
            print(f"goes on {time.monotonic()}", flush=True)
print("done", flush=True)
