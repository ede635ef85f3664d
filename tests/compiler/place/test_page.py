"""docs/placement.md shows what its programs print, and names what there is."""

import pathlib
import re

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.compiler.place.placers import PLACERS

ROOT = pathlib.Path(__file__).parents[3]
PAGE = (ROOT / "docs/placement.md").read_text()
BLOCKS = re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the page shows a machine without a GPU")
def test_the_example_prints_what_the_page_shows(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[0], "train.py", "exec"), {})
    assert capsys.readouterr().out == BLOCKS[1]
    assert (tmp_path / "placement.png").exists()


def test_a_placement_is_learned_saved_and_used(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = tf.placeholder(tf.float32, [4, 4], name="x")
    y, config = tf.matmul(x, x, name="y"), tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    program = BLOCKS[2].replace("trials=60", "trials=2, heats=1, seconds=0.001")
    exec(program, {"y": y, "feeds": {x: np.eye(4)}, "config": config, "tf": tf})
    assert re.fullmatch(r"\d+\.\d{3} ms simulated, \d+\.\d{3} ms measured\n", capsys.readouterr().out)
    with tf.Session(config=config) as sess:
        assert "placement.json" in sess.show_placement(y, [x])


def test_a_traced_run_is_saved_and_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = tf.placeholder(tf.float32, [4, 4], name="x")
    y, config = tf.matmul(x, x, name="y"), tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    program = BLOCKS[3].replace("(config)", "(config, seconds=0.001)")
    with tf.Session(config=config) as sess:
        exec(program, {"sess": sess, "y": y, "feeds": {x: np.eye(4)}, "config": config, "tf": tf})
    config.experimental.placer = "single"
    with tf.Session(config=config) as sess:
        assert "ms simulated" in sess.show_placement(y, [x])
    assert '"CPU y = MatMul"' in (tmp_path / "costs.json").read_text()


def test_a_memory_limit_is_respected_as_shown():
    limited, shown, ordered = BLOCKS[4:7]
    with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
        exec(compile(limited, "train.py", "exec"), {"tf": tf})
    assert f"thalweg.errors.ResourceExhaustedError: {caught.value.message}\n" == shown
    program = {"tf": tf}
    exec(compile(ordered, "train.py", "exec"), program)
    with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as sess:
        (estimate,) = sess._plan(program["small"], ()).executable.placement.memory.estimates.values()
    assert estimate.peak < 3 << 22  # of eight


def test_the_page_names_all_placers():
    named = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert set(named) == {name for name, entry in PLACERS._entries.items() if "thalweg" in entry.place.__module__}


@pytest.mark.slow
def test_the_bench_runs_on_tiny_graphs(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    monkeypatch.setattr("sys.argv", ["placers.py", "--tiny", "--rounds", "1", "--graphs", "layered", "--trials", "2"])
    import placers

    monkeypatch.setattr(placers, "ROUND_SECONDS", 0.01)
    threads = torch.get_num_threads()
    try:
        placers.main()
    finally:
        torch.set_num_threads(threads)
    text = capsys.readouterr().out
    for name in ("single", "greedy", "critical_path", "local_search", "learned", "round_robin", "tried", "hand"):
        assert re.search(rf"^  {name} +\d", text, re.MULTILINE)
