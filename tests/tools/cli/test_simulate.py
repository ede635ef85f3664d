"""`thalweg simulate`: tables, figures and bad input."""

import csv
import io
import json

import pytest
from click.testing import CliRunner

import thalweg as tf
from tests.cluster.distributed.clusters import free_ports
from thalweg._src.compiler.place.cost import CostModel, Link
from thalweg._src.tools.cli.main import commands


def simulate(*arguments):
    """Returns the exit status and the output of the command."""
    done = CliRunner().invoke(commands, ["simulate", *arguments])
    return done.exit_code, done.output


def test_a_table_has_a_row_for_each_number_of_workers():
    status, output = simulate(
        *("--workers", "1,10:11", "--ps", "2", "--model", "20MB", "--batch", "5", "--compute", "0.5"),
        *("--bandwidth", "800Mbit", "--message", "0.01", "--steps", "20"),
    )
    head, *rows = (line.split() for line in output.splitlines())
    assert status == 0
    assert head[:4] == ["mode", "workers", "step", "p10"] and "staleness" in head
    assert [row[1] for row in rows] == ["1", "10", "11"]
    assert rows[0][2:4] == ["920", "ms"]  # 0.5 s, two transfers of 20 MB at 100 MB/s, two messages


def test_csv_and_json_have_the_same_figures():
    job = ("--mode", "sync", "--workers", "4", "--backups", "0:2", "--compute", "1", "--stragglers", "0.5")
    job += ("--straggler-factor", "2", "--failures", "1e5")
    rows = json.loads(simulate(*job, "--format", "json")[1])
    found = list(csv.DictReader(io.StringIO(simulate(*job, "--format", "csv")[1])))
    assert [row["backups"] for row in rows] == [0, 1, 2]
    assert [float(row["median"]) for row in found] == [row["median"] for row in rows]
    assert 0 < rows[0]["effective"] < 1 and rows[0]["staleness"] is None


def test_computing_times_can_be_measured_ones(tmp_path):
    (tmp_path / "times.txt").write_text("0.25\n0.25\n0.25\n")
    (row,) = json.loads(simulate("--compute", str(tmp_path / "times.txt"), "--format", "json")[1])
    assert row["median"] == pytest.approx(0.25)


def test_a_figure_is_drawn(tmp_path):
    modes = ("--mode", "async", "--mode", "all_reduce")
    status, _ = simulate(*modes, "--workers", "1:3", "--steps", "5", "--plot", str(tmp_path / "curves.png"))
    assert status == 0 and (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_figures_of_a_graph_and_of_measured_costs(tmp_path):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 1000])
        loss = tf.reduce_sum(tf.matmul(x, tf.get_variable("w", [1000, 250])))
        tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
        tf.train.export_meta_graph(str(tmp_path / "model.meta"))
    CostModel(links={"remote": Link(0.0, 1e6)}).save(tmp_path / "costs.json")
    job = ("--graph", str(tmp_path / "model.meta"), "--costs", str(tmp_path / "costs.json"), "--format", "json")
    (row,) = json.loads(simulate(*job)[1])
    assert row["bytes"] == 2 * 4 * 250_000
    assert 2.0 < row["median"] < 2.1  # a megabyte there and back, and some milliseconds
    assert simulate(*job, "--train-op", "train")[0] == 0
    status, output = simulate(*job, "--train-op", "missing")
    assert status == 2 and "--train-op" in output and "missing" in output


def test_a_link_is_measured_between_the_tasks_of_a_cluster():
    ports = free_ports(2)
    cluster = {"ps": [f"localhost:{ports[0]}"], "worker": [f"localhost:{ports[1]}"]}
    servers = [tf.train.Server(cluster, job, 0) for job in cluster]
    job = ("--model", "100MB", "--compute", "0", "--format", "json", "--link")
    try:
        (row,) = json.loads(simulate(*job, cluster["worker"][0])[1])
    finally:
        for server in servers:
            server.stop()
    assert 4e-6 < row["median"] < 200e6 / 1e5  # slower than a microsecond per message, faster than a modem
    alone = tf.train.Server.create_local_server()
    try:
        status, output = simulate(*job, alone.target.removeprefix("grpc://"))
    finally:
        alone.stop()
    assert status == 2 and "a link needs two tasks" in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--workers", "0"], "workers of a simulated training job is invalid"),
        (["--workers", "many"], "'many' is not an integer or a range"),
        (["--workers", "3:1"], "3:1"),
        (["--model", "large"], "'large' is not a number of bytes, such as 108MB or 10Gbit"),
        (["--compute", "missing.txt"], "neither seconds nor a file"),
        (["--stragglers", "2"], "a probability, from 0 to 1"),
        (["--plot", "curves.txt"], "expected: .png, .svg, .pdf"),
        (["--mode", "ring"], "'ring' is not one of"),
    ],
)
def test_bad_input_is_explained(arguments, words):
    status, output = simulate(*arguments)
    assert status == 2 and words in output


def test_a_file_that_is_no_graph_or_cost_model_is_refused(tmp_path):
    (tmp_path / "text").write_text("{}")
    for option in ("--graph", "--costs"):
        status, output = simulate(option, str(tmp_path / "text"))
        assert status == 2 and option in output and "Traceback" not in output
