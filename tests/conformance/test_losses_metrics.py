"""Losses and metrics give in TensorFlow and here the same numbers, types, names, collections and errors."""

import json

import numpy as np
import pytest

import thalweg as tf
from tests.conformance import measure_programs
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

_THERE = """
import json, runpy, traceback
path, out = sys.argv[1:]
tf.logging.set_verbosity(tf.logging.ERROR)
tf.disable_resource_variables()
runner = runpy.run_path(path)
answers = {}
for name in runner["programs"]():
    try:
        answers[name] = runner["run"](tf, name)
    except Exception:
        answers[name] = traceback.format_exc()
with open(out, "w") as file:
    json.dump(answers, file)
"""


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """What all programs found in TensorFlow, or the text of its error."""
    out = tmp_path_factory.mktemp("measures") / "results.json"
    run_tensorflow(_THERE, measure_programs.__file__, out)
    return json.loads(out.read_text())


@pytest.mark.parametrize("name", measure_programs.programs())
def test_same_results(there, name):
    assert not isinstance(there[name], str), there[name]
    found = list(_differences(json.loads(json.dumps(measure_programs.run(tf, name))), there[name], ""))
    assert not found, "\n".join(found)


def _differences(ours, theirs, where):
    """Yields a line for each place where the two differ: arrays beyond the tolerance, all else at all."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        if "values" in ours and "dtype" in ours and "shape" in ours:
            yield from _of_arrays(ours, theirs, where)
        else:
            for key in ours:
                yield from _differences(ours[key], theirs[key], f"{where}/{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, pair in enumerate(zip(ours, theirs)):
            yield from _differences(*pair, f"{where}[{i}]")
    elif ours != theirs:
        yield f"{where}: {ours!r}, there {theirs!r}"


def _of_arrays(ours, theirs, where):
    if (ours["shape"], ours["dtype"]) != (theirs["shape"], theirs["dtype"]):
        yield f"{where}: {ours['dtype']}{ours['shape']}, there {theirs['dtype']}{theirs['shape']}"
    elif not np.allclose(ours["values"], theirs["values"], rtol=1e-5, atol=1e-6, equal_nan=True):
        yield f"{where}: {ours['values'][:8]}, there {theirs['values'][:8]}"
