"""Small programs with input queues, savers and initial values see in TensorFlow and here the same."""

import json
from pathlib import Path

import pytest

import thalweg as tf
from tests.conformance import input_programs
from tests.conformance.recorded import recording
from tests.conformance.tensorflow import run_tensorflow

pytestmark = pytest.mark.timeout(300)
NAMES = [name for name in input_programs.PROGRAMS if name not in ("run", "main")]
SOURCE = Path(input_programs.__file__).read_text()
THERE = recording("input", NAMES)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("theirs")
    out = folder / "answers.jsonl"
    code = (
        "import json, runpy; runpy.run_path(sys.argv[1])['main'](tf, sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))"
    )
    run_tensorflow(code, Path(input_programs.__file__), folder, out, json.dumps(NAMES))
    return dict(zip(NAMES, map(json.loads, out.read_text().splitlines()), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_program_sees_what_tensorflow_shows(request, name, tmp_path):
    theirs = THERE.answer(name, [name, SOURCE], lambda: request.getfixturevalue("answers")[name])
    assert input_programs.run(tf, name, str(tmp_path)) == theirs
