"""Clusters on a real Ray with several nodes: programs, lost processes, workers that come and go."""

import logging
import os
import pickle
import re
import signal
import socket
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import thalweg as tf
from tests import children
from tests.tools.ray import programs

pytestmark = pytest.mark.timeout(300)


def _wait_for(condition):
    """Waits until a condition holds, within the time limit of the test."""
    while not (found := condition()):
        time.sleep(0.05)
    return found


def _steps(folder):
    """Returns the number of steps in the latest checkpoint."""
    path = tf.train.latest_checkpoint(f"{folder}/model")
    return int(path.rpartition("-")[2]) if path else 0


def _process(folder, task):
    """Returns the process of a worker, once it has made a step."""
    path = Path(folder, task)
    return _wait_for(lambda: path.exists() and int((path.read_text() or "0").split()[0]))


def _listener(port):
    """Returns the process that listens at a port of this machine."""
    tables = [Path("/proc/net", name).read_text() for name in ("tcp", "tcp6")]
    lines = [line.split() for table in tables for line in table.splitlines()[1:]]
    (inode,) = {line[9] for line in lines if line[3] == "0A" and int(line[1].partition(":")[2], 16) == port}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == f"socket:[{inode}]":
                return int(link.parts[2])
        except OSError:
            continue
    raise AssertionError(f"no process listens at {port}")


def _port(cluster, job, index=0):
    return int(cluster.spec.task_address(job, index).rpartition(":")[2])


def _is_free(ray):
    """Returns whether Ray has all its resources for the next program."""
    return ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"]


def test_a_function_runs_and_its_result_comes_back(node, tmp_path):
    (tmp_path / "stop").touch()
    with tf.ray.Cluster(partial(programs.train, tmp_path), ps=0) as cluster:
        assert cluster.wait(100) == {"worker": {0: 0}}
        assert cluster.spec.jobs == ["worker"] and cluster.spec.num_tasks("worker") == 1
    _wait_for(lambda: _is_free(node))


@pytest.mark.slow
def test_the_program_of_the_page_prints_what_it_shows(nodes, tmp_path, monkeypatch, capsys):
    page = (children.ROOT / "docs" / "ray.md").read_text()
    program, shown = re.findall(r"^```\w+\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    program = program.replace('"model"', repr(str(tmp_path / "model")))  # at nodes that have other current folders
    exec(compile(program, "launch.py", "exec"), {"__name__": "__main__"})
    assert shown in capsys.readouterr().out


@pytest.mark.slow
def test_a_script_runs_with_its_arguments_and_the_log_names_the_task(nodes, tmp_path, capfd):
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, tensorflow as tf\n"
        "resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()\n"
        "server = tf.train.Server(resolver.cluster_spec(), resolver.task_type, resolver.task_id)\n"
        "with tf.device('/job:ps/task:0'):\n"
        "    total = tf.constant(40.0) + 2.0\n"
        "with tf.Session(server.target) as session:\n"
        "    print(sys.argv[1], session.run(total), flush=True)\n"
        "sys.exit(0)\n"
    )
    with tf.ray.Cluster(script=script, arguments=["answer"], workers=0, chief=True) as cluster:
        assert cluster.wait(200) == {"chief": {0: None}}
        text = ""

        def logged():
            nonlocal text
            text += capfd.readouterr().out
            return "answer 42.0" in text

        _wait_for(logged)
    assert re.search(r"\(chief 0 pid=\d+[^)]*\)\S* answer 42\.0", text)


@pytest.mark.slow
def test_an_error_of_the_program_names_its_task_and_line(nodes):
    with (
        tf.ray.Cluster(programs.fail, ps=1, workers=2) as cluster,
        pytest.raises(tf.ray.TaskError, match="worker 1 failed") as caught,
    ):
        cluster.wait(200)
    assert "programs.py" in str(caught.value) and isinstance(caught.value.__cause__, ValueError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.job, copy.index, str(copy)) == ("worker", 1, str(caught.value))
    _wait_for(lambda: _is_free(nodes))


@pytest.mark.slow
def test_a_task_that_is_lost_too_often_ends_the_cluster(nodes):
    with (
        tf.ray.Cluster(programs.die, ps=0, workers=1, max_restarts=1) as cluster,
        pytest.raises(tf.errors.UnavailableError, match="worker 0 was lost 2 times"),
    ):
        cluster.wait(200)


@pytest.mark.slow
def test_training_resumes_after_a_worker_and_a_parameter_server_are_killed(nodes, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    with tf.ray.Cluster(partial(programs.train, tmp_path), ps=1, workers=2) as cluster:
        before = cluster.spec
        _wait_for(lambda: _steps(tmp_path) > 20)
        os.kill(_process(tmp_path, "worker-1"), signal.SIGKILL)
        _wait_for(lambda: "worker 1: is back" in caplog.text)
        before, reached = cluster.spec, _steps(tmp_path)
        os.kill(_listener(_port(cluster, "ps")), signal.SIGKILL)
        _wait_for(lambda: _steps(tmp_path) > reached + 20)
        os.kill(_process(tmp_path, "worker-0"), signal.SIGKILL)  # the chief
        _wait_for(lambda: "worker 0: is back" in caplog.text)
        reached = _steps(tmp_path)
        _wait_for(lambda: _steps(tmp_path) > reached + 20)
        (tmp_path / "stop").touch()
        assert min(cluster.wait(200)["worker"].values()) > reached
        assert cluster.spec == before
    assert len(re.findall("was lost; restart 1 of 3", caplog.text)) == 3


@pytest.mark.slow
def test_all_tasks_are_restarted_if_one_of_them_has_to_move(nodes, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    with tf.ray.Cluster(partial(programs.train, tmp_path), ps=1, workers=2) as cluster:
        _wait_for(lambda: _steps(tmp_path) > 20)
        port, old = _port(cluster, "ps"), _process(tmp_path, "worker-0")
        os.kill(_listener(port), signal.SIGKILL)

        def take():
            try:
                return socket.create_server(("", port))
            except OSError:
                return None

        with _wait_for(take):
            _wait_for(lambda: "ps 0: has moved" in caplog.text)
        _wait_for(lambda: _process(tmp_path, "worker-0") != old)
        reached = _steps(tmp_path)
        _wait_for(lambda: _steps(tmp_path) > reached + 20)
        (tmp_path / "stop").touch()
        assert cluster.wait(200)["worker"].keys() == {0, 1}
        assert _port(cluster, "ps") != port
    assert len(re.findall("was lost", caplog.text)) == 1


@pytest.mark.slow
def test_workers_join_and_leave_while_others_train(nodes, tmp_path):
    with tf.ray.Cluster(partial(programs.train, tmp_path), ps=1, workers=2, start_timeout=60) as cluster:
        _wait_for(lambda: _steps(tmp_path) > 10)
        assert cluster.add_workers(2) == [2, 3]
        _process(tmp_path, "worker-3")
        cluster.remove_worker(1)
        with pytest.raises(ValueError, match="has no worker 1; it has worker 0, worker 2, worker 3"):
            cluster.remove_worker(1)
        assert cluster.spec.task_indices("worker") == [0, 2, 3]
        assert cluster.add_workers() == [4]  # with what worker 1 has left
        _process(tmp_path, "worker-4")
        with pytest.raises(tf.errors.ResourceExhaustedError, match="no room for 9 tasks"):
            cluster.add_workers(9)
        (tmp_path / "stop").touch()
        assert cluster.wait(200)["worker"].keys() == {0, 2, 3, 4}
    _wait_for(lambda: _is_free(nodes))


@pytest.mark.slow
def test_a_cluster_that_does_not_fit_is_refused(nodes):
    cluster = tf.ray.Cluster(programs.fail, worker_resources={"GPU": 8}, start_timeout=1)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="Ray has no room for 2 tasks after 1 s"):
        cluster.start()
    _wait_for(lambda: _is_free(nodes))


@pytest.mark.slow
def test_waiting_has_a_limit(nodes):
    with (
        tf.ray.Cluster(programs.fail, ps=0, workers=1) as cluster,
        pytest.raises(tf.errors.DeadlineExceededError, match="worker 0"),
    ):
        cluster.wait(0.1)
    for call in (cluster.wait, cluster.start, cluster.add_workers):
        with pytest.raises(tf.errors.FailedPreconditionError):
            call()


@pytest.mark.slow
def test_tasks_end_with_their_driver(nodes, tmp_path, start_child):
    code = (
        "import functools, sys, thalweg as tf\n"
        "from tests.tools.ray import programs\n"
        "with tf.ray.Cluster(functools.partial(programs.train, sys.argv[1])) as cluster:\n"
        "    cluster.wait()\n"
    )
    environment = children.environment(RAY_ADDRESS=nodes.get_runtime_context().gcs_address)
    driver = start_child([sys.executable, "-c", code, tmp_path], env=environment)
    process = _process(tmp_path, "worker-0")
    driver.kill()
    _wait_for(lambda: not Path(f"/proc/{process}").exists())
    _wait_for(lambda: _is_free(nodes))


@pytest.mark.slow
def test_tasks_of_a_lost_node_go_on_at_another_one(nodes, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    with tf.ray.Cluster(partial(programs.train, tmp_path), ps=1, workers=1, strategy="SPREAD") as cluster:
        _wait_for(lambda: _steps(tmp_path) > 20)
        groups = nodes.util.placement_group_table().values()
        (group,) = (each for each in groups if each["state"] == "CREATED")
        node = next(each for each in nodes.nodes() if each["NodeID"] == group["bundles_to_node_id"][0])
        os.kill(_listener(node["NodeManagerPort"]), signal.SIGKILL)
        _wait_for(lambda: "ps 0: was lost" in caplog.text)
        reached = _steps(tmp_path)
        _wait_for(lambda: _steps(tmp_path) > reached + 20)
        (tmp_path / "stop").touch()
        assert cluster.wait(200)["worker"][0] > reached
