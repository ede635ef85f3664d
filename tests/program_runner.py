"""Runs a program written for TensorFlow 1 from its source text, with only the import changed.

Needs neither Thalweg nor TensorFlow itself, so both Pythons can load it.
"""

import contextlib
import io
import pathlib
import warnings

import numpy as np

FOLDER = pathlib.Path(__file__).parent / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))
_IMPORT = "import tensorflow as tf\n"


def run_program(name, replacement):
    """Runs one of the programs with `replacement` in place of its import; returns its results as plain lists."""
    path = FOLDER / (name + ".py")
    source = path.read_text()
    assert source.count(_IMPORT) == 1
    namespace = {"__name__": "__main__"}
    exec(replacement + "; tf.executing_eagerly() or tf.reset_default_graph()", namespace)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source.replace(_IMPORT, replacement + "\n"), str(path), "exec"), namespace)
    return {key: _plain(value) for key, value in namespace["results"].items()}


def _plain(value):
    """Returns value in lists, dictionaries, strings and numbers, each array with its shape and dtype."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)
        return {"shape": list(value.shape), "dtype": value.dtype.name, "values": value.ravel().tolist()}
    assert value is None or isinstance(value, (bool, int, float, str)), value
    return value
