"""Answers requests in TensorFlow's Python: each line on stdin names a file of cases and a file for the answers.

Every answer is written as soon as it is there, so that the asker knows which case killed the process.
"""

import json
import runpy
import sys
from pathlib import Path

import tensorflow
from tensorflow.python.framework import op_def_library, op_def_registry

tf = tensorflow.compat.v1
tf.disable_v2_behavior()

_FOLDER = Path(__file__).parent


def apply(op, inputs, attrs, name):
    """Adds an operation by its type, with the defaults of what is not given."""
    definition = op_def_registry.get(op)
    args = definition.input_arg
    implied = {key for arg in args for key in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
    defaults = {
        attr.name: _value(attr.default_value)
        for attr in definition.attr
        if attr.HasField("default_value") and attr.name not in implied
    }
    given = {arg.name: value for arg, value in zip(args, inputs)}
    op_def_library.apply_op(op, name=name, **given, **{**defaults, **attrs})


def _value(message):
    which = message.WhichOneof("value")
    if which == "list":
        return [_item(item, field.name) for field, items in message.list.ListFields() for item in items]
    return _item(getattr(message, which), which)


def _item(item, which):
    if which == "type":
        return tf.as_dtype(item)
    return tf.TensorShape(item) if which == "shape" else item


def _config():
    """Runs each operation as it is: no rewriting of graphs, no threads that only cost."""
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


def main():
    cases = runpy.run_path(str(_FOLDER / "case_runner.py"))
    corners = runpy.run_path(str(_FOLDER / "corner_runner.py"))
    config = _config()
    print("ready", flush=True)
    for line in sys.stdin:
        asked, answers = json.loads(line)
        with open(asked) as questions, open(answers, "a") as out:
            for question in questions:
                case = json.loads(question)
                if "program" in case:
                    answer = corners["run_program"](tf, case["program"])
                else:
                    answer = cases["run_case"](tf, apply, case, config)
                out.write(json.dumps(answer) + "\n")
                out.flush()
        print("done", flush=True)


main()
