"""A save that is killed at any moment leaves a checkpoint that can be loaded, and a full disk leaves the old one."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("kind", ["numbered", "same", "sharded"])
def test_killed_at_every_call_to_the_system(tmp_path, kind):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    result = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("crash_worker.py")), str(tmp_path), kind],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    tried, *calls = result.stdout.split()
    assert int(tried) > 60
    assert {"open", "write", "fsync", "replace", "unlink"} <= set(calls)


@pytest.fixture
def limited_files():
    """Lets files have a few thousand bytes at most, as on a disk that is nearly full."""
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
        # Afterwards, with room again, saving goes on.
        session.run(v.assign(v + 4))
        new = saver.save(session, str(tmp_path / "model"), None if kind == "same" else 3)
        saver.restore(session, new)
        np.testing.assert_array_equal(session.run(v), np.full(1000, 5))
