"""Concurrent steps of one session: each ends with values or a typed error, and takes all of its effects or none."""

import contextlib

import numpy as np
import pytest

import thalweg as tf
from tests.interleavings.explore import explore
from tests.interleavings.threads import nothing_is_left, run_all
from thalweg._src.runtime.resources.step import Step


class Queues:
    """A queue with steps that put, take and wait in several ways; one graph for all schedules."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            queue = tf.FIFOQueue(3, tf.int32, [])
            other = tf.FIFOQueue(3, tf.int32, [], shared_name="other")
            self.value = tf.placeholder(tf.int32, [])
            self.put = queue.enqueue(self.value)
            self.take = queue.dequeue()  # one blocking node: on the caller's thread
            taken, more = queue.dequeue(), queue.dequeue()
            self.take_two = [taken, more]  # on the pool
            self.move = other.enqueue(queue.dequeue() * 1)
            self.take_moved = other.dequeue()
            self.size, self.moved = queue.size(), other.size()
            self.close = queue.close()
            self.negative = -self.value


QUEUES = Queues()


class Runs:
    """What the runs of a session gave."""

    def __init__(self, session):
        self.session = session
        self.values, self.errors = [], []

    def run(self, *args, **options):
        try:
            self.values.append(self.session.run(*args, **options))
        except tf.errors.OpError as error:
            self.errors.append(error)
        except RuntimeError as error:
            assert str(error) == "Attempted to use a closed Session."
            self.errors.append(error)


def limit(milliseconds):
    return tf.RunOptions(timeout_in_ms=milliseconds)


@pytest.mark.parametrize(("fetch", "most"), [("take", 1), ("take_two", 2), ("move", 1)])
def test_elements_are_in_order_and_only_steps_that_time_out_lose_some(fetch, most):
    """A step that times out may have taken an element that its other operations still needed."""

    def body(draw):
        first, second = draw.choice([1, 2]), draw.choice([1, 2])
        with tf.Session(graph=QUEUES.graph) as session:
            puts, takes, others = Runs(session), Runs(session), Runs(session)
            run_all(
                lambda: [puts.run(QUEUES.put, {QUEUES.value: number}) for number in range(2)],
                lambda: takes.run(getattr(QUEUES, fetch), options=limit(first)),
                lambda: others.run(QUEUES.take, options=limit(second)),
            )
            errors = takes.errors + others.errors
            assert all(isinstance(error, tf.errors.DeadlineExceededError) for error in errors)
            assert not puts.errors
            left = [session.run(QUEUES.take) for _ in range(session.run(QUEUES.size))]
            moved = [session.run(QUEUES.take_moved) for _ in range(session.run(QUEUES.moved))]
            taken = [*(number for value in takes.values if value is not None for number in np.ravel(value)), *moved]
            assert left == sorted(left) and taken == sorted(taken)
            found = [*left, *taken, *others.values]
            assert sorted(set(found)) == sorted(found)
            assert len(found) >= 2 - most * len(takes.errors) - len(others.errors)
        nothing_is_left()

    explore(body, 150, early=True)


def test_results_that_come_as_the_time_is_up_are_returned():
    def body():
        with tf.Session(graph=QUEUES.graph) as session:
            executable, step = session._plan(QUEUES.take, ()).executable, Step()
            step.limit(1)
            taken, arrived = [], []

            def take():
                with contextlib.suppress(tf.errors.DeadlineExceededError):
                    taken.append(executable.run(step, []))

            def put():
                session.run(QUEUES.put, {QUEUES.value: 1})
                arrived.append(getattr(step.finished, "results", None) is not None and not step.cancelled)

            run_all(take, put)
            assert taken or not arrived[0]
        nothing_is_left()

    explore(body, 200, early=True)


@pytest.mark.parametrize("fetch", ["take", "take_two", "move"])
def test_steps_end_when_their_session_is_closed(fetch):
    def body():
        session = tf.Session(graph=QUEUES.graph)
        runs = Runs(session)
        run_all(
            lambda: runs.run(getattr(QUEUES, fetch)),
            lambda: runs.run(QUEUES.put, {QUEUES.value: 1}),
            lambda: runs.run(QUEUES.close),
            session.close,
        )
        assert len(runs.values) + len(runs.errors) == 3
        nothing_is_left()

    explore(body, 200)


def test_partial_runs_end_when_their_session_is_closed():
    def body():
        session = tf.Session(graph=QUEUES.graph)
        ended = []

        def run():
            try:
                handle = session.partial_run_setup([QUEUES.negative, QUEUES.take], [QUEUES.value])
                ended.append(session.partial_run(handle, QUEUES.negative, {QUEUES.value: 1}))
                session.partial_run(handle, QUEUES.take)
            except (tf.errors.CancelledError, tf.errors.InvalidArgumentError) as error:  # the handle may be forgotten
                ended.append(error)

        run_all(run, session.close)
        assert isinstance(ended.pop(), tf.errors.OpError) and ended in ([], [-1])
        nothing_is_left()

    explore(body, 200)
