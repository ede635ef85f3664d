"""A cluster of tasks in one process under seeded schedules: its steps, and what ends them, in all orders."""

import contextlib
from types import SimpleNamespace

import pytest

import thalweg as tf
from tests.interleavings.explore import explore
from tests.interleavings.threads import nothing_is_left, run_all
from thalweg._src.cluster.distributed import master, master_service, peers, task_service, worker
from thalweg._src.cluster.distributed.master_service import ClientSession
from thalweg._src.runtime.resources.step import Step

SPEC = {"ps": ["localhost:1"], "worker": ["localhost:2"]}
PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


class Programs:
    """Steps over both tasks, some of which wait; one graph for all schedules."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.value = tf.placeholder(tf.int32, [])
            with tf.device(PS):
                queue = tf.FIFOQueue(4, tf.int32, [], shared_name="queue")
                self.put, self.size = queue.enqueue(self.value), queue.size()
                taken = queue.dequeue()
                own = tf.FIFOQueue(4, tf.int32, [], shared_name="own")
                self.put_there = own.enqueue(self.value * 2)
            with tf.device(WORKER):
                other = tf.FIFOQueue(4, tf.int32, [], shared_name="other")
                self.take = taken * 10  # the master's task waits for the other one
                self.put_here = other.enqueue(self.value)
                here = other.dequeue() + 1
                failed = tf.check_numerics(tf.log(tf.cast(self.value, tf.float32)), "no logarithm")
            with tf.device(PS):
                self.back = here * 2  # the other task waits for the master's
                self.negative = tf.negative(failed)
                # Both tasks send and wait at the same time.
                self.both = tf.group(own.dequeue() + here, failed)


PROGRAMS = Programs()
ENDED = (tf.errors.CancelledError, tf.errors.UnavailableError, tf.errors.AbortedError)


class Tasks:
    """The two tasks, and what the steps of their sessions gave."""

    def __init__(self):
        self.servers = {job: tf.train.Server(SPEC, job, 0, protocol="inprocess") for job in SPEC}
        self.values, self.errors = [], []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for server in self.servers.values():
            server.stop()

    def session(self, job="worker"):
        return tf.Session(self.servers[job].target, graph=PROGRAMS.graph)

    def run(self, session, name, value=None, **options):
        try:
            fetch = getattr(PROGRAMS, name)
            self.values.append(session.run(fetch, None if value is None else {PROGRAMS.value: value}, **options))
        except (tf.errors.OpError, RuntimeError) as error:
            self.errors.append(error)


@pytest.mark.parametrize("job", SPEC)
def test_steps_over_two_tasks_exchange_tensors(job):
    def body():
        with Tasks() as tasks, tasks.session(job) as session:
            run_all(
                lambda: [tasks.run(session, "put", number) for number in (1, 2)],
                lambda: [tasks.run(session, "take") for _ in range(2)],
                lambda: tasks.run(session, "put_here", 5),
                lambda: tasks.run(session, "back"),
            )
            assert not tasks.errors
            taken = [value for value in tasks.values if value is not None]
            assert sorted(taken) == [10, 12, 20] and taken.index(10) < taken.index(20)
        nothing_is_left()

    explore(body, 40)


@pytest.mark.parametrize("job", SPEC)
@pytest.mark.parametrize("name", ["take", "back", "both"])
def test_steps_that_wait_end_with_their_session(job, name):
    def body():
        with Tasks() as tasks:
            session = tasks.session(job)
            run_all(lambda: tasks.run(session, name, 1 if name == "both" else None), session.close)
            assert not tasks.values
            assert isinstance(tasks.errors[0], (*ENDED, RuntimeError))
            with tasks.session(job) as later:
                later.run(PROGRAMS.put, {PROGRAMS.value: 3})
                assert later.run(PROGRAMS.take) == 30
        nothing_is_left()

    explore(body, 30)


@pytest.mark.parametrize("job", SPEC)
@pytest.mark.parametrize("name", ["take", "back", "both"])
def test_steps_that_wait_end_in_time(job, name):
    def body():
        with Tasks() as tasks, tasks.session(job) as session:
            limit = tf.RunOptions(timeout_in_ms=5)
            tasks.run(session, name, 1 if name == "both" else None, options=limit)
            assert isinstance(tasks.errors[0], tf.errors.DeadlineExceededError)
            tasks.run(session, "put", 1)
            tasks.run(session, "take")
            assert tasks.values == [None, 10]
        nothing_is_left()

    explore(body, 30, early=True)


@pytest.mark.parametrize("job", SPEC)
@pytest.mark.parametrize("lost", SPEC)
@pytest.mark.parametrize("name", ["take", "back"])
def test_steps_end_when_a_task_is_stopped(job, lost, name):
    def body():
        with Tasks() as tasks:
            session = tasks.session(job)
            run_all(lambda: tasks.run(session, name), tasks.servers[lost].stop)
            assert not tasks.values and isinstance(tasks.errors[0], tf.errors.OpError)
            with contextlib.suppress(*ENDED):
                session.close()
        nothing_is_left()

    explore(body, 50, lines=[master, peers, worker])


@pytest.mark.parametrize("job", SPEC)
def test_a_step_that_fails_at_one_task_ends_at_the_other(job):
    def body():
        with Tasks() as tasks, tasks.session(job) as session:
            run_all(
                lambda: tasks.run(session, "both", -1),
                lambda: tasks.run(session, "negative", -1),
                lambda: tasks.run(session, "put", 1),
            )
            assert tasks.values == [None] and len(tasks.errors) == 2
            assert all("no logarithm" in str(error) for error in tasks.errors)
            tasks.run(session, "take")
            assert tasks.values[1:] == [10]
        nothing_is_left()

    explore(body, 40)


def test_a_step_of_a_client_is_ended_by_its_abort_whichever_comes_first():
    def body():
        with Tasks() as tasks:
            service, step = tasks.servers["worker"]._require().service, Step()
            session = ClientSession("client", PROGRAMS.graph, SimpleNamespace(name="session", close=lambda: None))
            service.master._sessions["session"] = session

            def begin():
                with contextlib.suppress(tf.errors.AbortedError):
                    service.master._begin(7, session, step)
                    begun.append(step)

            begun = []
            run_all(begin, lambda: service.abort(7, tf.errors.AbortedError(None, None, "no longer needed")))
            assert all(step.cancelled for step in begun)

    explore(body, 100, lines=[master_service, task_service])
