"""Losses, metrics and summaries give in TensorFlow and here the same numbers, types, names, collections and errors."""

import json
from pathlib import Path

import numpy as np
import pytest

import thalweg as tf
from tests.conformance import measure_programs
from tests.conformance.recorded import recording
from tests.conformance.tensorflow import run_tensorflow

pytestmark = pytest.mark.timeout(300)

_THERE = """
import json, runpy, traceback
path, out, start, end = sys.argv[1:]
tf.logging.set_verbosity(tf.logging.ERROR)
tf.disable_resource_variables()
runner = runpy.run_path(path)
programs = runner["programs"]()
answers = {}
for name in list(programs)[int(start):int(end)]:
    try:
        answers[name] = runner["run"](tf, programs[name])
    except Exception:
        answers[name] = traceback.format_exc()
with open(out, "w") as file:
    json.dump(answers, file)
"""
PROGRAMS = measure_programs.programs()
SOURCE = Path(measure_programs.__file__).read_text()
THERE = recording("losses_metrics", PROGRAMS)
_AT_ONCE = 120  # programs for one TensorFlow process, so that a busy machine ends them in time


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """Returns a function that tells what a program finds in TensorFlow, or the text of its error."""
    found = {}

    def ask(name):
        if name not in found:
            out = tmp_path_factory.mktemp("measures") / "results.json"
            start = list(PROGRAMS).index(name) // _AT_ONCE * _AT_ONCE
            run_tensorflow(_THERE, measure_programs.__file__, out, start, start + _AT_ONCE)
            found.update(json.loads(out.read_text()))
        return found[name]

    return ask


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_results(there, name):
    theirs = THERE.answer(name, [name, SOURCE], lambda: there(name))
    assert not isinstance(theirs, str), theirs
    ours = json.loads(json.dumps(measure_programs.run(tf, PROGRAMS[name])))
    found = list(_differences(ours, theirs, ""))
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
