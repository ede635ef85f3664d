"""Servers in processes of their own, and a client in this one: results equal those of a plain session."""

import numpy as np

import thalweg as tf
from tests.cluster.distributed.clusters import addresses, processes
from tests.cluster.distributed.equivalence.comparison import LARGE, Step, Tasks, assert_equal, outcomes


def _training(tasks):
    """A model with dense and sparse gradients, a loop, strings and a queue, with its state at the parameter server."""
    numbers = np.random.RandomState(0)
    setter = tf.train.replica_device_setter(ps_tasks=1, worker_device=tasks.worker) if tasks.ps else ""
    x, ids = tf.placeholder(tf.float32, [None, 200]), tf.placeholder(tf.int32, [None])
    with tf.device(setter):
        step = tf.train.get_or_create_global_step()
        table = tf.get_variable("table", [100, 200], initializer=tf.random_uniform_initializer(seed=1))
        weight = tf.get_variable("weight", [200, 200], initializer=tf.random_normal_initializer(stddev=0.05, seed=2))
        hidden = x + tf.nn.embedding_lookup(table, ids)
        _, hidden = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, weight))), [0, hidden])
        loss = tf.reduce_mean(tf.square(hidden - 0.5))
        train = tf.train.AdamOptimizer(0.01).minimize(loss, step)
    with tf.device(tasks.ps):
        words = tf.FIFOQueue(4, [tf.string], [[]], shared_name="words")
    yield tf.global_variables_initializer()
    for _ in range(3):
        yield Step([loss, train], {x: numbers.rand(8, 200).astype(np.float32), ids: numbers.randint(0, 100, 8)})
    yield [step, table, weight]
    yield words.enqueue_many([["one", "two"]])
    yield [words.dequeue(), words.size()]
    with tf.device(tasks.ps):
        large = tf.reduce_sum(tf.placeholder_with_default(tf.ones([LARGE]), [LARGE]))
        reshaped = tf.reshape(table, ids)
    yield large
    yield Step(loss, {x: np.zeros((2, 200)), ids: [1, 2, 3]})  # an error at the worker, on every device
    yield Step(reshaped, {ids: [3]})  # and at the parameter server


def test_a_client_of_servers_in_other_processes():
    spec = addresses(ps=1, worker=1)
    with processes(spec):
        found = outcomes(_training, f"grpc://{spec['worker'][0]}", Tasks.of_cluster())
    assert_equal(found, outcomes(_training, "", Tasks()))


def test_a_worker_of_a_parameter_server_in_another_process():
    spec = addresses(ps=1, worker=1)
    with processes(spec, jobs=["ps"]), tf.train.Server(spec, "worker", 0) as server:
        found = outcomes(_training, server.target, Tasks.of_cluster())
    assert_equal(found, outcomes(_training, "", Tasks()))
