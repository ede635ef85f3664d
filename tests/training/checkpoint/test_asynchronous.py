"""Asynchronous saves: training continues, snapshots are consistent, and failures are raised."""

import sys
import threading

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.base.formats import durable
from thalweg._src.runtime.resources.checkpoint_writers import BackgroundWriter, writer_for


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def slow_disk(monkeypatch):
    """Blocks every write until the test releases it."""
    go = threading.Event()
    original = durable.write_all

    def write_all(file, data):
        assert go.wait(60)
        original(file, data)

    monkeypatch.setattr(durable, "write_all", write_all)
    yield go
    go.set()


@pytest.mark.parametrize("sharded", [False, True])
def test_training_continues_while_a_snapshot_is_written(tmp_path, slow_disk, sharded):
    v = tf.get_variable("v", initializer=tf.zeros([1000]))
    words = tf.get_variable("words", initializer=tf.constant(["old"]))
    step = tf.train.get_or_create_global_step()
    train = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(v - 1)), global_step=step)
    saver = tf.train.Saver(asynchronous=True, sharded=sharded)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        at_save = session.run(tf.global_variables())
        prefix = saver.save(session, str(tmp_path / "model"), global_step=step)
        assert prefix.endswith("model-3")
        for _ in range(5):
            session.run(train)
        session.run(words.assign(["new"]))
        assert tf.train.latest_checkpoint(str(tmp_path)) is None, "nothing is written yet"
        assert saver.last_checkpoints == []
        slow_disk.set()
        saver.wait()
        assert tf.train.latest_checkpoint(str(tmp_path)) == prefix and saver.last_checkpoints == [prefix]
        assert session.run(step) == 8
        saver.restore(session, prefix)
        for before, after in zip(at_save, session.run(tf.global_variables())):
            np.testing.assert_array_equal(after, before)


def test_saves_run_one_after_another_in_order(tmp_path):
    v = tf.get_variable("v", initializer=0.0)
    saver = tf.train.Saver(asynchronous=True, max_to_keep=2)
    with tf.Session() as session:
        session.run(v.initializer)
        paths = []
        for i in range(6):
            session.run(v.assign_add(1))
            paths.append(saver.save(session, str(tmp_path / "model"), global_step=i))
        saver.close()
        assert saver.last_checkpoints == paths[4:]
        assert [tf.train.load_variable(path, "v") for path in paths[4:]] == [5.0, 6.0]
        assert writer_for(paths[0]) is None


def test_a_failure_is_raised_by_the_next_save_or_wait(tmp_path, monkeypatch):
    v = tf.get_variable("v", initializer=0.0)
    saver = tf.train.Saver(asynchronous=True)
    original = durable.write_all

    def broken(file, data):
        raise OSError(28, "No space left on device")

    with tf.Session() as session:
        session.run(v.initializer)
        first = saver.save(session, str(tmp_path / "model"), global_step=0)
        saver.wait()
        for meet in (saver.wait, lambda: saver.save(session, str(tmp_path / "model"), global_step=9)):
            monkeypatch.setattr(durable, "write_all", broken)
            saver.save(session, str(tmp_path / "model"), global_step=1)
            saver._writer._thread and saver._writer._thread.join()
            monkeypatch.setattr(durable, "write_all", original)
            with pytest.raises(tf.errors.ResourceExhaustedError, match="No space"):
                meet()
        saver.wait()
        assert tf.train.latest_checkpoint(str(tmp_path)) == first
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "checkpoint",
            "model-0.data-00000-of-00001",
            "model-0.index",
            "model-0.meta",
        ]
        second = saver.save(session, str(tmp_path / "model"), global_step=2)
        saver.wait()
        assert saver.last_checkpoints == [first, second]


def test_uninitialized_variables_are_reported_immediately(tmp_path):
    tf.get_variable("v", initializer=0.0)
    saver = tf.train.Saver(asynchronous=True)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError):
        saver.save(session, str(tmp_path / "model"))
    saver.wait()


def test_a_snapshot_is_consistent(tmp_path):
    """Another thread trains continuously; variables that are updated together are saved together."""
    variables = [tf.get_variable(f"v{i}", initializer=tf.zeros([50])) for i in range(40)]
    train = tf.train.GradientDescentOptimizer(1.0).minimize(-tf.add_n([tf.reduce_sum(v) for v in variables]))
    saver = tf.train.Saver(asynchronous=True, max_to_keep=None)
    stop = threading.Event()
    interval = sys.getswitchinterval()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def steps():
            while not stop.is_set():
                session.run(train)

        thread = threading.Thread(target=steps)
        thread.start()
        sys.setswitchinterval(1e-6)
        paths = [saver.save(session, str(tmp_path / "model"), i, write_meta_graph=False) for i in range(30)]
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
        saver.wait()
    seen = set()
    for path in paths:
        reader = tf.train.load_checkpoint(path)
        values = np.stack([reader.get_tensor(f"v{i}") for i in range(40)])
        assert len(set(values.ravel().tolist())) == 1
        seen.add(values[0, 0])
    assert len(seen) > 10


def test_the_writer_continues_after_failures():
    writer, done = BackgroundWriter(), []

    def fail():
        raise ValueError("no")

    for number in range(4):
        if number % 2:
            writer.put(fail)
        writer.put(lambda n=number: done.append(n))
        writer.put(lambda n=number: done.append(f"end {n}"), ends=True)
    with pytest.raises(ValueError, match="no"):
        writer.wait()
    writer.wait()
    assert done == [0, "end 0", 2, "end 2"]
