"""A program for launchers: workers train one model asynchronously, and resume from its latest checkpoint.

The cluster is that of TF_CONFIG, as Kubernetes manifests, Kubeflow and Ray set it, or that of Slurm's variables. All
tasks need the folder of the checkpoints, since each parameter server writes its own part.

    thalweg run train.py --checkpoints /shared/model --steps 1000
"""

import argparse
import contextlib
import os

import numpy as np

import thalweg as tf

IS_SLURM = "SLURM_PROCID" in os.environ  # which waits for all tasks, so that parameter servers have to end


def resolve(options):
    """Returns what knows the cluster and the task of this process."""
    if not IS_SLURM:
        return tf.distribute.cluster_resolver.TFConfigClusterResolver()
    jobs = {"ps": options.ps, "worker": int(os.environ["SLURM_NTASKS"]) - options.ps}
    return tf.distribute.cluster_resolver.SlurmClusterResolver(
        jobs, options.port, gpus_per_node=options.gpus_per_node, gpus_per_task=options.gpus_per_task
    )


def ends(cluster, index):
    """Returns the queue at a parameter server in which workers say that they have ended."""
    with tf.device(f"/job:ps/task:{index}"):
        return tf.FIFOQueue(cluster.num_tasks("worker"), tf.int32, [()], shared_name="ends")


def serve(server, cluster, index):
    """Serves a parameter server until all workers have ended."""
    end = ends(cluster, index).dequeue()
    with tf.Session(server.target, config=tf.ConfigProto(device_filters=[f"/job:ps/task:{index}"])) as session:
        for _ in range(cluster.num_tasks("worker")):
            session.run(end)


def say_end(server, cluster, own):
    """Says at each parameter server that this worker has ended."""
    for index in cluster.task_indices("ps"):
        end = ends(cluster, index).enqueue(0)
        config = tf.ConfigProto(device_filters=[f"/job:ps/task:{index}", own])
        # A server that has heard of the last end may stop before it answers.
        gone = contextlib.suppress(tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError)
        with gone, tf.Session(server.target, config=config) as session:
            session.run(end)


def train(server, cluster, job, index, options):
    """Trains a linear model until all workers together have made the steps."""
    own = f"/job:{job}/task:{index}"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=own)):
        x = tf.placeholder(tf.float32, [None, 20])
        y = tf.placeholder(tf.float32, [None, 1])
        step = tf.train.get_or_create_global_step()
        loss = tf.losses.mean_squared_error(y, tf.layers.dense(x, 1))
        update = tf.train.AdamOptimizer(0.05).minimize(loss, step)

    truth = np.random.RandomState(0).randn(20, 1)
    batches = np.random.RandomState(1 + index)
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=job == "chief" or (index == 0 and "chief" not in cluster.jobs),
        checkpoint_dir=options.checkpoints,
        save_checkpoint_steps=100,
        save_checkpoint_secs=None,
        hooks=[tf.train.StopAtStepHook(last_step=options.steps)],
        config=tf.ConfigProto(device_filters=["/job:ps", own]),  # a worker needs no other worker
    ) as session:
        while not session.should_stop():
            rows = batches.randn(32, 20)
            made, error, _ = session.run([step, loss, update], {x: rows, y: rows @ truth})
    print(f"{job} {index}: loss {error:.3f} after {made} steps", flush=True)


def main(argv=None):
    parser = argparse.ArgumentParser(description="Asynchronous training, started by a launcher.")
    parser.add_argument("--checkpoints", required=True, help="a folder that all tasks share")
    parser.add_argument("--steps", type=int, default=1000, help="steps of all workers together (%(default)s)")
    slurm = parser.add_argument_group("Slurm")
    slurm.add_argument("--ps", type=int, default=1, help="how many of the tasks are parameter servers (%(default)s)")
    slurm.add_argument("--port", type=int, default=8888, help="port of the first task on a host (%(default)s)")
    slurm.add_argument("--gpus-per-node", type=int, default=0, help="%(default)s")
    slurm.add_argument("--gpus-per-task", type=int, default=0, help="%(default)s")
    options = parser.parse_args(argv)

    resolver = resolve(options)
    cluster, job, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
    with tf.train.Server(cluster, job, index) as server:
        if job == "ps":
            serve(server, cluster, index)
        else:
            train(server, cluster, job, index, options)
            if IS_SLURM:
                say_end(server, cluster, f"/job:{job}/task:{index}")


if __name__ == "__main__":
    main()
