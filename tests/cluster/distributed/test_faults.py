"""Faults: a task that is missing, killed, stopped or restarted ends the steps that need it; the error names it."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import thalweg as tf
from tests import children
from tests.cluster.distributed.clusters import addresses, processes, start_task
from thalweg._src.cluster.distributed import client, control, endpoint, worker_service

PS = "/job:ps/replica:0/task:0"


@pytest.fixture
def parameter_server():
    """A parameter server in a process of its own, and a worker in this one."""
    spec = addresses(ps=1, worker=1)
    with processes(spec, ["ps"]) as started, tf.train.Server(spec, "worker", 0) as worker:
        yield spec, started["ps", 0], worker


def blocked(session, fetch, server):
    """Starts a step on a thread, and returns a function that waits for its error."""
    errors = []

    def run():
        try:
            session.run(fetch)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive() and not server._require().worker.waiting():
        time.sleep(0.05)
    time.sleep(0.5)
    assert thread.is_alive()

    def wait(seconds):
        thread.join(seconds)
        assert not thread.is_alive(), f"the step still runs after {seconds} seconds"
        return errors[0]

    return wait


def empty_queue(device):
    with tf.device(device):
        return tf.FIFOQueue(3, tf.float32, shapes=[()])


def test_a_missing_task_is_named_with_its_address_and_the_time():
    spec = addresses(ps=1, worker=1)
    with tf.train.Server(spec, "worker", 0) as worker:
        tf.constant(1.0)
        with pytest.raises(tf.errors.UnavailableError) as caught:
            tf.Session(worker.target, config=tf.ConfigProto(operation_timeout_in_ms=700))
    text = str(caught.value)
    assert PS in text and spec["ps"][0] in text and "waited for 0." in text


def test_device_filters_make_missing_tasks_harmless():
    spec = addresses(ps=1, worker=2)
    with tf.train.Server(spec, "worker", 1) as worker:
        config = tf.ConfigProto(device_filters=["/job:worker/task:1"])
        with tf.Session(worker.target, config=config) as session:
            assert session.run(tf.constant(1.0) + 1.0) == 2.0


@pytest.mark.parametrize("place", ["/job:ps/task:0", "/job:worker/task:0"])
def test_a_killed_task_ends_the_step(parameter_server, place):
    _, process, worker = parameter_server
    element = empty_queue(place).dequeue()
    with tf.device("/job:ps/task:0"):
        there = tf.random_normal([])
    with tf.Session(worker.target) as session:
        session.run(there)
        wait = blocked(session, [element, there], worker)
        process.kill()
        error = wait(5)
    assert isinstance(error, tf.errors.UnavailableError) and PS in str(error)


def test_a_stopped_task_ends_the_step_within_ten_seconds(parameter_server):
    _, process, worker = parameter_server
    element = empty_queue("/job:ps/task:0").dequeue()
    with tf.Session(worker.target) as session:
        wait = blocked(session, element, worker)
        process.send_signal(signal.SIGSTOP)
        error = wait(12)
    assert isinstance(error, tf.errors.UnavailableError) and PS in str(error) and "nothing was heard" in str(error)


def test_a_task_that_stops_when_the_part_of_the_master_has_ended_is_noticed(monkeypatch):
    monkeypatch.setenv(endpoint.LOST_AFTER, "1.5")
    spec = addresses(ps=1, worker=1)
    with processes(spec, ["ps"]) as started, tf.train.Server(spec, "worker", 0) as worker:
        element = empty_queue("/job:ps/task:0").dequeue()
        with tf.device("/job:worker/task:0"):
            own = tf.random_normal([])
        with tf.Session(worker.target) as session:
            session.run(own)
            stop = threading.Timer(1.0, started["ps", 0].send_signal, [signal.SIGSTOP])
            stop.start()
            with pytest.raises(tf.errors.UnavailableError, match=f"{PS} is lost: nothing was heard"):
                session.run([element, own])
            stop.join()


def test_a_restarted_task_is_used_again(parameter_server):
    spec, process, worker = parameter_server
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with tf.device("/job:worker/task:0"):
        y = v + 1.0
    with tf.Session(worker.target) as session:
        session.run(v.initializer)
        assert session.run(y) == 2.0
        children.end(process)
        with pytest.raises(tf.errors.UnavailableError, match=PS):
            session.run(y)
        again = start_task(spec, "ps", 0)
        try:
            assert again.stdout.readline() == "serves\n"
            with pytest.raises(tf.errors.AbortedError, match="restarted"):
                session.run(y)
            with tf.Session(worker.target) as new:
                new.run(v.initializer)
                assert new.run(y) == 2.0
        finally:
            children.end(again)


def test_a_time_limit_names_what_was_waited_for(parameter_server):
    _, _, worker = parameter_server
    queue = empty_queue("/job:ps/task:0")
    element = queue.dequeue(name="take")
    with tf.Session(worker.target) as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="take"):
            session.run(element, options=tf.RunOptions(timeout_in_ms=300))
        session.run(queue.enqueue(1.0))
        assert session.run(element) == 1.0


def test_closing_a_session_ends_its_steps(parameter_server):
    _, _, worker = parameter_server
    element = empty_queue("/job:ps/task:0").dequeue()
    session = tf.Session(worker.target)
    wait = blocked(session, element, worker)
    session.close()
    error = wait(5)
    assert isinstance(error, tf.errors.CancelledError)


def test_stopping_a_server_ends_its_steps(parameter_server):
    _, _, worker = parameter_server
    element = empty_queue("/job:worker/task:0").dequeue()
    with tf.Session(worker.target) as session:
        wait = blocked(session, element, worker)
        worker.stop()
        error = wait(5)
    assert isinstance(error, tf.errors.CancelledError | tf.errors.UnavailableError)


_CLIENT = """
import sys
import thalweg as tf
with tf.device("/job:ps/task:0"):
    queue = tf.FIFOQueue(3, tf.float32, shapes=[()], shared_name="q")
with tf.Session(sys.argv[1]) as session:
    session.run(queue.size())
    print("runs", flush=True)
    session.run(queue.dequeue())
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_client_that_ends_leaves_no_step_behind(parameter_server, sent):
    """The step that the client waited for takes nothing from the queue afterwards."""
    spec, _, worker = parameter_server
    command = [sys.executable, "-c", _CLIENT, "grpc://" + spec["worker"][0]]
    process = children.start(command, forked=True, env=children.environment(), stdout=-1, stderr=-1)
    try:
        assert process.stdout.readline() == b"runs\n"
        time.sleep(0.5)
        if sent == signal.SIGINT:
            children.interrupt(process)
            assert b"KeyboardInterrupt" in process.stderr.read()
        else:
            os.kill(process.pid, sent)
        process.wait()
    finally:
        children.end(process)
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(3, tf.float32, shapes=[()], shared_name="q")
    with tf.Session(worker.target) as session:
        time.sleep(0.5)
        session.run(queue.enqueue(1.0))
        assert session.run(queue.size()) == 1
        until = time.monotonic() + 5
        while worker._require().service.master._sessions and time.monotonic() < until:
            time.sleep(0.05)
        assert not worker._require().service.master._sessions


_OPEN_SESSION = """
import sys
import thalweg as tf
session = tf.Session(sys.argv[1])
print(session.run(tf.constant(1.0) + 1.0))
"""


def test_a_client_that_leaves_its_session_open_ends(parameter_server):
    _, _, worker = parameter_server
    target = worker.target
    command = [sys.executable, "-c", _OPEN_SESSION, target]
    done = children.run(command, env=children.environment(), timeout=60, forked=True)
    assert done.stdout == "2.0\n"
    assert not worker._require().service.master._sessions


def test_a_finished_worker_hurts_no_other():
    spec = addresses(ps=1, worker=2)
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
    with processes(spec, ["ps"]), tf.train.Server(spec, "worker", 0) as one:
        filters = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
        with tf.Session(one.target, config=filters) as session:
            session.run(v.initializer)
            with tf.train.Server(spec, "worker", 1) as two:
                others = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:1"])
                with tf.Session(two.target, config=others) as other:
                    other.run(v.assign_add(1.0))
            assert session.run(v) == 2.0


def test_a_lost_master_leaves_no_session_at_other_tasks():
    spec = addresses(ps=1, worker=1)
    with tf.train.Server(spec, "ps", 0) as ps, processes(spec, ["worker"]) as started:
        with tf.device("/job:ps/task:0"):
            y = tf.random_normal([]) * 2.0
        session = tf.Session("grpc://" + spec["worker"][0])
        session.run(y)
        assert ps._require().worker.num_sessions() == 1
        started["worker", 0].kill()
        until = time.monotonic() + 10
        while ps._require().worker.num_sessions() and time.monotonic() < until:
            time.sleep(0.05)
        assert ps._require().worker.num_sessions() == 0
        session.close()


def test_a_session_of_a_master_that_was_lost_before_is_deleted(monkeypatch):
    monkeypatch.setattr(worker_service, "_ORPHAN_SECONDS", 0.0)
    spec = addresses(ps=1, worker=2)
    with tf.train.Server(spec, "ps", 0) as ps, tf.train.Server(spec, "worker", 0) as worker:
        service = ps._require().service
        with tf.device("/job:ps/task:0"):
            y = tf.random_normal([]) * 2.0
        config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
        with tf.Session(worker.target, config=config) as session:
            session.run(y)
            late = control.CreateWorkerSessionRequest(session="late", master="/job:worker/replica:0/task:1")
            service.worker.CreateWorkerSession(late)
            until = time.monotonic() + 10
            while ps._require().worker.num_sessions() == 2 and time.monotonic() < until:
                time.sleep(0.05)
            service.tick()
            session.run(y)  # whose master has a link
            assert ps._require().worker.num_sessions() == 1 and "late" not in service.worker._sessions


def test_a_lost_master_leaves_no_step_at_other_tasks():
    """Although nothing of the step runs at the master itself."""
    spec = addresses(ps=1, worker=1)
    with tf.train.Server(spec, "ps", 0) as ps, processes(spec, ["worker"]) as started:
        element = empty_queue("/job:ps/task:0").dequeue()
        with tf.Session("grpc://" + spec["worker"][0]) as session:
            wait = blocked(session, element.op, ps)
            started["worker", 0].kill()
            assert isinstance(wait(10), tf.errors.UnavailableError)
        until = time.monotonic() + 10
        while ps._require().worker.waiting() and time.monotonic() < until:
            time.sleep(0.05)
        assert not ps._require().worker.waiting()


def test_a_lost_client_holds_no_thread_that_sends_to_it(monkeypatch):
    """The task sends more than the client, which is stopped, has room for."""
    spec = addresses(ps=1)
    monkeypatch.setenv("THALWEG_CLUSTER_TRANSPORT", "tcp")
    monkeypatch.setenv("THALWEG_CLUSTER_LOST_AFTER", "2")
    with tf.train.Server(spec, "ps", 0) as ps:
        command = [sys.executable, "-c", _LARGE_FETCH, "grpc://" + spec["ps"][0]]
        process = children.start(command, env=children.environment(), stdout=subprocess.PIPE)
        try:
            assert process.stdout.readline() == b"runs\n"
            process.send_signal(signal.SIGSTOP)
            until = time.monotonic() + 20
            while ps._require().service._channels and time.monotonic() < until:
                time.sleep(0.05)
            assert not ps._require().service._channels
        finally:
            children.end(process)


def test_an_answer_that_is_given_up_holds_no_block_of_the_slab():
    """The parameter server has answered with a large value before the step fails at the worker."""
    spec = addresses(ps=1, worker=1)
    element = empty_queue("/job:worker/task:0").dequeue()
    with tf.device("/job:ps/task:0"):
        large = tf.fill([tf.placeholder_with_default(1 << 20, [])], 1.0)
    with tf.train.Server(spec, "ps", 0) as ps, tf.train.Server(spec, "worker", 0) as worker:
        slab = ps._require().service.endpoint.slab
        with tf.Session(worker.target) as session:
            session.run(large)
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run([element, large], options=tf.RunOptions(timeout_in_ms=500))
            until = time.monotonic() + 10
            while slab.bytes_in_use and time.monotonic() < until:
                time.sleep(0.05)
            assert slab.bytes_in_use == 0


def test_a_partial_run_ends_with_its_client(monkeypatch):
    spec = addresses(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        x = tf.placeholder(tf.float32, [])
        y = x * 2.0
    with tf.train.Server(spec, "ps", 0), tf.train.Server(spec, "worker", 0) as worker:
        monkeypatch.setattr(client, "find_server", lambda target: None)  # as if it were in another process
        session = tf.Session(worker.target)
        session.partial_run_setup([y], [x])
        task = worker._require()
        assert task.worker.waiting()
        client.disconnect()
        until = time.monotonic() + 10
        while (task.worker.waiting() or task.service.master._running) and time.monotonic() < until:
            time.sleep(0.05)
        assert not task.worker.waiting() and not task.service.master._running
        session.close()


def test_a_step_that_failed_keeps_no_tensors(parameter_server):
    """Steps that failed are remembered, but not the frames of their errors, which hold values."""
    _, _, worker = parameter_server
    with tf.device("/job:ps/task:0"):
        there = tf.random_normal(tf.placeholder_with_default([3], [1]))
    with tf.device("/job:worker/task:0"):
        bad = tf.reshape(there, [2])
    with tf.Session(worker.target) as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(bad)
    remembered = worker._require().worker._steps._failed.values()
    assert remembered and all(error.__traceback__ is None for error in remembered)


_LARGE_FETCH = """
import sys, threading
import thalweg as tf
size = tf.placeholder(tf.int32, [])
values = tf.fill([size], 1.0)
session = tf.Session(sys.argv[1])
session.run(values, {size: 1})
def run():
    while True:
        session.run(values, {size: 30_000_000})
threading.Thread(target=run, daemon=True).start()
print("runs", flush=True)
threading.Event().wait()
"""
