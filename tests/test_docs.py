"""What the documentation shows runs as shown."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parent.parent


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_journey_shows_every_stage(capsys):
    load(ROOT / "docs/journey.py").main()
    text = capsys.readouterr().out
    for stage in ("1 prune", "2 optimize", "3 place", "4 partition", "5 compile", "6 execute", "The result"):
        assert f"=== {stage}" in text
    assert "_FusedMatMul" in text and "_ApplyMomentumGroup" in text
    assert "def segment_0(step" in text and "# waits for: " in text


def test_the_demo_learns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    accuracy = load(ROOT / "examples/digits.py").main()
    assert accuracy > 0.97
    assert (tmp_path / "runs/digits/digits.png").stat().st_size > 10_000
    assert "wrote runs/digits/digits.png" in capsys.readouterr().out


def test_the_paper_map_points_to_files_that_exist():
    text = (ROOT / "docs/paper.md").read_text()
    import re

    paths = re.findall(r"`((?:src|tests|docs|bench|examples)/[\w./]+)`", text)
    assert len(paths) > 20
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert not missing


@pytest.mark.parametrize(
    "example", sorted(p.name for p in (ROOT / "examples").glob("*.py") if p.name not in ("digits.py", "own_op.py"))
)
def test_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load(ROOT / "examples" / example).main()
