"""Flow control end to end: a step that sends more than the other task may hold ends all the same."""

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster


@pytest.fixture
def narrow(monkeypatch):
    """A cluster over TCP in which one mebibyte may wait at a task."""
    monkeypatch.setenv("THALWEG_CLUSTER_TRANSPORT", "tcp")
    monkeypatch.setenv("THALWEG_CLUSTER_WINDOW_MB", "1")
    cluster = Cluster("tcp", ps=1, worker=1)
    yield cluster
    cluster.stop()


def windows(cluster):
    for server in cluster.servers.values():
        for link in server._require()._endpoint.links.values():
            yield link._window


def test_what_is_needed_first_is_sent_although_the_window_is_full(narrow):
    """The last tensor that the parameter server computes is the first one that the worker needs."""
    with tf.device("/job:ps/task:0"):
        large = [tf.random_uniform([200_000], 1.0, 2.0) for _ in range(10)]
        first = tf.reduce_sum(tf.add_n(large))
    with tf.device("/job:worker/task:0"), tf.control_dependencies([tf.identity(first)]):
        total = tf.add_n([tf.reduce_sum(tf.identity(tensor)) for tensor in large])
    with tf.Session(narrow.target()) as session:
        for _ in range(3):
            expected, found = session.run([first, total])
            np.testing.assert_allclose(found, expected, rtol=1e-4)
    for window in windows(narrow):
        assert not window._offered
    assert all(window._unconsumed <= 1 << 20 for window in windows(narrow))


def test_a_loop_that_sends_in_every_iteration(narrow):
    with tf.device("/job:ps/task:0"):
        start = tf.ones([300_000])

    def body(i, x):
        with tf.device("/job:ps/task:0"):
            x = x + 1.0
        with tf.device("/job:worker/task:0"):
            return i + 1, x * 1.0

    _, y = tf.while_loop(lambda i, x: i < 20, body, [0, start])
    with tf.Session(narrow.target()) as session:
        np.testing.assert_array_equal(session.run(y), np.full(300_000, 21.0))


def test_a_failed_step_frees_what_was_offered(narrow):
    fails = tf.placeholder(tf.bool, [])
    with tf.device("/job:ps/task:0"):
        large = [tf.random_uniform([400_000]) for _ in range(5)]
    with tf.device("/job:worker/task:0"), tf.control_dependencies([tf.Assert(tf.logical_not(fails), ["as asked"])]):
        total = tf.add_n([tf.reduce_sum(tf.identity(tensor)) for tensor in large])
    with tf.Session(narrow.target()) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="as asked"):
            session.run(total, {fails: True})
        assert session.run(total, {fails: False}) > 0
    assert all(not window._offered for window in windows(narrow))
