"""Fixtures: no test leaves a thread behind, and none has a cluster in its environment."""

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


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
