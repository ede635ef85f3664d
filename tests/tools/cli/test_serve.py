"""`thalweg serve`: models behind a process of its own, its signals, and its answers to wrong options."""

import json
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from click.testing import CliRunner

from tests import children
from tests.deploy.serving import models
from thalweg._src.deploy.serving.client import Client
from thalweg._src.tools.cli.main import commands

LIMIT = 60


@pytest.fixture
def serve(start_child):
    """Starts a server, and returns its process, what it says of its models, and its two addresses."""

    def serve(*arguments, **variables):
        command = [sys.executable, "-m", "thalweg", "serve", "--port", "0", "--rest_api_port", "0", *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "forked": True}
        process = start_child(command, env=children.environment(**variables), **streams)
        told = []
        while not (line := process.stdout.readline()).startswith("serving gRPC at"):
            assert line, process.stderr.read()
            told.append(line.strip())
        words = line.replace(",", "").split()
        return process, told, words[3], f"http://{words[6]}"

    return serve


def test_models_are_served_until_the_process_is_terminated(serve, tmp_path):
    models.save(tmp_path / "a" / "3")
    process, told, grpc, rest = serve("--model", f"a={tmp_path / 'a'}", "--enable_batching", "--access_log")
    assert told == ["a: version 3 AVAILABLE"]
    for address in (grpc, rest):
        with Client(address, timeout=LIMIT) as client:
            assert client.predict("a", {"x": np.ones((1, 3), np.float32)})["y"].tolist() == [[9, 12]]
    process.terminate()
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out) == (0, "")
    assert [line.split()[:4] for line in err.splitlines() if " ms" in line] == [
        ["GRPC", "Predict", "'a'", "OK"],
        ["REST", "Predict", "'a'", "OK"],
    ]


def test_a_hangup_reads_the_configuration_again(serve, tmp_path):
    for name, scale in (("a", 1), ("b", 2)):
        models.save(tmp_path / name / "1", scale)
    config = tmp_path / "models.config"
    label = 'version_labels { key: "stable" value: 1 }'

    def write(*names):
        entries = [f'config {{ name: "{name}" base_path: "{tmp_path / name}" {label} }}' for name in names]
        config.write_text(f"model_config_list {{ {' '.join(entries)} }}")

    write("a")
    process, told, grpc, _ = serve("--model_config_file", config)
    assert told == ["a: version 1 AVAILABLE"]
    config.write_text("models {")
    process.send_signal(signal.SIGHUP)
    assert "stays as it was" in process.stderr.readline()
    write("a", "b")
    process.send_signal(signal.SIGHUP)
    assert process.stdout.readline() == "the configuration was read again\n"
    with Client(grpc, timeout=LIMIT) as client:
        while client.status("b") != {1: "AVAILABLE"}:
            pass
        found = client.predict("b", {"x": np.ones((1, 3), np.float32)}, version_label="stable")
        assert found["y"].tolist() == [[18, 24]]
    children.interrupt(process)
    assert process.returncode == 130


def test_a_token_is_asked_for(serve, tmp_path):
    models.save(tmp_path / "a" / "1")
    token = "0123456789abcdef"
    _, _, grpc, rest = serve("--model", f"a={tmp_path / 'a'}", THALWEG_SERVING_TOKEN=token)
    for address in (grpc, rest):
        with Client(address, token="another", timeout=LIMIT) as client, pytest.raises(Exception, match="has a token"):
            client.status("a")
        with Client(address, token=token, timeout=LIMIT) as client:
            assert client.status("a") == {1: "AVAILABLE"}
    with urllib.request.urlopen(f"{rest}/v2/health/ready") as response:  # for probes, which have no token
        assert json.load(response) == {"ready": True}


LOADING = """
import threading
from thalweg._src.tools.cli.main import main
from thalweg._src.deploy.serving.server import ModelServer
def start(server):
    print("loading", flush=True)
    threading.Event().wait()
ModelServer.start = start
main(["serve", "--model", "m=absent", "--port", "0", "--rest_api_port", "0"])
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_model_that_loads_forever_does_not_hold_the_process(number, status, start_child):
    process = start_child([sys.executable, "-c", LOADING], forked=True, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGHUP)  # is for later
    process.send_signal(number)
    assert process.wait(LIMIT) == status


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "there is no model"),
        (["--model", "a"], "expected NAME=PATH, received 'a'"),
        (["--model", "a=b", "--model", "a=c"], "the model 'a' is configured twice"),
        (["--model_config_file", "absent"], "No such file"),
        (["--model", "a=b", "--batching_parameters_file", "absent"], "No such file"),
        (["--model", "a=b", "--latency-bound", "5"], "expected a number with the unit us, ms or s"),
        (["--model", "a=b", "--host", "0.0.0.0", "--port", "0", "--rest_api_port", "0"], "THALWEG_SERVING_TOKEN"),
    ],
)
def test_wrong_options(arguments, words, monkeypatch):
    monkeypatch.delenv("THALWEG_SERVING_TOKEN", raising=False)
    result = CliRunner().invoke(commands, ["serve", *arguments])
    assert result.exit_code in (1, 2) and words in result.output
