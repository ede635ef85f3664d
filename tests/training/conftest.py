"""Checks that no test leaves a thread behind."""

import threading
import time

import pytest

import thalweg as tf

POOLS = ("thalweg", "ThreadPoolExecutor")  # threads that serve every session of the process


def own_threads():
    return {thread for thread in threading.enumerate() if not thread.name.startswith(POOLS)}


@pytest.fixture(autouse=True)
def _no_threads_left():
    before = own_threads()
    yield
    tf.summary.FileWriterCache.clear()
    until = time.monotonic() + 5
    while (left := own_threads() - before) and time.monotonic() < until:
        time.sleep(0.01)
    assert not left


@pytest.fixture
def counting(graph):
    """The global step, and an operation that counts it up."""
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def train(session, count):
    """Runs an operation until the session should stop; returns its values."""
    values = []
    while not session.should_stop():
        values.append(session.run(count))
    return values


def events(folder):
    """Returns the events of a folder."""
    tf.summary.FileWriterCache.clear()
    return [event for path in sorted(folder.glob("events*")) for event in tf.train.summary_iterator(str(path))]
