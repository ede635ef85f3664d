"""Small programs at the corners of the public names: the same results, types, shapes and errors as in TensorFlow."""

import json

import pytest

import thalweg as tf
from tests.conformance.comparison import program_differences
from tests.conformance.corner_runner import programs, run_program
from tests.conformance.different import DIFFERENT_PROGRAMS
from tests.conformance.tensorflow import Server, needs_tensorflow

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

PROGRAMS = programs()
FEWEST = 150


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("corners"))
    yield server
    server.close()


@pytest.mark.parametrize("program", PROGRAMS)
def test_same_as_tensorflow(server, program):
    server.ask([{"program": program}])
    ours = json.loads(json.dumps(run_program(tf, program)))
    (theirs,) = server.answers()
    assert theirs is not None, "TensorFlow does not survive it"
    found = list(program_differences(ours, theirs))
    if program in DIFFERENT_PROGRAMS:
        assert found, f"no longer different: {DIFFERENT_PROGRAMS[program]}"
    else:
        assert not found, "\n".join(found)


def test_there_are_enough_programs():
    assert len(PROGRAMS) >= FEWEST
