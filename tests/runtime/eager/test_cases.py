"""Every operation gives in eager execution what it gives in TensorFlow: values, types, shapes, gradients and errors."""

import json

import pytest
import torch

import thalweg as tf
from tests.conformance.case_runner import run_case, run_eagerly
from tests.conformance.comparison import eager_differences, nothing_to_compare
from tests.conformance.different import Different, expected_here, shown_here
from tests.conformance.test_cases import NAMES, THERE, apply as add, cases_of, recorded_cases, unexpected
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.eager import compiled_backprop

EXPECTED = [
    Different("AddManySparseToTensorsMap/*", "host: value 0: *", "numbers continue those of the cases before"),
    Different("AddSparseToTensorsMap/*", "host: value 0: *", "numbers continue those of the cases before"),
    *[
        Different(case, "host: [vg]*", "subnormal numbers are kept: to flush them would change the caller's thread")
        for case in ("Bessel*/special11", "Bessel*/grid", "FloorDiv/grid")
    ],
    Different("ExtractImagePatches/rates=*", "unknown: InvalidArgumentError *", "a graph refuses it while it is built"),
    Different("Merge/*", "host: *", "selects the input whose branch has run"),
    Different("TensorSummary/*", "host: value 0: *", "contains the name of the operation"),
]
NOISY = [
    Different("CropAndResizeGradImage/image_size=*", "unknown: OutOfRangeError *", "two mistakes in one call"),
    Different("ExtractGlimpse*/*", "host: value *", "fills with random numbers"),
]
pytestmark = pytest.mark.usefixtures("eager")


def apply(op, inputs, attrs, name):
    outputs = OPS.lookup(op).many(*inputs, name=name, **attrs)
    return tf.nest.flatten([] if outputs is None else outputs)


@pytest.fixture
def flushes_subnormal_numbers():
    """Computes as steps do."""
    torch.set_flush_denormal(True)
    yield
    torch.set_flush_denormal(False)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_gradients_are_the_same(name, tmp_path, monkeypatch):
    monkeypatch.setattr(compiled_backprop, "_COMPILE_AFTER", 1)
    test_same_as_tensorflow(name, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", NAMES)
def test_same_as_tensorflow(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for operations that write files
    cases = json.loads(json.dumps(recorded_cases(name, cases_of(name))))
    theirs = THERE.replay(name, cases)
    found = {
        label: shown_here(eager_differences(run_eagerly(tf, apply, case), theirs[label]))
        for label, case in cases.items()
        if not nothing_to_compare(theirs[label])
    }
    left, _ = unexpected(name, found, [*expected_here(name), *EXPECTED])
    text = "\n".join(f"  {label}\n    " + "\n    ".join(lines) for label, lines in left.items())
    assert not left, f"{len(left)} of {len(found)} cases of {name} differ:\n{text}"


@pytest.mark.slow
@pytest.mark.usefixtures("flushes_subnormal_numbers")
@pytest.mark.parametrize("name", NAMES)
def test_same_as_a_session(name, tmp_path, monkeypatch):
    """Compares all cases, those included that are not recorded."""
    monkeypatch.chdir(tmp_path)
    found = {}
    for label, case in json.loads(json.dumps(cases_of(name))).items():
        in_session = run_case(tf, add, case)
        found[label] = list(eager_differences(run_eagerly(tf, apply, case), in_session))
    left, _ = unexpected(name, found, [*EXPECTED, *NOISY])
    assert not left
