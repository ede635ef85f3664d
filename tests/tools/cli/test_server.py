"""`thalweg server`: tasks as processes of their own."""

import json
import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

import thalweg as tf
from tests import children
from thalweg._src.tools.cli.cluster_config import find_config
from thalweg._src.tools.cli.main import commands

LIMIT = 60


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return f"localhost:{sock.getsockname()[1]}"


@pytest.fixture
def serve(start_child):
    def serve(*arguments, **variables):
        command = [sys.executable, "-m", "thalweg", "server", *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "forked": True}
        return start_child(command, env=children.environment(**variables), **streams)

    return serve


def test_a_server_of_a_file_serves_until_it_is_terminated(serve, tmp_path):
    address = free_address()
    (tmp_path / "cluster.json").write_text(json.dumps({"ps": {"3": address}, "worker": ["localhost:1"]}))
    process = serve("--cluster", tmp_path / "cluster.json", "--job", "ps", "--task", "3")
    target = f"grpc://{address}"
    assert process.stdout.readline().startswith(f"ps 3 serves {target} (devices CPU:0")
    with tf.Session(target, config=tf.ConfigProto(device_filters=["/job:ps"])) as session:
        assert session.run(tf.constant(3)) == 3
    process.terminate()
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out, err) == (0, "", "")
    socket.create_server(("127.0.0.1", int(address.partition(":")[2]))).close()  # the port is free again


def test_a_server_of_tf_config_is_interrupted(serve):
    task = {"cluster": {"ps": [free_address()], "worker": ["localhost:1"]}, "task": {"type": "ps", "index": "0"}}
    process = serve(TF_CONFIG=json.dumps(task))
    assert process.stdout.readline().startswith("ps 0 serves")
    children.interrupt(process)
    assert (process.returncode, process.stderr.read()) == (130, "")


def test_a_taken_port_is_reported(serve):
    with socket.create_server(("127.0.0.1", 0)) as sock:
        process = serve("--cluster", json.dumps({"ps": [f"localhost:{sock.getsockname()[1]}"]}))
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert err.startswith("thalweg: the server cannot start: ") and "Traceback" not in err


def test_clusters_are_read_from_options_files_and_the_environment(tmp_path, monkeypatch):
    (tmp_path / "cluster").write_text('{"ps": ["a:1"]}')
    assert find_config(' {"ps": ["a:1"]}') == find_config(str(tmp_path / "cluster"))
    task = {"cluster": {"worker": {"2": "b:2"}}, "task": {"type": "worker", "index": "2"}, "more": 1}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    found = find_config(None)
    assert (found.cluster.as_dict(), found.job, found.index) == ({"worker": {2: "b:2"}}, "worker", 2)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "No cluster"),
        (["--cluster", "missing"], "No such file"),
        (["--cluster", "{"], "--cluster does not describe a cluster"),
        (["--cluster", "{}"], "No cluster"),
        (["--cluster", '{"ps": 3}'], "must be a list or a dictionary"),
    ],
)
def test_descriptions_that_cannot_be_read_are_refused(arguments, message, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    done = CliRunner().invoke(commands, ["server", *arguments])
    assert done.exit_code == 2 and message in done.output


@pytest.mark.parametrize(
    "config", ["[]", "{", '{"cluster": [1]}', '{"cluster": {"ps": ["a:1"]}, "task": {"index": "x"}}']
)
def test_a_damaged_tf_config_is_refused(config, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", config)
    done = CliRunner().invoke(commands, ["server"])
    assert done.exit_code == 2 and "TF_CONFIG does not describe a cluster" in done.output
