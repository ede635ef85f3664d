"""Programs written for TensorFlow 1 run here after changing only the import; each checks itself that it learned."""

import functools

import numpy as np
import pytest

from tests.program_runner import PROGRAMS, run_program

IMPORT = "import thalweg as tf"


@pytest.fixture(autouse=True)
def graph():
    """Leaves the default graph alone: programs build in the process's own."""


@functools.cache
def results_here(name):
    return run_program(name, IMPORT)


def test_there_are_programs():
    assert len(PROGRAMS) >= 12


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    results = results_here(name)
    assert results
    for key, value in results.items():
        for number in _numbers(value):
            assert np.isfinite(number), key


def _numbers(value):
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, dict):
        yield from value["values"]
    elif value is not None and not isinstance(value, str):
        yield value
