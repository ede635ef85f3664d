"""What processes that use gRPC write when others end: nothing, unless the user asks gRPC for its own lines."""

import json
import subprocess
import sys

import pytest

from tests import children
from tests.cluster.distributed.clusters import addresses
from tests.deploy.serving import models

TASK = """
import json, sys
import thalweg as tf
spec, index = json.loads(sys.argv[1]), int(sys.argv[2])
server = tf.train.Server(spec, "worker", index)
print("serves", flush=True)
sys.stdin.readline()
parts = []
for task in range(len(spec["worker"])):
    with tf.device(f"/job:worker/task:{task}"):
        parts.append(tf.random_uniform([2]))
with tf.Session(server.target) as session:
    session.run(tf.add_n(parts))
    print("ran", flush=True)
    sys.stdin.readline()
"""
SERVER = """
import sys
import thalweg as tf
with tf.serving.Server({"m": sys.argv[1]}, port=0, rest_api_port=None) as server:
    print(server.port, flush=True)
    sys.stdin.readline()
"""
CLIENT = """
import sys
import numpy as np
import thalweg as tf
with tf.serving.Client(f"127.0.0.1:{sys.argv[1]}", timeout=60) as client:
    client.predict("m", {"x": np.ones((1, 3), np.float32)})
    print("ran", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def start(start_child):
    """Starts a fresh process of a program, in the environment of a user."""

    def start(program, *arguments):
        environment = children.environment(OMP_NUM_THREADS="1")
        environment.pop("GRPC_VERBOSITY", None)
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return start_child([sys.executable, "-c", program, *arguments], env=environment, text=True, **pipes)

    return start


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


def end(process):
    """Ends a process in the normal way, and returns its exit status and what it writes meanwhile."""
    return process.communicate("\n"), process.returncode


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_the_tasks_of_a_cluster_end_without_a_word(start, order):
    spec = json.dumps(addresses(worker=3))
    tasks = [start(TASK, spec, str(index)) for index in range(3)]
    for task in tasks:
        assert task.stdout.readline() == "serves\n", task.stderr.read()
    for task in tasks:
        go_on(task)
    for task in tasks:
        assert task.stdout.readline() == "ran\n", task.stderr.read()
    assert [end(tasks[index]) for index in order] == [(("", ""), 0)] * 3


@pytest.mark.parametrize("first", ["server", "client"])
def test_a_model_server_and_its_client_end_without_a_word(start, first, tmp_path):
    models.save(tmp_path / "1")
    server = start(SERVER, str(tmp_path))
    client = start(CLIENT, server.stdout.readline().strip())
    assert client.stdout.readline() == "ran\n", client.stderr.read()
    order = (server, client) if first == "server" else (client, server)
    assert [end(process) for process in order] == [(("", ""), 0)] * 2


def test_the_own_setting_of_a_user_stays():
    command = [sys.executable, "-c", "import os, thalweg; print(os.environ['GRPC_VERBOSITY'])"]
    assert children.run(command, env=children.environment(GRPC_VERBOSITY="INFO")).stdout == "INFO\n"
