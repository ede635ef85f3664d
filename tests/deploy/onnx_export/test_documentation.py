"""The page about export shows programs that run, errors as they are, and all ops that have a converter."""

import re
import traceback
from pathlib import Path

import onnxruntime
import pytest

import thalweg as tf
from thalweg._src.deploy.onnx_export.registry import CONVERTERS

PAGE = (Path(__file__).parents[3] / "docs" / "export.md").read_text()
onnxruntime.disable_telemetry_events()
BLOCKS = re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def _run(program):
    with tf.Graph().as_default():
        exec(compile(program, "train.py", "exec"), {"__name__": "__main__"})


def test_the_program_prints_what_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _run(BLOCKS[0])
    assert capsys.readouterr().out == BLOCKS[1]


def test_the_error_looks_as_shown():
    with pytest.raises(tf.errors.UnimplementedError) as caught:
        _run(BLOCKS[2])
    assert "".join(traceback.format_exception_only(caught.value)) == BLOCKS[3]


def test_the_table_has_the_ops_with_converters():
    table = PAGE[PAGE.index("## Ops") :]
    listed = [
        name
        for row in re.findall(r"^\| [a-z, ]+ \|(.*)\|$", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    ]
    assert sorted(listed) == sorted(CONVERTERS)
