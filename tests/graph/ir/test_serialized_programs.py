"""Programs whose step graphs travel as bytes compute what they compute otherwise."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.conformance import comparison
from tests.conformance.case_runner import run_case
from tests.conformance.cases import describe, variants
from tests.conformance.test_cases import NAMES, apply
from tests.conformance.test_programs import differences
from tests.graph.control_flow.programs import COUNT, source
from tests.graph.control_flow.test_across_devices import _results
from tests.graph.ir.serialized import after_partition, through_bytes
from tests.program_runner import PROGRAMS, run_program
from tests.test_programs import IMPORT, results_here
from thalweg._src.base import errors
from thalweg._src.runtime.passes import Compilation

ONCE = {"custom_gradients"}  # registers gradients, which a process can do only once


class Traffic:
    """Sends each step through bytes, other than those with Python functions, and counts both."""

    def __init__(self) -> None:
        self.sent = self.kept = 0

    def __call__(self, c: Compilation) -> None:
        try:
            c.partitions = through_bytes(c.partitions)
            self.sent += 1
        except errors.InvalidArgumentError as error:
            assert "runs only in the process" in str(error)
            self.kept += 1


@pytest.fixture(autouse=True)
def graph() -> None:
    """Leaves the default graph alone: programs build in the process's own."""


@pytest.fixture
def traffic(monkeypatch: pytest.MonkeyPatch) -> Traffic:
    traffic = Traffic()
    after_partition(monkeypatch, traffic)
    return traffic


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - ONCE))
def test_programs(name: str, traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    results = run_program(name, IMPORT)
    assert traffic.sent > traffic.kept
    monkeypatch.undo()
    expected = results_here(name)
    assert sorted(results) == sorted(expected)
    # Not the same digits: sums of a GPU depend on the order in which its threads add.
    assert not [line for key in results for line in differences(results[key], expected[key], key)]


@pytest.mark.parametrize("seed", range(0, COUNT, 6))
def test_control_flow_across_devices(seed: int, traffic: Traffic, monkeypatch: pytest.MonkeyPatch) -> None:
    program = source(seed)
    results = _results(program, scatter=True)
    assert traffic.sent
    monkeypatch.undo()
    for ours, expected in zip(results, _results(program, scatter=True), strict=True):
        np.testing.assert_array_equal(ours, expected, err_msg=program)


@pytest.mark.parametrize("name", NAMES[::5])
def test_operations(name: str, traffic: Traffic, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    case = json.loads(json.dumps(describe("base", variants(name)["base"])))
    with contextlib.chdir(tmp_path):  # for operations that write files
        outcome = run_case(tf, apply, case)
        assert traffic.sent and not traffic.kept
        monkeypatch.undo()
        assert not list(comparison.differences(outcome, run_case(tf, apply, case)))
