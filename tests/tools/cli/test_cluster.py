"""`thalweg cluster`: programs run as clusters of processes on this machine."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tests import children
from thalweg._src.tools.cli.cluster import Jobs, commands
from thalweg._src.tools.cli.main import commands as program

COMMAND = [sys.executable, "-m", "thalweg", "cluster"]
ROOT = pathlib.Path(__file__).parents[3]
LIMIT = 100

BY_FLAGS = """
import time
import tensorflow as tf
tf.app.flags.DEFINE_string("ps_hosts", "", "")
tf.app.flags.DEFINE_string("worker_hosts", "", "")
tf.app.flags.DEFINE_string("job_name", "", "")
tf.app.flags.DEFINE_integer("task_index", 0, "")
tf.app.flags.DEFINE_integer("rate", 0, "")
flags = tf.app.flags.FLAGS
cluster = tf.train.ClusterSpec({"ps": flags.ps_hosts.split(","), "worker": flags.worker_hosts.split(",")})
index = flags.task_index
server = tf.train.Server(cluster, job_name=flags.job_name, task_index=index)
if flags.job_name == "ps":
    print("joins")
    server.join()
with tf.device(tf.train.replica_device_setter(cluster=cluster)):
    counter = tf.get_variable("counter", [], tf.int32, tf.zeros_initializer())
    more = tf.assign_add(counter, flags.rate)
filters = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
with tf.Session(server.target, config=filters) as session:
    if index == 0:
        session.run(tf.global_variables_initializer())
    while not session.run(tf.is_variable_initialized(counter)):
        time.sleep(0.05)
    for _ in range(3):
        session.run(more)
    print("at ps:", session.run(counter))
"""


def run(*arguments, cwd):
    return children.run([*COMMAND, *arguments], cwd=cwd, env=children.environment(), timeout=LIMIT, forked=True)


def test_the_program_of_the_page_trains(tmp_path):
    page, _ = ROOT.joinpath("docs/clusters.md").read_text().split("```python\n")[1].split("```\n", 1)
    (tmp_path / "train.py").write_text(page)
    done = run("--ps", "2", "train.py", cwd=tmp_path)
    written = re.sub(r"\d{3,}", "PORT", done.stdout).replace(", GPU:0", "")
    assert sorted(written.splitlines()) == [
        "ps 0     | ps 0 serves grpc://localhost:PORT (devices CPU:0)",
        "ps 1     | ps 1 serves grpc://localhost:PORT (devices CPU:0)",
        "worker 0 | loss 0.00",
    ]
    assert done.stderr == ""


def test_a_program_with_flags_trains(tmp_path):
    (tmp_path / "train.py").write_text(BY_FLAGS)
    done = run("--workers", "2", "--pass-flags", "train.py", "--rate=3", cwd=tmp_path)
    written = sorted(done.stdout.splitlines())
    assert written[0] == "ps 0     | joins" and written[1].startswith("worker 0 | at ps:")
    assert "at ps: 18" in {line.partition(" | ")[2] for line in written} and len(written) == 3
    assert done.stderr == ""


def test_tasks_are_told_the_cluster_and_their_place(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(13), raising=False)
    (tmp_path / "train.py").touch()
    script = (str(tmp_path / "train.py"), "-x")
    found = commands(Jobs(2, 2, True, True), script, ("legacy",), False)
    assert [command.task for command in found] == ["ps 0", "ps 1", "chief 0", "worker 0", "worker 1", "evaluator 0"]
    configs = [json.loads(command.environment["TF_CONFIG"]) for command in found]
    cluster = configs[0]["cluster"]
    assert {job: len(tasks) for job, tasks in cluster.items()} == {"ps": 2, "chief": 1, "worker": 2}
    assert len({address for tasks in cluster.values() for address in tasks}) == 5
    assert all(config["cluster"] == cluster for config in configs)
    assert [f"{config['task']['type']} {config['task']['index']}" for config in configs] == [c.task for c in found]
    assert {command.environment["OMP_NUM_THREADS"] for command in found} == {"2"}
    assert found[0].arguments[3:] == ["server"] and found[3].arguments[3:] == ["run", "--legacy", *script]
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert {c.environment["OMP_NUM_THREADS"] for c in commands(Jobs(0, 3, False, False), script, (), False)} == {"7"}


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "Missing argument"),
        (["missing.py"], "There is no script missing.py"),
        (["-"], "cannot share standard input"),
        (["--worker", "3", "missing.py"], "No such option: --worker"),
        (["--workers", "0", "-c", "pass"], "needs a worker or a chief"),
        (["--chief", "--pass-flags", "-c", "pass"], "no flags for --chief"),
        (["--ps", "-1", "-c", "pass"], "is not in the range"),
    ],
)
def test_wrong_command_lines_are_explained(arguments, message):
    done = CliRunner().invoke(program, ["cluster", *arguments])
    assert done.exit_code == 2 and message in done.output


def test_a_failing_program_ends_the_cluster(tmp_path):
    (tmp_path / "train.py").write_text("import tensorflow as tf\nraise SystemExit(5)\n")
    options = {"cwd": tmp_path, "env": children.environment(), "stderr": subprocess.PIPE}
    process = children.start([*COMMAND, "train.py"], forked=True, **options)
    try:
        _, err = process.communicate(timeout=LIMIT)
    finally:
        children.end(process)
    assert process.returncode == 5
    assert b"thalweg: worker 0 ended with exit code 5; stopping the other tasks\n" in err
