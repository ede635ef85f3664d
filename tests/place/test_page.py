"""docs/placement.md shows what its programs print, and names what there is."""

import pathlib
import re

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg.place.placers import PLACERS

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/placement.md").read_text()
BLOCKS = re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(torch.cuda.is_available(), reason="the page shows a machine without a GPU")
def test_the_example_prints_what_the_page_shows(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[0], "train.py", "exec"), {})
    assert capsys.readouterr().out == BLOCKS[1]
    assert (tmp_path / "placement.png").exists()


def test_a_traced_run_is_saved_and_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = tf.placeholder(tf.float32, [4, 4], name="x")
    y, config = tf.matmul(x, x, name="y"), tf.ConfigProto(device_count={"CPU": 2, "GPU": 0})
    with tf.Session(config=config) as sess:
        exec(BLOCKS[2], {"sess": sess, "y": y, "feeds": {x: np.eye(4)}, "config": config, "tf": tf})
    config.experimental.placer = "single"
    with tf.Session(config=config) as sess:
        assert "ms simulated" in sess.show_placement(y, [x])
    assert '"CPU y = MatMul"' in (tmp_path / "costs.json").read_text()


def test_the_page_names_all_placers():
    named = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert set(named) == {name for name, entry in PLACERS._entries.items() if "thalweg" in entry.place.__module__}


def test_the_bench_runs_on_tiny_graphs(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    monkeypatch.setattr("sys.argv", ["placers.py", "--tiny", "--rounds", "1", "--graphs", "layered"])
    import placers

    monkeypatch.setattr(placers, "ROUND_SECONDS", 0.01)
    threads = torch.get_num_threads()
    try:
        placers.main()
    finally:
        torch.set_num_threads(threads)
    text = capsys.readouterr().out
    for name in ("single", "greedy", "critical_path", "local_search", "learned", "round_robin", "hand"):
        assert re.search(rf"^  {name} +\d", text, re.MULTILINE)
