"""Recovery of monitored sessions from lost tasks: what is restored, what stays, and what the log says."""

import logging
import threading
import time

import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster
from thalweg._src.training import session_layers

PS = "/job:ps/replica:0/task:0"


@pytest.fixture
def cluster():
    """A parameter server and a worker, over sockets."""
    made = Cluster("sockets", ps=1, worker=1)
    yield made
    tf.summary.FileWriterCache.clear()
    made.stop()


@pytest.fixture
def lines(caplog):
    """Returns a function that returns the warnings that contain a text."""
    caplog.set_level(logging.WARNING, "thalweg")
    return lambda text: [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING and text in r.message]


def counting(has_input=True):
    """Returns a global step at the parameter server that is counted up, and numbers from a queue at the worker."""
    with tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")):
        count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        numbers = [tf.train.range_input_producer(1000, shuffle=False, capacity=4).dequeue()] if has_input else []
    return [count, *numbers]


class Failing(tf.train.SessionRunHook):
    """Raises an error when a session is created, so many times."""

    def __init__(self, times):
        self.left = times

    def after_create_session(self, session, coord):
        if self.left:
            self.left -= 1
            raise tf.errors.UnavailableError(None, None, "gone")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_restarted_parameter_server_is_restored(cluster, lines, tmp_path, asynchronous):
    fetches = counting()
    with tf.train.MonitoredTrainingSession(
        cluster.target(),
        checkpoint_dir=str(tmp_path),
        save_checkpoint_steps=2,
        save_summaries_steps=None,
        asynchronous_checkpoints=asynchronous,
    ) as session:
        assert [session.run(fetches)[0] for _ in range(5)] == [1, 2, 3, 4, 5]
        while not (tf.train.latest_checkpoint(str(tmp_path)) or "").endswith("-4"):  # it may still be written
            time.sleep(0.01)
        cluster.servers["ps", 0].stop()
        cluster.start("ps", 0)
        found = [session.run(fetches) for _ in range(3)]
    assert [count for count, _ in found] == [5, 6, 7]  # the checkpoint has step 4
    numbers = [number for _, number in found]
    assert numbers == list(range(numbers[0], numbers[0] + 3)) and numbers[0] >= 5  # the queue is the one of before
    assert len(lines("the session is lost")) == len(lines("training continues in a new session")) == 1
    assert PS in lines("the session is lost")[0]
    assert not lines("does not increase")


def test_a_session_that_is_lost_while_it_is_created_leaves_queues_open(cluster):
    fetches = counting()
    with tf.train.MonitoredTrainingSession(cluster.target(), hooks=[Failing(2)]) as session:
        assert [session.run(fetches)[0] for _ in range(10)] == list(range(1, 11))


def test_a_session_that_can_never_be_created_is_an_error(cluster, monkeypatch):
    monkeypatch.setattr(session_layers, "_GIVE_UP_SECONDS", 0.5)
    counting()
    with pytest.raises(tf.errors.UnavailableError, match="gone"):
        tf.train.MonitoredTrainingSession(cluster.target(), hooks=[Failing(100)])


def test_a_worker_notices_soon_that_the_chief_has_initialized_the_model(cluster):
    """The time to wait is shorter than the one between two messages."""
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(3.0)
    ready, initialize = tf.report_uninitialized_variables(), tf.global_variables_initializer()
    manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=30)
    with tf.Session(cluster.target()) as chief:
        timer = threading.Timer(1.2, chief.run, [initialize])
        timer.start()
        with manager.wait_for_session(cluster.target(), max_wait_secs=20) as session:
            assert session.run(v) == 3.0
        timer.join()


def test_a_worker_outlives_a_restart_while_it_waits(cluster):
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(3.0)
    ready, initialize = tf.report_uninitialized_variables(), tf.global_variables_initializer()
    manager = tf.train.SessionManager(ready_op=ready)

    def restart():
        cluster.servers["ps", 0].stop()
        cluster.start("ps", 0)
        with tf.Session(cluster.target(), graph=v.graph) as chief:
            chief.run(initialize)

    timer = threading.Timer(1.2, restart)
    timer.start()
    with manager.wait_for_session(cluster.target(), max_wait_secs=30) as session:
        assert session.run(v) == 3.0
    timer.join()


def test_a_chief_without_a_folder_warns_once(cluster, lines):
    fetches = counting()
    with tf.train.MonitoredTrainingSession(cluster.target(), hooks=[tf.train.StopAtStepHook(last_step=3)]) as session:
        while not session.should_stop():
            session.run(fetches)
    assert len(lines("without checkpoint_dir: if a parameter server is lost, training starts over")) == 1


def test_a_damaged_checkpoint_is_passed_over_with_one_warning(cluster, lines, tmp_path):
    count = counting(has_input=False)

    def train(last):
        hooks = [tf.train.StopAtStepHook(last_step=last)]
        with tf.train.MonitoredTrainingSession(
            cluster.target(), checkpoint_dir=str(tmp_path), save_checkpoint_steps=2, hooks=hooks
        ) as session:
            return [session.run(count)[0] for _ in iter(session.should_stop, True)]

    assert train(4) == [1, 2, 3, 4]
    (data,) = tmp_path.glob("model.ckpt-4.data-*")
    data.write_bytes(bytes(byte ^ 1 for byte in data.read_bytes()))
    assert train(6) == [3, 4, 5, 6]
    assert len(lines("cannot be used")) == len(lines("model.ckpt-4")) == 1
