"""Early steps: over networks with delay, other tasks start the next step of a loop before the client asks for it."""

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster
from thalweg._src.cluster.distributed.connection import Connection
from thalweg._src.cluster.distributed.early_steps import Loop, Runs

TRUSTED = 4  # runs, one after another, with the last of which the next step is asked for


@pytest.fixture
def cluster(monkeypatch):
    """Two parameter servers and a worker, ten seconds apart, as they believe."""
    monkeypatch.setenv("THALWEG_CLUSTER_TRANSPORT", "tcp")
    monkeypatch.setattr(Connection, "round_trip", 10.0)
    cluster = Cluster("tcp", ps=2, worker=1)
    yield cluster
    cluster.stop()


def runs(cluster):
    return cluster.servers["worker", 0]._require().worker.runs


def early(session, fetches, feeds=()):
    """Returns the step of some fetches that other tasks have started."""
    return session._plan(fetches, tuple(feeds)).executable._loop.early


def training():
    """Returns a variable, a rate and an update that depends on both, by way of the worker."""
    with tf.device("/job:ps/task:0"):
        v, rate = tf.get_variable("v", initializer=np.ones(3, np.float32)), tf.get_variable("rate", initializer=1.0)
    with tf.device("/job:ps/task:1"):
        count = tf.get_variable("count", initializer=0)
    with tf.device("/job:worker/task:0"):
        change = v * rate
        updates = tf.group(v.assign_add(change), count.assign_add(tf.cast(change[0] * 0.0, tf.int32) + 1))
    return v, rate, count, updates


def test_the_next_step_of_a_loop_starts_with_the_variables_of_this_one(cluster):
    v, _, count, train = training()
    with tf.Session(cluster.target()) as session:
        session.run(tf.global_variables_initializer())
        numbers = []
        for _ in range(10):
            session.run(train)
            numbers.append(getattr(early(session, train), "number", None))
        assert numbers[: TRUSTED - 1] == [None] * (TRUSTED - 1) and len(set(numbers[TRUSTED - 1 :])) == 11 - TRUSTED
        values, steps = session.run([v, count])
    assert values.tolist() == [2.0**10] * 3 and steps == 10, "a step that started early has changed nothing"


@pytest.mark.parametrize("is_same", [True, False], ids=["same session", "other session"])
def test_a_step_sees_what_was_written_after_the_last_one(cluster, is_same):
    v, rate, _, train = training()
    with tf.Session(cluster.target()) as session, tf.Session(cluster.target()) as other:
        session.run(tf.global_variables_initializer())
        for _ in range(TRUSTED):
            session.run(train)
        assert early(session, train) is not None
        (session if is_same else other).run(rate.assign(0.0))
        session.run(train)
        assert session.run(v).tolist() == [2.0**TRUSTED] * 3


def test_a_step_with_a_time_limit_or_a_trace_starts_anew(cluster):
    v, _, _, train = training()
    with tf.Session(cluster.target()) as session:
        session.run(tf.global_variables_initializer())
        for options in (tf.RunOptions(timeout_in_ms=60_000), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)):
            for _ in range(TRUSTED):
                session.run(train)
            session.run(train, options=options, run_metadata=tf.RunMetadata())
        assert session.run(v).tolist() == [2.0 ** (2 * TRUSTED + 2)] * 3


def test_steps_that_were_started_in_vain_end(cluster):
    v, _, _, train = training()
    workers = [cluster.servers["ps", index]._require().worker for index in range(2)]
    with tf.Session(cluster.target()) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(TRUSTED):
            session.run(train)
        loop = session._plan(train, ()).executable._loop
        loop.patience = -2.0
        runs(cluster).drop()
        assert loop.early is None
        loop.patience = 10.0
        session.run(train)
        for _ in range(2 * TRUSTED):
            session.run(train)
        assert loop.early is not None
    while any(worker.waiting() for worker in workers):
        pass
    with tf.Session(cluster.target()) as session:
        assert session.run(v).tolist() == [2.0 ** (3 * TRUSTED + 1)] * 3


def test_errors_end_the_next_step_too(cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", initializer=1.0)
    x = tf.placeholder(tf.float32, [])
    with tf.device("/job:worker/task:0"):
        change = tf.check_numerics(v * x, "too large")
    update = v.assign_add(change)
    workers = [cluster.servers["ps", index]._require().worker for index in range(2)]
    with tf.Session(cluster.target()) as session:
        session.run(v.initializer)
        for _ in range(TRUSTED):
            session.run(update, {x: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
            session.run(update, {x: np.inf})
        while any(worker.waiting() for worker in workers):
            pass
        assert session.run(update, {x: 0.0}) == 2.0**TRUSTED


def test_only_steps_that_read_at_first_start_early(cluster):
    def starts_early(fetch):
        with tf.Session(cluster.target()) as session:
            session.run(tf.global_variables_initializer())
            return session._plan(fetch, ()).executable._may_start_early

    with tf.device("/job:ps/task:0"):
        v, queue = tf.get_variable("v", initializer=1.0), tf.FIFOQueue(3, tf.float32)
        random, counted, taken = tf.random_uniform([]), v.assign_add(1.0), queue.dequeue()
    with tf.device("/job:worker/task:0"):
        read, of_random, of_counted, of_taken = v * 2.0, random * 2.0, counted * 2.0, taken * 2.0
    with tf.device("/job:ps/task:1"):
        w = tf.get_variable("w", initializer=0.0)
        direct, by_worker = w.assign_add(v * 3.0), w.assign_add(read)
        put_later = queue.enqueue(read)
    with tf.device("/job:worker/task:0"):
        of_direct, of_late = direct * 2.0, by_worker * 2.0
    assert starts_early(read) and starts_early(of_late) and starts_early(put_later)
    assert not any(map(starts_early, (of_random, of_counted, of_taken, of_direct)))


class Early:
    """A step that notes whether it was dropped."""

    is_dropped = False

    def drop(self):
        self.is_dropped = True


def loop_with_trust():
    runs = Runs()
    loop = Loop(runs, "session")
    for _ in range(TRUSTED):
        number = runs.begin()
        assert loop.next() is None
        goes_on = loop.goes_on(10.0)
        runs.end(number)
        loop.end(None)
    assert goes_on
    return runs, loop


def test_a_run_beside_the_last_one_does_not_matter_and_one_after_it_does():
    for is_after in (False, True):
        runs, loop = loop_with_trust()
        early = Early()
        first = runs.begin()
        beside = 0 if is_after else runs.begin()
        runs.end(first)
        loop.end(early)
        runs.end(runs.begin() if is_after else beside)
        assert loop.next() is (None if is_after else early) and early.is_dropped == is_after


def test_a_loop_that_is_interrupted_is_not_trusted_for_some_runs():
    runs, loop = loop_with_trust()
    runs.end(runs.begin())
    assert loop.next() is None and not loop.goes_on(10.0)


def test_nothing_starts_early_on_a_network_without_delay():
    _, loop = loop_with_trust()
    assert not loop.goes_on(0.0001)
    assert loop.next() is None


def test_a_second_thread_replaces_the_step_of_the_first():
    _, loop = loop_with_trust()
    early = Early(), Early()
    loop.end(early[0])
    loop.end(early[1])
    assert early[0].is_dropped and loop.next() is early[1]
