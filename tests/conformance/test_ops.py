"""Every op carries the name, arguments and attributes that TensorFlow registers."""

import json

import pytest

import thalweg as tf
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow
from thalweg._src.graph.attr import REQUIRED
from thalweg._src.graph.op_def import OPS, show_type

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]

SCHEMAS = """
import json
from tensorflow.python.framework import op_def_registry
def kind(arg):
    if arg.type_list_attr:
        return f"list({arg.type_list_attr})"
    base = arg.type_attr or tf.as_dtype(arg.type).name
    return f"{arg.number_attr}*{base}" if arg.number_attr else base
def value(message):
    which = message.WhichOneof("value")
    if which == "list":
        return [plain(item, field.name) for field, items in message.list.ListFields() for item in items]
    return plain(getattr(message, which), which) if which else None
def plain(item, which):
    if which == "type":
        return tf.as_dtype(item).name
    if which == "shape":
        return None if item.unknown_rank else [dim.size for dim in item.dim]
    return item.decode() if which == "s" else str(item) if which in ("func", "tensor") else item
def known(name):
    op = op_def_registry.get(name)
    if op is None:
        return None
    return {
        "inputs": [[arg.name, kind(arg)] for arg in op.input_arg],
        "outputs": [[arg.name, kind(arg)] for arg in op.output_arg],
        "attrs": {
            a.name: {
                "kind": a.type,
                "default": [value(a.default_value)] if a.HasField("default_value") else [],
                "allowed": value(a.allowed_values) if a.HasField("allowed_values") else None,
                "minimum": a.minimum if a.has_minimum else None,
            }
            for a in op.attr
        },
    }
print(json.dumps({name: known(name) for name in sys.argv[1:]}))
"""


def _ours():
    """Gives the ops that are part of the package and meant for other programs; a test may have added its own."""
    return sorted(n for n in OPS if not n.startswith("_") and OPS.lookup(n).infer.__module__.startswith("thalweg."))


@pytest.fixture(scope="module")
def registered():
    assert tf.__name__ == "thalweg"  # whose import registers every op
    return json.loads(run_tensorflow(SCHEMAS, *_ours()))


def test_every_op_is_one_of_tensorflows(registered):
    assert [name for name, schema in registered.items() if schema is None] == []


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_arguments_are_tensorflows(registered, side):
    wrong = []
    for name, schema in registered.items():
        ours = [[arg.name, show_type(arg)] for arg in getattr(OPS.lookup(name), side)]
        if schema is not None and ours != schema[side]:
            wrong.append(f"{name}: {ours}, TensorFlow has {schema[side]}")
    assert not wrong, "\n".join(wrong)


def test_attributes_are_tensorflows(registered):
    wrong = []
    for name, schema in registered.items():
        if schema is None:
            continue
        attrs = OPS.lookup(name).attrs
        wrong += [f"{name}: {key} is not TensorFlow's" for key in attrs if key not in schema["attrs"]]
        for key, theirs in schema["attrs"].items():
            if key in attrs:
                wrong += [f"{name}: {key} {text}" for text in _differences(attrs[key], theirs)]
            elif not theirs["default"]:
                wrong.append(f"{name}: {key} is missing")
    assert not wrong, "\n".join(wrong)


def _differences(ours, theirs):
    if ours.kind != theirs["kind"]:
        yield f"is {ours.kind}, TensorFlow has {theirs['kind']}"
    default = [] if ours.default is REQUIRED else [_plain(ours.default)]
    if ours.kind != "tensor" and default != _rounded(theirs["default"]):
        yield f"has the default {default}, TensorFlow {theirs['default']}"
    if theirs["allowed"] is not None and ours.element in ("type", "string"):
        surplus = set() if ours.allowed is None else {_plain(value) for value in ours.allowed} - set(theirs["allowed"])
        if ours.allowed is None:
            yield f"allows everything, TensorFlow {theirs['allowed']}"
        elif surplus:
            yield f"allows {sorted(surplus)}, TensorFlow does not"


def _plain(value):
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.name if isinstance(value, tf.DType) else _rounded(value)


def _rounded(value):
    """Returns floats as float32 holds them: TensorFlow's attributes do."""
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
