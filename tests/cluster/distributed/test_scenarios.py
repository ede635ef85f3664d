"""Fault scenarios: training in real processes resumes, or ends with an error that names the lost task."""

import os
import re
import sys

import pytest

from tests import children
from tests.cluster.distributed import namespaces

if namespaces.OTHER in os.environ:
    pytest.skip("this is inside of a namespace", allow_module_level=True)

QUICK = (
    "^plain ps kill before its part of a step",
    "^plain ps kill while sending",
    "^plain ps kill while receiving",
    "^async ps kill before its part of a step",
    "^sync chief kill between renames",
)


def run(script, *arguments):
    """Runs a script, and returns what it printed."""
    command = [sys.executable, "-m", f"tests.cluster.distributed.{script}", *arguments]
    done = children.run(command, check=False, env=children.environment(OMP_NUM_THREADS="1"))
    print(done.stdout, done.stderr)
    return done


@pytest.mark.timeout(600)
def test_quick_scenarios():
    """The times are checked by slow tests only: other tests may run meanwhile."""
    done = run("scenarios", *QUICK)
    assert len(re.findall("(?m)(resumed|UnavailableError)(  TOO SLOW)?$", done.stdout)) == len(QUICK)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_all_scenarios():
    assert run("scenarios").returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_kill_every_15_seconds_keeps_most_of_the_progress():
    assert run("soak").returncode == 0
