"""Merged transfers: what one task sends to another at the same time is one message."""

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster


@pytest.fixture
def cluster():
    cluster = Cluster("inprocess", ps=2, worker=1)
    yield cluster
    cluster.stop()


def transfers(session, fetches, feeds=()):
    """Returns the number of tensors in each message that a step sends, by source and destination job."""
    executable = session._plan(fetches, tuple(feeds)).executable
    sizes = {}
    for task_step in executable._task_steps.values():
        for partition in task_step.partitions.values():
            for node in partition.everything():
                if node.type in ("_Send", "_SendMany"):
                    key = tuple(node.attrs[name][5:].partition("/")[0] for name in ("send_device", "recv_device"))
                    sizes.setdefault(key, []).append(len(node.inputs))
    return {key: sorted(counts) for key, counts in sizes.items()}


def test_variables_and_gradients_of_a_server_are_one_message_each(cluster):
    with tf.device("/job:ps/task:0"):
        variables = [tf.Variable(tf.ones([3]) * i) for i in range(4)]
    x = tf.placeholder(tf.float32, [3])
    with tf.device("/job:worker/task:0"):
        loss = tf.reduce_sum(tf.add_n([v * x for v in variables]) ** 2)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=variables)
    with tf.Session(cluster.target()) as session:
        session.run(tf.global_variables_initializer())
        plain = [np.full(3, i, np.float32) for i in range(4)]
        for _ in range(2):
            session.run(train, {x: [1.0, 2.0, 3.0]})
            total = sum(v * np.array([1, 2, 3], np.float32) for v in plain)
            plain = [v - 0.1 * 2 * total * np.array([1, 2, 3], np.float32) for v in plain]
        np.testing.assert_allclose(session.run(variables), plain, rtol=1e-5)
        counts = transfers(session, train, [x])
    assert counts["ps", "worker"] == [1, 4], "the variables, and the signal that the step is over"
    assert len(counts["worker", "ps"]) == 1


def test_large_tensors_are_sent_as_soon_as_they_exist(cluster):
    with tf.device("/job:ps/task:0"):
        small = [tf.random_normal([10]) for _ in range(2)]
        large = [tf.random_normal([1 << 20]) for _ in range(2)]
    with tf.device("/job:worker/task:0"):
        total = tf.add_n([tf.reduce_sum(t * 2.0) for t in small + large])
    with tf.Session(cluster.target()) as session:
        assert transfers(session, total) == {("ps", "worker"): [1, 1, 2]}
        session.run(total)


def test_what_waits_for_an_answer_is_not_merged_with_the_question(cluster):
    """Merged, the two tensors of the parameter server would wait for each other by way of the worker."""
    with tf.device("/job:ps/task:0"):
        question = tf.random_uniform([4], 1.0, 2.0)
    with tf.device("/job:worker/task:0"):
        answer = question * 2.0
    with tf.device("/job:ps/task:0"):
        reply = answer / question
        other = question + 1.0
    with tf.device("/job:worker/task:0"):
        total = tf.reduce_sum(reply * 1.0) + 0.0 * tf.reduce_sum(other * 1.0)
    with tf.Session(cluster.target()) as session:
        assert session.run(total) == pytest.approx(8.0)
        assert transfers(session, total)["ps", "worker"] == [1, 2]


def test_branches_are_left_alone(cluster):
    choose = tf.placeholder(tf.bool, [])
    with tf.device("/job:ps/task:0"):
        v = [tf.Variable(float(i)) for i in range(3)]

    def taken():
        with tf.device("/job:ps/task:0"):
            inner = [t * 2.0 for t in v]
        with tf.device("/job:worker/task:0"):
            return tf.add_n([t + 1.0 for t in inner])

    y = tf.cond(choose, taken, lambda: tf.constant(0.0))
    with tf.Session(cluster.target()) as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(y, {choose: side}) for side in (True, False)] == [9.0, 0.0]


def test_two_servers_and_signals(cluster):
    with tf.device("/job:ps/task:0"):
        a = [tf.Variable(1.0) for _ in range(3)]
    with tf.device("/job:ps/task:1"):
        b = [tf.Variable(2.0) for _ in range(3)]
    with tf.device("/job:worker/task:0"):
        update = tf.group(*[v.assign_add(1.0) for v in a + b])
        with tf.control_dependencies([update]):
            total = tf.add_n([v.read_value() for v in a + b])
    with tf.Session(cluster.target()) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(total) == 15.0
