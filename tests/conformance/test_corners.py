"""Small programs at the corners of the public names: the same results, types, shapes and errors as in TensorFlow."""

import json
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import thalweg as tf
from tests.conformance.comparison import program_differences
from tests.conformance.corner_runner import programs, run_program
from tests.conformance.different import DIFFERENT_PROGRAMS, STACKING, UNKNOWN_NUMBER, shown_here
from tests.conformance.recorded import recording
from tests.conformance.tensorflow import Server

pytestmark = pytest.mark.timeout(300)

PROGRAMS = programs()
THERE = recording("corners", PROGRAMS)
FEWEST = 150


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("corners"))
    yield server
    server.close()


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_as_tensorflow(server, program):
    theirs = THERE.answer(program, _question(program), lambda: server.answer({"program": program}))
    ours = json.loads(json.dumps(run_program(tf, program)))
    assert theirs is not None, "TensorFlow does not survive it"
    found = list(program_differences(ours, theirs))
    if program in DIFFERENT_PROGRAMS:
        assert found, f"no longer different: {DIFFERENT_PROGRAMS[program]}"
    else:
        if program in STACKING:
            assert found, "no longer different"
            found = [line for line in found if not fnmatchcase(line, UNKNOWN_NUMBER)]
        shown = shown_here(found)
        assert not shown, "\n".join(shown)


def _question(program):
    module = program.partition(".")[0]
    return [program, (Path(__file__).parent / "corners" / f"{module}.py").read_text()]


def test_there_are_enough_programs():
    assert len(PROGRAMS) >= FEWEST
