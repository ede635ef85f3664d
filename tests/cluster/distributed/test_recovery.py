"""Recovery of monitored sessions from lost tasks: what is restored, what stays, and what the log says."""

import logging
import re
import signal
import threading
import time
from types import SimpleNamespace

import pytest

import thalweg as tf
from tests.cluster.distributed.clusters import Cluster, addresses, processes
from thalweg._src.cluster.distributed import endpoint
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
def two_workers():
    made = Cluster("sockets", ps=1, worker=2)
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


def pull(cluster, job, index, other=PS):
    """Ends the connections between two tasks, as a network does that fails."""
    cluster.servers[job, index]._require().service.endpoint.links[other].close("the cable was pulled")


def trainer(cluster, folder=None, index=0, container="", **options):
    """Returns a monitored session of a worker, and what it runs: it adds one to a variable and to the global step."""
    setter = tf.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{index}")
    with tf.Graph().as_default(), tf.device(setter), tf.container(container):
        step = tf.train.get_or_create_global_step()
        count = tf.get_variable("count", [], initializer=tf.zeros_initializer())
        update = tf.group(count.assign_add(1.0), tf.assign_add(step, 1))
        session = tf.train.MonitoredTrainingSession(
            cluster.target("worker", index),
            index == 0,
            None if folder is None else str(folder),
            config=tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"]),
            save_checkpoint_steps=4,
            save_summaries_steps=None,
            log_step_count_steps=None,
            **options,
        )

    def run(times=1):
        for _ in range(times):
            session.run([update, step])
        return [
            int(value) for value in session.run_step_fn(lambda step_context: step_context.session.run([step, count]))
        ]

    return session, run


@pytest.mark.parametrize("saves", [True, False])
def test_a_chief_that_was_cut_off_undoes_nothing(two_workers, lines, tmp_path, saves):
    cluster = two_workers
    chief, run = trainer(cluster, tmp_path if saves else None)
    worker, work = trainer(cluster, index=1)
    with worker, chief:
        assert run(6) == [6, 6] and work(1) == [7, 7]
        for steps in (8, 9):
            pull(cluster, "worker", 0)
            assert run(1) == [steps, steps]
        assert work(1) == [10, 10]
    assert len(lines("the session is lost")) == 2 and not lines("the state was")


def test_a_chief_that_hears_nothing_for_long_undoes_nothing(lines, tmp_path, monkeypatch):
    monkeypatch.setenv(endpoint.LOST_AFTER, "1")
    spec = addresses(ps=1, worker=1)
    with processes(spec, ["ps"]) as started, tf.train.Server(spec, "worker", 0) as server:
        cluster = SimpleNamespace(target=lambda job, index: server.target)
        session, run = trainer(cluster, tmp_path)
        with session:
            assert run(6) == [6, 6]
            started["ps", 0].send_signal(signal.SIGSTOP)
            timer = threading.Timer(2.0, started["ps", 0].send_signal, [signal.SIGCONT])
            timer.start()
            step, count = run(1)
            timer.join()
            assert step == count in (7, 8)  # the update of the step that was interrupted may have been applied
    tf.summary.FileWriterCache.clear()
    assert "nothing was heard" in lines("the session is lost")[0] and not lines("the state was")


@pytest.mark.parametrize("cut", ["nobody", "chief", "worker"])
def test_every_worker_says_that_a_restarted_parameter_server_was_restored(two_workers, lines, tmp_path, cut):
    cluster = two_workers
    chief, run = trainer(cluster, tmp_path)
    worker, work = trainer(cluster, index=1)
    with worker, chief:
        assert run(6) == [6, 6] and work(1) == [7, 7]
        if cut != "nobody":
            pull(cluster, "worker", int(cut == "worker"))
        cluster.servers["ps", 0].stop()
        cluster.start("ps", 0)
        assert run(1) == [5, 5]  # the checkpoint has step 4
        assert work(2) == [7, 7]
        pull(cluster, "worker", 0)
        assert run(1) == [8, 8]
    why = f" (the variables of {PS} were lost, as by a restart)"
    assert lines("the state was") == [
        f"the state was restored from {tmp_path}/model.ckpt-4: global step 6 -> 4{why}",
        f"the state was restored: global step 7 -> 5{why}",
    ]


def test_workers_say_that_a_new_chief_has_restored(two_workers, lines, tmp_path):
    """Their own sessions go on."""
    cluster = two_workers
    chief, run = trainer(cluster, tmp_path)
    worker, work = trainer(cluster, index=1)
    with worker:
        assert run(5) == [5, 5] and work(3) == [8, 8]
        chief._sess.close()  # without its last checkpoint
        chief, run = trainer(cluster, tmp_path)
        with chief:
            assert work(2) == [6, 6]
            assert run(1) == [7, 7]
    by_chief, by_worker = lines("the state was")
    assert by_chief == (
        f"the state was restored from {tmp_path}/model.ckpt-4: global step 8 -> 4 "
        "(a chief that starts begins with the latest checkpoint)"
    )
    assert re.fullmatch("the state was restored: global step [78] -> [456]", by_worker)  # read beside the update


def test_variables_that_are_not_there_are_restored(two_workers, lines, tmp_path):
    cluster = two_workers
    chief, run = trainer(cluster, tmp_path, container="apart")
    with chief:
        assert run(6) == [6, 6]
        tf.Session.reset(cluster.target("worker", 1), ["apart"], tf.ConfigProto(device_filters=["/job:ps"]))
        pull(cluster, "worker", 0)
        assert run(1) == [5, 5]
    (line,) = lines("the state was")
    assert "global step 6 -> 4 (Variables not initialized: " in line and "count" in line


def test_without_a_checkpoint_training_starts_over_where_variables_were_lost(two_workers, lines):
    cluster = two_workers
    chief, run = trainer(cluster)
    with chief:
        assert run(6) == [6, 6]
        cluster.servers["ps", 0].stop()
        cluster.start("ps", 0)
        assert run(1) == [1, 1]
    (line,) = lines("the state was")
    assert line.startswith(f"the state was initialized again: global step 6 -> 0 (the variables of {PS} were lost")


def test_what_was_restored_by_halves_is_restored_again(two_workers, lines, tmp_path):
    """Although all variables are initialized then, and no task was restarted since."""
    cluster = two_workers
    restored = []

    class Failing(tf.train.Saver):
        def restore(self, sess, save_path):
            super().restore(sess, save_path)
            restored.append(save_path)
            if len(restored) == 1:
                raise tf.errors.UnavailableError(None, None, "gone")

    chief, run = trainer(
        cluster, tmp_path, scaffold=tf.train.Scaffold(saver=Failing(allow_empty=True, defer_build=True))
    )
    with chief:
        assert run(6) == [6, 6]
        cluster.servers["ps", 0].stop()
        cluster.start("ps", 0)
        assert run(1) == [5, 5]
    assert len(restored) == 2 and len(lines("the state was")) == 1


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
