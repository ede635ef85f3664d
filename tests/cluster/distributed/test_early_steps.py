"""Early steps: over networks with delay, other tasks start the next step of a loop before the client asks for it."""

import contextvars
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster
from thalweg._src.cluster.distributed.connection import Connection
from thalweg._src.cluster.distributed.early_steps import Loop, Runs
from thalweg._src.runtime.resources.step import is_unobserved

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


def test_a_step_sees_what_was_written_beside_the_last_one(cluster):
    """By a thread that the program has waited for."""
    v, rate, _, train = training()
    with tf.device("/job:ps/task:1"):
        queue = tf.FIFOQueue(1, tf.float32, shared_name="go")
        go = queue.enqueue(0.0)
    with tf.device("/job:worker/task:0"):
        write = rate.assign(queue.dequeue())
    with tf.Session(cluster.target()) as session, ThreadPoolExecutor(1) as pool:
        session.run(tf.global_variables_initializer())
        for _ in range(TRUSTED - 1):
            session.run(train)
        writing = pool.submit(session.run, write.op)
        session.run(train)
        session.run(go)
        writing.result()
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


def run(loop, early=None):
    """Runs a loop once; returns the step that had started early, and whether the next one is asked for."""
    with loop._runs.counted() as before:
        taken, goes_on = loop.next(), loop.goes_on(10.0)
        loop.end(early, before)
    return taken, goes_on


def loop_with_trust():
    runs = Runs()
    loop = Loop(runs, "session")
    assert [run(loop) for _ in range(TRUSTED)][-1] == (None, True)
    return runs, loop


@pytest.mark.parametrize("begins", ["before", "within", "after"])
def test_a_run_that_has_ended_since_the_last_one_began_may_have_written(begins):
    runs, loop = loop_with_trust()
    early, other = Early(), runs.counted()
    if begins == "before":
        other.__enter__()
    with runs.counted() as before:
        loop.goes_on(10.0)
        if begins == "within":
            other.__enter__()
        loop.end(early, before)
    if begins == "after":
        other.__enter__()
    other.__exit__(None, None, None)
    assert loop.next() is None and early.is_dropped


def test_runs_that_last_or_whose_end_nothing_learns_do_not_matter():
    runs, loop = loop_with_trust()
    early = Early()
    with runs.counted():
        run(loop, early)
        context = contextvars.copy_context()
        context.run(is_unobserved.set, True)
        context.run(run, Loop(runs, "queue runner"))
        assert loop.next() is early


def test_a_loop_that_is_interrupted_is_not_trusted_for_some_runs():
    runs, loop = loop_with_trust()
    run(Loop(runs, "other"))
    assert loop.next() is None and not loop.goes_on(10.0)


def test_nothing_starts_early_on_a_network_without_delay():
    _, loop = loop_with_trust()
    assert not loop.goes_on(0.0001)
    assert loop.next() is None


def test_a_second_thread_replaces_the_step_of_the_first():
    runs, loop = loop_with_trust()
    early = Early(), Early()
    loop.goes_on(10.0)
    with runs.counted() as before:
        loop.end(early[0], before)
        loop.end(early[1], before)
    assert early[0].is_dropped and loop.next() is early[1]
