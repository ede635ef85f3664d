"""What the tasks of clusters on Ray run."""

import os
import time
from pathlib import Path

import thalweg as tf


def train(folder):
    """Trains asynchronously until the folder has the file `stop`; returns the number of steps of all workers."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster, job, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id

    own = f"/job:{job}/task:{index}"
    with (
        tf.train.Server(cluster, job, index) as server,
        tf.Graph().as_default(),
        tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=own)),
    ):
        step = tf.train.get_or_create_global_step()
        weights = tf.get_variable("weights", [2], initializer=tf.zeros_initializer())
        loss = tf.reduce_sum(tf.square(weights - [3.0, -1.0]))
        update = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)
        with tf.train.MonitoredTrainingSession(
            server.target,
            is_chief=index == 0,
            checkpoint_dir=os.path.join(folder, "model"),
            save_checkpoint_steps=10,
            save_checkpoint_secs=None,
            log_step_count_steps=None,
            config=tf.ConfigProto(device_filters=["/job:ps", own]),
        ) as session:
            made = 0
            while not Path(folder, "stop").exists():
                _, made = session.run([update, step])
                Path(folder, f"{job}-{index}").write_text(f"{os.getpid()} {made}")
                time.sleep(0.02)
    return int(made)


def fail():
    """Fails at worker 1; worker 0 would never end."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_id == 1:
        raise ValueError("the data are gone")
    time.sleep(1000)


def die():
    """Ends the process of the task without a word."""
    os._exit(3)
