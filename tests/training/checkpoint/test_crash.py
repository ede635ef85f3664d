"""A save that is killed at any moment leaves a checkpoint that can be loaded, and a full disk leaves the old one."""

import os
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests import children
from tests.training.checkpoint import tracing

SMALL = ("numbered", "same", "sharded", "asynchronous")


def _killed(folder, moments, kinds):
    """Yields for each kind of save how many moments were tried in which it was killed, and the calls there."""
    result = children.run(
        [sys.executable, Path(__file__).with_name("crash_worker.py"), folder, moments, *kinds],
        env=children.environment(OMP_NUM_THREADS="1"),
    )
    lines = [line.split() for line in result.stdout.splitlines()]
    assert len(lines) == len(kinds)
    return [(int(tried), set(calls)) for tried, *calls in lines]


traceable = pytest.mark.skipif(not tracing.is_permitted(), reason="processes cannot be followed here")


@pytest.fixture
def quick_folder(tmp_path):
    """A folder in memory, if there is one: a killed process leaves the same there as on disk."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path) as folder:
        yield folder


@traceable
@pytest.mark.parametrize("moments", ["files", pytest.param("system", marks=pytest.mark.slow)])
@pytest.mark.timeout(600)
def test_killed_at_every_system_call(quick_folder, moments):
    for tried, calls in _killed(quick_folder, moments, SMALL):
        assert tried > 40
        assert {"openat", "write", "fsync", "close"} <= calls
        assert calls & {"rename", "renameat", "renameat2"} and calls & {"unlink", "unlinkat"}


@traceable
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_at_every_system_call_with_direct_io(tmp_path):
    for tried, calls in _killed(tmp_path, "system", ["large", "large_asynchronous"]):
        assert tried > 60
        assert {"fadvise64", "fcntl", "write", "fsync"} <= calls


@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.slow if k != "same" else ()) for k in SMALL])
@pytest.mark.timeout(600)
def test_killed_before_during_and_after_every_python_call(quick_folder, kind):
    ((tried, calls),) = _killed(quick_folder, "python", [kind])
    assert tried > 60
    assert {"open", "write", "fsync", "replace", "unlink"} <= calls


@pytest.fixture
def limited_files():
    """Limits files to a few thousand bytes, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", ["numbered", "same", "sharded", "asynchronous"])
@pytest.mark.parametrize("size", [10, 100, 3000])
def test_a_full_disk_keeps_the_old_checkpoint(tmp_path, limited_files, kind, size):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", [1000], initializer=tf.ones_initializer())
        saver = tf.train.Saver(max_to_keep=1, sharded=kind == "sharded", asynchronous=kind == "asynchronous")
        session.run(v.initializer)
        old = saver.save(session, str(tmp_path / "model"), None if kind == "same" else 1, write_meta_graph=False)
        saver.wait()
        session.run(v.assign(v + 1))
        limited_files(size)
        with pytest.raises(tf.errors.ResourceExhaustedError):
            saver.save(session, str(tmp_path / "model"), None if kind == "same" else 2, write_meta_graph=False)
            saver.wait()
        limited_files(resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        assert tf.train.latest_checkpoint(str(tmp_path)) == old
        assert not [path for path in tmp_path.rglob("*") if "tempstate" in path.name]
        saver.restore(session, old)
        np.testing.assert_array_equal(session.run(v), np.ones(1000))
        # Afterwards, with space available again, saving continues.
        session.run(v.assign(v + 4))
        new = saver.save(session, str(tmp_path / "model"), None if kind == "same" else 3)
        saver.restore(session, new)
        np.testing.assert_array_equal(session.run(v), np.full(1000, 5))
