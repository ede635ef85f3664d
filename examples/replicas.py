"""Between-graph replication: workers train one model asynchronously, and its variables are on parameter servers.

Each worker is a process that builds the same graph, trains on batches of its own and applies its gradients without
waiting for other workers. So a gradient is computed from variables that others may update before it is applied; the
program prints how often. A launcher describes the cluster in TF_CONFIG; without it, the program trains alone.

    thalweg cluster --ps 1 --workers 2 examples/replicas.py --steps 2000
    python examples/replicas.py
"""

import argparse

import numpy as np
from devices_at_work import digits

import thalweg as tf


def model(x):
    """Returns the logits of a network with one hidden layer."""
    hidden = tf.layers.dense(x, 128, tf.nn.relu, name="hidden")
    return tf.layers.dense(hidden, 10, name="logits")


def train(cluster, target, job, index, options):
    """Trains until all workers together have made the steps; the chief initializes the variables."""
    train_x, test_x, train_y, test_y = digits()
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:{job}/task:{index}")):
        x = tf.placeholder(tf.float32, [None, 64], name="x")
        labels = tf.placeholder(tf.int64, [None], name="labels")
        logits = model(x)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        step = tf.train.get_or_create_global_step()
        update = tf.train.AdagradOptimizer(0.1).minimize(loss, global_step=step)
        accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
        init, ready = tf.global_variables_initializer(), tf.report_uninitialized_variables()

    is_chief = index == 0 and (job == "chief" or "chief" not in cluster.jobs)
    # Without the filters, a session would wait for all workers, and end with the first that does.
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:{job}/task:{index}"] if cluster else [])
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0.2)
    if is_chief:
        sess = manager.prepare_session(target, init_op=init, config=config)
    else:
        sess = manager.wait_for_session(target, config=config)

    rng = np.random.default_rng(index)
    own, made, stale = 0, sess.run(step), 0
    while made < options.steps:
        batch = rng.integers(len(train_x), size=options.batch)
        before = made
        _, made = sess.run([update, step], {x: train_x[batch], labels: train_y[batch]})
        own, stale = own + 1, stale + (made - before > 1)
    final = sess.run(accuracy, {x: test_x, labels: test_y})
    sess.close()
    print(f"{job} {index} made {own} of {made} steps; during {stale} of them other workers made some", flush=True)
    print(f"accuracy on {len(test_x)} held-out images: {final:.1%}", flush=True)
    return {"accuracy": final, "steps": int(made), "own": own}


def main(argv=None):
    parser = argparse.ArgumentParser(description="Asynchronous training with parameter servers.")
    parser.add_argument("--steps", type=int, default=2000, help="training steps of all workers together (%(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="images in a step (%(default)s)")
    options = parser.parse_args(argv)

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec()
    if not cluster:
        return train(cluster, "", "worker", 0, options)
    server = tf.train.Server(cluster, resolver.task_type, resolver.task_id)
    if resolver.task_type == "ps":  # `thalweg cluster` has a server for it; other launchers run this program
        server.join()
    return train(cluster, server.target, resolver.task_type, resolver.task_id, options)


if __name__ == "__main__":
    main()
