"""Supervised training does what TensorFlow's does: the order of calls, what is saved, which errors come out."""

import json
from pathlib import Path

import pytest

import thalweg as tf
from tests.conformance import supervised_programs
from tests.conformance.recorded import recording
from tests.conformance.tensorflow import run_tensorflow

pytestmark = pytest.mark.timeout(400)

_THERE = """
import json, runpy
path, folder, out = sys.argv[1:]
programs = runpy.run_path(path)
answers = {}
for name in programs["PROGRAMS"]:
    answers[name] = programs["run_program"](tf, name, folder)
with open(out, "w") as file:
    json.dump(answers, file)
"""
SOURCE = Path(supervised_programs.__file__).read_text()
THERE = recording("supervised", supervised_programs.PROGRAMS)


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    folder = tmp_path_factory.mktemp("supervised")
    out = folder / "answers.json"
    run_tensorflow(_THERE, supervised_programs.__file__, folder, out, seconds=300)
    return json.loads(out.read_text())


_RACING = pytest.mark.cpu_only(reason="an error on the host ends the step before or after the device's own update")
_PROGRAMS = [
    pytest.param(name, marks=_RACING) if name == "input_that_ends" else name for name in supervised_programs.PROGRAMS
]


@pytest.mark.parametrize("name", _PROGRAMS)
def test_same_outcomes(request, name, tmp_path):
    theirs = THERE.answer(name, [name, SOURCE], lambda: request.getfixturevalue("there")[name])
    ours = json.loads(json.dumps(supervised_programs.run_program(tf, name, str(tmp_path))))
    assert ours == theirs
