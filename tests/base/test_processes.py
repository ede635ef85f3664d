"""How processes end, in words."""

from types import SimpleNamespace

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
    assert end_of(SimpleNamespace(returncode=code)) == words


def test_a_process_may_use_a_core():
    assert usable_cores() >= 1
