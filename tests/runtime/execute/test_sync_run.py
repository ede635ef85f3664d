"""Synchronous runs by themselves: which programs they fit, and how the wait of a step ends."""

import threading

import pytest

import thalweg as tf
from thalweg._src.base import errors
from thalweg._src.runtime.execute.sync_run import SynchronousRun, as_synchronous_run
from thalweg._src.runtime.resources.step import Step


@pytest.fixture(autouse=True)
def on_the_host():
    """A step that also needs a GPU has several programs, and no synchronous run."""
    with tf.device("/cpu:0"):
        yield


@pytest.fixture
def queue(on_the_host):
    queue = tf.FIFOQueue(4, tf.float32, [[]])
    return queue, queue.enqueue(1.5), queue.dequeue()


def executable_of(session, *fetches):
    return session._plan(list(fetches), ()).executable


def test_a_program_with_one_blocking_node_is_a_synchronous_run(queue):
    _, _, value = queue
    with tf.Session() as session:
        executable = executable_of(session, value * 2.0)
        assert isinstance(executable._function, SynchronousRun)
        assert executable.function is None  # it blocks
        executable = executable_of(session, tf.constant(1.0) * 2.0)
        assert as_synchronous_run(executable.programs[0]) is None
        executable = executable_of(session, value, queue[0].dequeue())
        assert as_synchronous_run(executable.programs[0]) is None


def test_segments_before_and_after_the_wait_run_on_this_thread(queue):
    _, enqueue, value = queue
    threads = []

    def note(x):
        threads.append(threading.get_ident())
        return x

    result = tf.py_func(note, [value], tf.float32) + 1.0
    with tf.Session() as session:
        session.run(enqueue)
        assert session.run(result) == 2.5
    assert threads == [threading.get_ident()]


def test_a_cancelled_step_wakes_the_thread_that_waits(queue):
    _, _, value = queue
    with tf.Session() as session:
        run = executable_of(session, value)._function
        step = Step()
        timer = threading.Timer(0.05, step.fail, [errors.CancelledError(None, None, "no longer")])
        timer.start()
        with pytest.raises(tf.errors.CancelledError, match="no longer"):
            run(step)
        timer.join()
        assert not run.is_ending(step)


def test_a_step_that_was_cancelled_before_does_not_wait(queue):
    _, enqueue, value = queue
    with tf.Session() as session:
        session.run(enqueue)
        step = Step()
        step.fail(errors.CancelledError(None, None, "before"))
        with pytest.raises(tf.errors.CancelledError, match="before"):
            executable_of(session, value)._function(step)
        assert session.run(queue[0].size()) == 1


def test_an_error_after_the_wait_fails_the_step(queue):
    _, enqueue, value = queue
    with tf.Session() as session:
        session.run(enqueue)
        step = Step()
        failing = tf.check_numerics(value / 0.0, "not finite", name="checked")
        with pytest.raises(tf.errors.InvalidArgumentError, match="not finite") as info:
            executable_of(session, failing)._function(step)
        assert step.cancelled and info.value.op.name == "checked"
