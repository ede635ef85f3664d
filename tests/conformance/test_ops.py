"""Every op carries the name, arguments and attributes that TensorFlow registers."""

import json

import pytest

import thalweg as tf  # registers every op
from tests.conformance.tensorflow import needs_tensorflow, run_tensorflow
from thalweg.graph.attr import REQUIRED
from thalweg.graph.op_def import OPS, show_type

pytestmark = [needs_tensorflow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def registered():
    text = run_tensorflow(
        """
import json
from tensorflow.python.framework import op_def_registry
def kind(arg):
    if arg.type_list_attr:
        return f"list({arg.type_list_attr})"
    base = arg.type_attr or tf.as_dtype(arg.type).name
    return f"{arg.number_attr}*{base}" if arg.number_attr else base
def known(name):
    op = op_def_registry.get(name)
    if op is None:
        return None
    return {
        "inputs": [[arg.name, kind(arg)] for arg in op.input_arg],
        "outputs": [[arg.name, kind(arg)] for arg in op.output_arg],
        "attrs": {a.name: [a.type, a.HasField("default_value")] for a in op.attr},
    }
print(json.dumps({name: known(name) for name in sys.argv[1:]}))
""",
        *_public(),
    )
    return json.loads(text)


def _public():
    own = {name for name in OPS if OPS.lookup(name).infer.__module__ in ("own_op",)}
    return sorted(name for name in OPS if not name.startswith("_") and name not in own)


def test_every_op_is_one_of_tensorflows(registered):
    assert [name for name, schema in registered.items() if schema is None] == []


def test_arguments_and_attributes_are_tensorflows(registered):
    assert tf.float32 is not None
    wrong = []
    for name, schema in registered.items():
        definition = OPS.lookup(name)
        if schema is None:
            continue
        for side in ("inputs", "outputs"):
            ours = [[arg.name, show_type(arg)] for arg in getattr(definition, side)]
            if ours != schema[side]:
                wrong.append(f"{name}: {side} {ours}, TensorFlow has {schema[side]}")
        for key, attr in definition.attrs.items():
            if key not in schema["attrs"]:
                wrong.append(f"{name}: attribute {key} is not TensorFlow's")
            elif attr.kind != schema["attrs"][key][0]:
                wrong.append(f"{name}: attribute {key} is {attr.kind}, TensorFlow has {schema['attrs'][key][0]}")
        missing = [
            key for key, (_, has_default) in schema["attrs"].items() if key not in definition.attrs and not has_default
        ]
        if missing:
            wrong.append(f"{name}: attributes {missing} are missing")
        needed = [
            key for key, a in definition.attrs.items() if a.default is REQUIRED and schema["attrs"].get(key, [0, 0])[1]
        ]
        if needed:
            wrong.append(f"{name}: attributes {needed} have a default in TensorFlow")
    assert not wrong, "\n".join(wrong)
