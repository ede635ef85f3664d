"""How processes end, in words."""

import subprocess

import pytest

from thalweg._src.base.processes import end_of, usable_cores


@pytest.mark.parametrize(
    "code, words",
    [
        (0, "ended with exit code 0"),
        (3, "ended with exit code 3"),
        (-9, "was killed by signal 9 (SIGKILL)"),
        (-200, "was killed by signal 200 (unknown)"),
    ],
)
def test_the_end_of_a_process_has_words(code, words):
    process = subprocess.Popen.__new__(subprocess.Popen)
    process.returncode = code
    process._child_created = False
    assert end_of(process) == words


def test_a_process_may_use_a_core():
    assert usable_cores() >= 1
