"""Runs that may wait, in threads of their own."""

import threading
import time

import thalweg as tf

SECONDS = 20


class Waiting:
    """A run in a thread of its own, and what came of it."""

    def __init__(self, session, fetches, feeds=None):
        self.value = self.error = None
        self._args = (fetches, feeds)
        self._session = session
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self.value = self._session.run(*self._args)
        except Exception as error:
            self.error = error

    def is_waiting(self, seconds=0.05):
        self._thread.join(seconds)
        return self._thread.is_alive()

    def result(self):
        self._thread.join(SECONDS)
        assert not self._thread.is_alive(), "still waiting"
        if self.error is not None:
            raise self.error
        return self.value


def until(condition):
    """Waits for a condition, which must come true before the test's time is over."""
    while not condition():
        time.sleep(0.002)


def error_of(session, fetches, feeds=None, milliseconds=10_000):
    """Returns the class of the error that a run ends with."""
    try:
        session.run(fetches, feeds, tf.RunOptions(timeout_in_ms=milliseconds))
    except tf.errors.OpError as error:
        return type(error)
    return None
