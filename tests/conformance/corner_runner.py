"""Runs the small programs of `corners`: functions of `tf` whose results, tensors included, are written down.

Needs neither Thalweg nor TensorFlow itself, so both Pythons can load it.
"""

import contextlib
import io
import runpy
import warnings
from pathlib import Path

import numpy as np

_FOLDER = Path(__file__).parent
_shared = runpy.run_path(str(_FOLDER / "case_runner.py"))
encode, describe_error = _shared["encode"], _shared["describe_error"]


def programs():
    """Returns the names of all programs, as "module.function"."""
    names = []
    for path in sorted((_FOLDER / "corners").glob("*.py")):
        module = runpy.run_path(str(path))
        names += [f"{path.stem}.{name}" for name, value in module.items() if callable(value) and name[0] != "_"]
    return names


def run_program(tf, program):
    """Returns what a program gives, or the class of what it raises and when."""
    module, _, name = program.partition(".")
    function = runpy.run_path(str(_FOLDER / "corners" / f"{module}.py"))[name]
    with tf.Graph().as_default(), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            result = function(tf)
        except Exception as error:
            return {"building": describe_error(tf, error)}
        tensors = []
        plan = _plain(tf, result, tensors)
        try:
            values = _values(tf, tensors) if tensors else []
        except Exception as error:
            return {"running": describe_error(tf, error)}
        return {"result": plan, "values": [encode(value) for value in values]}


def _values(tf, tensors):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(tensors)


def _plain(tf, value, tensors):
    """Returns a result as plain JSON values; of tensors, which are collected, their types and static shapes."""
    if isinstance(value, (tf.Tensor, tf.Variable)):
        tensors.append(value)
        shape = value.shape
        return {"tensor": value.dtype.base_dtype.name, "shape": None if shape.ndims is None else shape.as_list()}
    if isinstance(value, tf.Operation):
        return {"operation": value.type}
    if isinstance(value, (list, tuple)):
        return [_plain(tf, item, tensors) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(tf, item, tensors) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return {"array": encode(value)}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    assert value is None or isinstance(value, (bool, int, float, str)), value
    return value
