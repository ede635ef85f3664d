"""docs/checkpoints.md: its program runs and resumes, and its table is right."""

import math
import re
from pathlib import Path

import thalweg as tf
from thalweg._src.training.checkpoint_interval import best_interval

PAGE = (Path(__file__).parents[2] / "docs" / "checkpoints.md").read_text()


def test_the_program_trains_and_resumes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for steps in (200, 203):
        with tf.Graph().as_default():
            exec(compile(program.replace("last_step=200", f"last_step={steps}"), "train.py", "exec"), {})
        assert tf.train.latest_checkpoint("model") == f"model/model.ckpt-{steps}"


def test_the_table_says_what_is_chosen():
    rows = re.findall(r"^\| (\d+) (ms|s) \| (\d+) s \| (\d+) s \| (\d+) s \|$", PAGE, re.MULTILINE)
    assert len(rows) == 4
    for cost, unit, *shown in rows:
        seconds = int(cost) * (0.001 if unit == "ms" else 1.0)
        chosen = [best_interval(seconds, between) for between in (86_400, 3600, 600)]
        assert [int(text) for text in shown] == [math.floor(value + 0.5) for value in chosen]
