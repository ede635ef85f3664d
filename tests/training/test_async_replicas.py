"""Asynchronous replicas: staleness is measured, and a bound on it holds for every update."""

import threading

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster


@pytest.fixture
def cluster():
    started = Cluster("inprocess", ps=2, worker=2)
    yield started
    started.stop()


class Worker:
    """A worker whose gradient waits between reading parameters and updating them, until it is told to go on."""

    def __init__(self, cluster, index, bound):
        self.graph = tf.Graph()
        place = tf.train.replica_device_setter(ps_tasks=2, worker_device=f"/job:worker/task:{index}")
        with self.graph.as_default(), tf.device(place):
            step = tf.train.get_or_create_global_step()
            weights = tf.get_variable("weights", [2], initializer=tf.zeros_initializer())
            self.gate = tf.FIFOQueue(10, tf.float32, [[]])
            has_read = tf.FIFOQueue(10, tf.float32, [[]])
            self.has_read = has_read.dequeue()
            with tf.control_dependencies([has_read.enqueue(weights.read_value()[0])]):
                gradient = tf.ones([2]) * self.gate.dequeue()
            self.optimizer = tf.train.experimental.AsyncReplicasOptimizer(
                tf.train.GradientDescentOptimizer(1.0), staleness_bound=bound
            )
            self.train = self.optimizer.apply_gradients([(gradient, weights)], step)
            self.open = self.gate.enqueue(1.0)
            self.state = [self.optimizer.staleness, self.optimizer.num_dropped, weights, step]
            init = [tf.global_variables_initializer(), tf.local_variables_initializer()]
            self.session = tf.Session(cluster.target("worker", index))
            self.session.run(init if index == 0 else init[1])

    def begin(self):
        """Starts a step, which has read the parameters when this returns."""
        thread = threading.Thread(target=self.session.run, args=[self.train])
        thread.start()
        self.session.run(self.has_read)
        return thread

    def end(self, thread):
        self.session.run(self.open)
        thread.join(30)
        assert not thread.is_alive()
        return [value.tolist() for value in self.session.run(self.state)]

    def step(self):
        return self.end(self.begin())


@pytest.mark.parametrize("bound", [None, 2])
def test_updates_of_others_are_counted(cluster, bound):
    slow, fast = Worker(cluster, 0, bound), Worker(cluster, 1, bound)
    for count in range(1, 4):
        assert fast.step() == [0, 0, [-count, -count], count]
    assert slow.step() == [0, 0, [-4, -4], 4]  # it has read after them
    started = slow.begin()
    for count in range(5, 8):
        assert fast.step() == [0, 0, [-count, -count], count]
    assert slow.end(started) == ([3, 0, [-8, -8], 8] if bound is None else [3, 1, [-7, -7], 7])
    assert slow.step()[0] == 0
    slow.session.close(), fast.session.close()


def test_the_bound_holds_under_contention(cluster):
    """Two workers update at once; the bound is less than what they would miss of each other's updates."""
    missed, dropped, states, failed, ready = [], [], [], [], threading.Event()

    def run(index):
        place = tf.train.replica_device_setter(ps_tasks=2, worker_device=f"/job:worker/task:{index}")
        with tf.Graph().as_default(), tf.device(place):
            step = tf.train.get_or_create_global_step()
            weights = tf.get_variable("weights", [2], initializer=tf.zeros_initializer())
            inner = tf.train.GradientDescentOptimizer(1.0)
            optimizer = tf.train.experimental.AsyncReplicasOptimizer(inner, staleness_bound=0)
            train = optimizer.apply_gradients([(1.0 - 0.0 * weights, weights)], step)
            with tf.Session(cluster.target("worker", index)) as session:
                if index == 0:
                    session.run(tf.global_variables_initializer())
                    ready.set()
                ready.wait(20)
                session.run(tf.local_variables_initializer())
                for _ in range(30):
                    lost = session.run(optimizer.num_dropped)
                    session.run(train)
                    if session.run(optimizer.num_dropped) == lost:
                        missed.append(session.run(optimizer.staleness))
                dropped.append(session.run(optimizer.num_dropped))
                states.append((session.run(weights), session.run(step)))

    def guarded(index):
        try:
            run(index)
        except BaseException as error:
            failed.append(error)
            ready.set()

    threads = [threading.Thread(target=guarded, args=[index]) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed, failed
    assert max(missed) == 0
    weights, step = states[-1]
    np.testing.assert_array_equal(weights, [-step, -step])
    assert step == 60 - sum(dropped)


def test_bad_arguments():
    inner = tf.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="staleness_bound: expected at least 0"):
        tf.train.experimental.AsyncReplicasOptimizer(inner, -1)
    optimizer = tf.train.experimental.AsyncReplicasOptimizer(inner)
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.apply_gradients([(tf.constant(1.0), tf.Variable(1.0))])
