"""Every operation gives what it gives in TensorFlow: values, types, static shapes, gradients and errors."""

import json
import os
import zlib
from fnmatch import fnmatchcase

import pytest

import thalweg as tf
from tests.conformance.case_runner import run_case
from tests.conformance.cases import describe, variants
from tests.conformance.comparison import differences, nothing_to_compare
from tests.conformance.different import DIFFERENT, KILLS, NOT_CALLED, RESOURCES, expected_here, must_show, shown_here
from tests.conformance.recorded import recording
from tests.conformance.tensorflow import PYTHON, Server, needs_tensorflow
from tests.strategies import valid
from thalweg._src.graph.op_def import OPS

pytestmark = pytest.mark.timeout(600)


def _is_called(name):
    """Returns whether an op of the package is one that a single call of arrays and variables shows."""
    definition = OPS.lookup(name)
    if (
        name.startswith(("_", *RESOURCES))
        or name in NOT_CALLED
        or definition.on_handles is not None  # compared by the op that takes handles, which runs in its place
        or not definition.infer.__module__.startswith("thalweg.")
    ):
        return False
    if any(arg.dtype is tf.variant for arg in definition.inputs):
        return False
    return not any(hasattr(value, "make_handle") for value in valid(name).inputs)


NAMES = sorted(name for name in OPS if _is_called(name))
THERE = recording("cases", NAMES)
FEW = 16  # cases of an operation that are recorded
# Cases whose outcome TensorFlow takes from memory that it did not write, or from noise; they are not recorded.
UNSETTLED = (
    *(entry.case for entry in DIFFERENT if not must_show(entry)),
    "Cholesky/s*",
    "Cholesky/two rows",
    "Eig/compute_v=False",
    "ExtractGlimpse*/centered=False*",
    "ExtractGlimpse*/size*",
    "FractionalMaxPoolGrad/*_pooling_sequence=*",
    "FusedBatchNorm*/size ?->0",
    "LoadAndRemapMatrix/col_remapping=*",
    "QuantizedMul/column of 0",
    "ResourceApply*/scalar of *",
    "Sparse*/scalar of *",
    "Svd/compute_uv=False*",
)
FEWEST = 1500


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("cases"))
    yield server
    server.close()


def apply(op, inputs, attrs, name):
    OPS.lookup(op).many(*inputs, name=name, **attrs)


@pytest.mark.parametrize("name", NAMES)
def test_same_as_tensorflow(server, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for operations that write files
    ours, theirs = _outcomes(server, name)
    skipped = {label: why for label in ours if (why := nothing_to_compare(theirs[label]))}
    found = {label: shown_here(differences(ours[label], theirs[label])) for label in ours if label not in skipped}
    expected = expected_here(name)
    left, used = unexpected(name, found, expected)
    if path := os.environ.get("THALWEG_CONFORMANCE_LOG"):
        with open(path, "a") as file:
            file.write(json.dumps({"op": name, "compared": len(found), "skipped": skipped, "found": left}) + "\n")
    text = "\n".join(f"  {label}\n    " + "\n    ".join(lines) for label, lines in left.items())
    assert not left, f"{len(left)} of {len(found)} cases of {name} differ:\n{text}"
    if PYTHON:  # and all cases were asked, not those alone that are recorded
        assert found, f"TensorFlow runs no case of {name}"
        unused = {entry for entry in expected if must_show(entry)} - used
        assert not unused, f"no longer different: {unused}"


def cases_of(name):
    """Returns the described cases of an operation that TensorFlow survives."""
    kept = {k: case for k, case in variants(name).items() if not any(fnmatchcase(f"{name}/{k}", k_) for k_ in KILLS)}
    return {label: describe(label, case) for label, case in kept.items()}


def _outcomes(server, name):
    """Returns what came of the cases of an operation here and in TensorFlow; without it, of the recorded ones."""
    cases = cases_of(name)
    few = recorded_cases(name, cases)
    if not PYTHON:
        return _ours(few), THERE.replay(name, few)
    server.ask(list(cases.values()))
    ours = _ours(cases)  # while TensorFlow works
    theirs = dict(zip(cases, server.answers(), strict=True))
    THERE.keep(name, few, {label: theirs[label] for label in few})
    return ours, theirs


def _ours(cases):
    return {label: run_case(tf, apply, json.loads(json.dumps(case))) for label, case in cases.items()}


def recorded_cases(name, cases):
    """Returns the cases that are recorded: the valid call and some variants.

    They are chosen by a hash of their names, so that a new variant takes the place of one at most.
    """
    settled = [label for label in cases if not any(fnmatchcase(f"{name}/{label}", case) for case in UNSETTLED)]
    settled.sort(key=lambda label: (label != "base", zlib.crc32(f"{name}/{label}".encode())))
    return {label: cases[label] for label in settled[:FEW]}


def unexpected(name, found, expected):
    """Returns the differences that no entry explains, by case, and the entries that explain some."""
    left, used = {}, set()
    for label, lines in found.items():
        for line in lines:
            entries = {e for e in expected if fnmatchcase(f"{name}/{label}", e.case) and fnmatchcase(line, e.line)}
            used |= entries
            if not entries:
                left.setdefault(label, []).append(line)
    return left, used


@needs_tensorflow
def test_there_are_enough_cases():
    assert sum(len(cases_of(name)) for name in NAMES) >= FEWEST
