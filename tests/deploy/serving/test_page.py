"""The program of the page about serving prints what it shows."""

import re
import sys
from pathlib import Path

from tests import children

PAGE = Path(__file__).parents[3] / "docs" / "serving.md"


def test_the_page_prints_what_it_shows(tmp_path):
    program, shown = re.findall(r"^```\w+\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (tmp_path / "serve.py").write_text(program)
    command = [sys.executable, "serve.py"]
    done = children.run(command, cwd=tmp_path, env=children.environment(OMP_NUM_THREADS="1"), forked=True)
    assert done.stdout == shown
