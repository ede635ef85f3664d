"""`thalweg status`: what the tasks of a cluster do."""

import json
import socket
import threading
import time

import pytest
from click.testing import CliRunner

import thalweg as tf
from thalweg._src.tools.cli.main import commands
from thalweg._src.tools.cli.status import duration


def status(*arguments):
    """Returns the exit status and the output of the command."""
    done = CliRunner().invoke(commands, ["status", *arguments])
    return done.exit_code, done.output


@pytest.fixture
def addresses():
    """Addresses of which the first two have servers, and of which the third one has none."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    found = [f"localhost:{sock.getsockname()[1]}" for sock in sockets]
    for sock in sockets:
        sock.close()
    return found


@pytest.fixture
def servers(addresses):
    cluster = {"ps": addresses[:1], "worker": addresses[1:2]}
    servers = [tf.train.Server(cluster, "ps", 0), tf.train.Server(cluster, "worker", 0)]
    yield servers
    for server in servers:
        server.stop()


def test_running_steps_are_shown_with_what_they_wait_for(servers, addresses, monkeypatch):
    with tf.device("/job:ps/task:0"):
        queue = tf.FIFOQueue(1, tf.int32, name="jobs")
        take, put = queue.dequeue(name="take"), queue.enqueue(1)
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"ps": addresses[:1], "worker": addresses[1:2]}}))
    with tf.Session(servers[1].target) as session:
        waits = threading.Thread(target=lambda: session.run(take))
        waits.start()
        until = time.monotonic() + 20
        while (
            not all(text in status()[1] for text in ("waits for take", "waits for ps 0")) and time.monotonic() < until
        ):
            time.sleep(0.05)
        code, shown = status()
        machine = json.loads(status("--json")[1])
        session.run(put)
        waits.join()
    head, ps, step, worker, master_step = shown.splitlines()
    assert code == 0
    assert head.split() == ["task", "address", "up", "steps", "sessions", "slab", "connected", "to"]
    assert ps.split()[:3] == ["ps", "0", addresses[0]] and ps.endswith("worker 0")
    assert step.startswith("  step ") and step.endswith("waits for take")
    assert master_step == step.replace("take", "ps 0")
    assert worker.split()[:3] == ["worker", "0", addresses[1]] and worker.endswith("ps 0")
    assert [task["is_up"] for task in machine] == [True, True]
    assert [task["sessions"] for task in machine] == [1, 1]
    assert machine[0]["running"][0]["waiting"] == ["take"] and machine[0]["seconds"] > 0


def test_missing_tasks_have_a_reason(servers, addresses):
    code, shown = status(addresses[0], addresses[2])
    assert code == 1
    _, ps, missing, reason = shown.splitlines()
    assert ps.split()[:3] == ["ps", "0", addresses[0]]
    assert missing.split() == ["?", addresses[2], "down"]
    assert "connection refused: nothing listens there" in reason
    assert status(addresses[0])[0] == 0


def test_another_task_at_an_address_is_not_the_task(servers, addresses):
    code, shown = status("--cluster", json.dumps({"worker": {"4": addresses[0]}}))
    assert code == 1 and "/job:ps/replica:0/task:0 answers at this address" in shown


def test_a_task_that_does_not_answer_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        code, shown = status("--timeout", "0.5", f"localhost:{silent.getsockname()[1]}")
    assert code == 1 and "no answer within 0.5 s" in shown


def test_durations_have_two_units():
    assert [duration(s) for s in (0.4, 59, 61, 3600, 86399, 90000)] == [
        *("0 s", "59 s", "1 min 1 s", "1 h 0 min", "23 h 59 min", "1 d 1 h")
    ]
