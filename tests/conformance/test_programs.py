"""The same TensorFlow 1 programs in TensorFlow and here: equal numbers, names, shapes and errors."""

import json

import numpy as np
import pytest

from tests import program_runner
from tests.conformance.recorded import recording
from tests.conformance.tensorflow import run_tensorflow
from tests.test_programs import graph, results_here  # noqa: F401 - the fixture is for this module too

pytestmark = pytest.mark.timeout(300)
THERE = recording("programs", program_runner.PROGRAMS)

_THERE = """
import json, runpy, traceback
path, out = sys.argv[1:]
runner = runpy.run_path(path)
answers = {}
for name in runner["PROGRAMS"]:
    try:
        answers[name] = runner["run_program"](name, "import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()")
    except Exception:
        answers[name] = traceback.format_exc()
with open(out, "w") as file:
    json.dump(answers, file)
"""


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """Results of all programs in TensorFlow, or the text of its error."""
    out = tmp_path_factory.mktemp("programs") / "results.json"
    run_tensorflow(_THERE, program_runner.__file__, out)
    return json.loads(out.read_text())


@pytest.mark.parametrize("name", program_runner.PROGRAMS)
def test_same_results(request, name):
    source = (program_runner.FOLDER / f"{name}.py").read_text()
    theirs = THERE.answer(name, source, lambda: request.getfixturevalue("there")[name])
    assert not isinstance(theirs, str), theirs
    ours = results_here(name)
    assert sorted(ours) == sorted(theirs)
    found = [line for key in ours for line in differences(ours[key], theirs[key], key)]
    assert not found, "\n".join(found)


def differences(ours, theirs, where):
    """Yields a line for each place where the two differ: floats beyond the tolerance, all else at all."""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, f"{where}[{i}]")
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        if (ours["shape"], ours["dtype"]) != (theirs["shape"], theirs["dtype"]):
            yield f"{where}: {ours['dtype']}{ours['shape']}, there {theirs['dtype']}{theirs['shape']}"
        elif not np.allclose(ours["values"], theirs["values"], rtol=2e-4, atol=2e-5, equal_nan=True):
            yield f"{where}: {ours['values'][:8]}, there {theirs['values'][:8]}"
    elif isinstance(ours, float) and isinstance(theirs, float):
        if not np.isclose(ours, theirs, rtol=2e-4, atol=2e-5):
            yield f"{where}: {ours}, there {theirs}"
    elif type(ours) is not type(theirs) or ours != theirs:
        yield f"{where}: {ours!r}, there {theirs!r}"
