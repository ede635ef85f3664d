"""One task of a cluster over hosts: a program as users write it, for Thalweg and TensorFlow 1.15 (and its Python 3.7).

Reads one JSON value per line: first the cluster and its task, then whether to train; answers with the steps since then.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import time
from typing import Any

import numpy as np

BATCH = 100
SIZES = {"1 MB": (784, 256, 256, 10), "7 MB": (784, 1024, 1024, 10)}


def build(tf: Any, jobs: Any, worker: str, model: str, mode: str) -> Any:
    """Builds the training of an MLP; returns global step, loss, training operation and hooks."""
    random = np.random.RandomState(0)
    sizes = SIZES[model]
    with tf.device(tf.train.replica_device_setter(cluster=jobs, worker_device=worker)):
        step = tf.train.get_or_create_global_step()
        images, labels = tf.placeholder(tf.float32, [BATCH, sizes[0]]), tf.placeholder(tf.int32, [BATCH])
        x = images
        for i in range(len(sizes) - 1):
            rows, columns = sizes[i : i + 2]
            initial = (random.standard_normal((rows, columns)) * np.sqrt(2 / rows)).astype(np.float32)
            weights = tf.get_variable(f"weights{i}", initializer=initial)
            bias = tf.get_variable(f"bias{i}", [columns], initializer=tf.zeros_initializer())
            x = tf.matmul(x, weights) + bias
            if i < len(sizes) - 2:
                x = tf.nn.relu(x)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x))
        optimizer = tf.train.GradientDescentOptimizer(0.01)
        if mode == "synchronous":
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, len(jobs["worker"]), len(jobs["worker"]))
        train = optimizer.minimize(loss, global_step=step)
    hooks = [optimizer.make_session_run_hook(worker.endswith(":0"))] if mode == "synchronous" else []
    feeds = {images: random.standard_normal((BATCH, sizes[0])), labels: random.randint(10, size=BATCH)}
    return [loss, step, train], hooks, feeds


def main() -> None:
    peer, jobs, job, task, model, mode = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    tf = importlib.import_module(peer)
    if peer == "tensorflow":
        tf.logging.set_verbosity(tf.logging.ERROR)
    server = tf.train.Server(jobs, job, task)
    if job == "ps":
        server.join()
    worker = f"/job:worker/task:{task}"
    fetches, hooks, feeds = build(tf, jobs, worker, model, mode)
    config = tf.ConfigProto(device_filters=["/job:ps", worker])
    options = {"save_summaries_steps": None, "save_summaries_secs": None, "log_step_count_steps": None}
    with tf.train.MonitoredTrainingSession(
        server.target, is_chief=task == 0, config=config, hooks=hooks, **options
    ) as session:
        seen = []
        goes_on = threading.Event()

        def train() -> None:
            while goes_on.wait():
                _, step, _ = session.run(fetches, feeds)
                seen.append((time.time(), int(step)))

        threading.Thread(target=train, daemon=True).start()
        for line in sys.stdin:  # which says whether to go on
            if json.loads(line):
                goes_on.set()
            else:
                goes_on.clear()
            print(json.dumps(seen), file=answers, flush=True)
            seen.clear()
        os._exit(0)


if __name__ == "__main__":
    main()
