"""The page about the simulator shows what it computes."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import children
from thalweg._src.tools.cli.main import commands

ROOT = Path(__file__).parent.parent.parent.parent
PAGE = (ROOT / "docs/simulate.md").read_text()
BLOCKS = re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_command_prints_what_is_shown():
    command = re.search(r"^    thalweg (simulate .*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)[1]
    done = CliRunner().invoke(commands, shlex.split(command.replace("\\\n", " ").replace("10,100,1000", "10,100")))
    lines = [line.split() for line in done.output.splitlines()]
    assert len(lines) == 1 + 3 * 2
    assert [line for line in lines if line not in [each.split() for each in BLOCKS[0].splitlines()]] == []


def test_the_program_prints_what_is_shown(capsys):
    exec(compile(BLOCKS[1], "train.py", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == BLOCKS[2]


@pytest.mark.slow
def test_the_figures_beside_the_papers_are_those_of_the_simulator(tmp_path):
    figure = tmp_path / "figure.png"
    command = [sys.executable, ROOT / "bench/simulated_inception.py", figure]
    rows = children.run(command, env=children.environment()).stdout.splitlines()
    assert len(rows) == 15 and [row for row in rows if row not in PAGE.splitlines()] == []
    assert figure.stat().st_size > 10_000
