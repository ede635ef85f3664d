"""Calls of public functions and classes with an argument of a wrong kind, tried in the sandbox.

The other arguments are valid ones, found by the names of the parameters. A call may succeed or raise a typed error.
"""

from __future__ import annotations

import inspect
import linecache
import os
import random
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

import thalweg as tf
from tests.sandbox import Case, Report
from thalweg._src.graph.default import start_with_an_empty_graph
from thalweg._src.runtime.eager.mode import eager_mode, graph_mode
from thalweg._src.tools.cli.names import PublicNames

WRONG: dict[str, Any] = {
    "None": None,
    "an object": object(),
    "3": 3,
    "'x'": "x",
    "1.5": 1.5,
    "[]": [],
    "{}": {},
    "a class": dict,
    "bytes": b"\xff",
    "a dtype": tf.float32,
}
_MODES = {"graph": graph_mode, "eager": eager_mode}
_ATTEMPTS = 24  # of a call with different valid arguments
_SECONDS = 5.0

# Names that are not called, by the reason.
LEFT_OUT = {
    "is covered by tests/test_bad_input.py": r"raw_ops\.",
    "changes the whole process": (
        r"enable_|disable_|config\.|contrib\.eager\.(enable|run)|keras\.backend\.(set_|clear_)|set_random_seed|"
        r"reset_default_graph|debugging\.set|keras\.mixed_precision|contrib\.mixed_precision|mixed_precision|"
        r"register_|op$|RegisterGradient|NotDifferentiable|NoGradient|distribute\.experimental_set_strategy|"
        r"random\.set_random_seed|logging\.|contrib\.framework\.load_op_library|load_(op_)?library"
    ),
    "ends the process or belongs to a program": r"app\.|flags\.|test\.|logging\.fatal|contrib\.learn\.learn_runner",
    "waits for others, serves or starts processes": (
        r"serving\.|contrib\.eager\.start|train\.(Server|wait|checkpoints_iterator|start_queue_runners)|ray\.|"
        r"contrib\.training\.(wait|evaluate|checkpoints_iterator)|contrib\.slim\.(learning|evaluation)|"
        r"contrib\.(distribute|cluster_resolver)|summary\.(start|flush)|contrib\.tfprof|profiler\.|lite\.|"
        r"contrib\.gan\.gan_train$|train\.queue_runner"
    ),
    "reads or deletes files wherever they are": r"(io\.)?gfile\.",
    "downloads": r"keras\.datasets|contrib\.learn\.datasets",
    "builds a whole network": r"keras\.applications\.\w+\.?[A-Z]|keras\.applications\.[A-Z]|contrib\.slim\.nets",
}
# Errors of other classes that are right: the class, the function that raises it, and the reason.
RIGHT = {
    ("AttributeError", "convert_image_dtype"): "TensorFlow documents this class",
    ("AttributeError", "fail"): "an eager tensor has no name, operation and graph, as in TensorFlow",
    ("KeyError", "exception_type_from_error_code"): "a code has no exception, as a key no value",
    ("LookupError", "as_bytes"): "Python raises it for an unknown encoding",
    ("LookupError", "as_text"): "Python raises it for an unknown encoding",
    ("IndexError", "dimension_at_index"): "an index is out of range, as of a list",
}


class _Made:
    """An argument that each call makes anew, in its own graph."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class _Hang(BaseException):
    """A call did not end."""


_X = ((np.arange(6, dtype=np.float32) + 1) / 7).reshape(2, 3)
_INTS = np.array([[0, 1, 2], [1, 0, 1]], np.int32)
_IMAGE = ((np.arange(60, dtype=np.float32) + 1) / 61).reshape(1, 4, 5, 3)
_SQUARE = np.eye(3, dtype=np.float32)
_SPARSE = _Made(lambda: tf.SparseTensor([[0, 0]], [1.0], [2, 3]))
_VARIABLE = _Made(lambda: tf.Variable([1.0, 2.0]))
_COLUMNS = _Made(lambda: [tf.feature_column.numeric_column("a")])
_CELL = _Made(lambda: tf.nn.rnn_cell.BasicRNNCell(3))
_OPTIMIZER = _Made(lambda: tf.train.GradientDescentOptimizer(0.1))
_MODEL = _Made(lambda: tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))]))
_DATASET = _Made(lambda: tf.data.Dataset.range(3))
_TABLE = _Made(
    lambda: tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(["a"], [1], tf.string, tf.int64), 0)
)
_ESTIMATOR = _Made(lambda: tf.estimator.LinearClassifier([tf.feature_column.numeric_column("a")]))
_DISTRIBUTION = _Made(lambda: tf.contrib.distributions.Normal(0.0, 1.0))
_OPERATION = _Made(lambda: tf.no_op())
_OPERATOR = _Made(lambda: tf.linalg.LinearOperatorIdentity(3))
_SPEC = _Made(lambda: {"a": tf.FixedLenFeature([], tf.float32)})
_FLOAT = _Made(lambda: tf.float32)
_TENSOR = _Made(lambda: tf.constant(_X, name="t"))


def _first(*values: Any) -> Any:
    return values[0] if values else 0


TENSORS: list[Any] = [_X, _INTS, _IMAGE, 0.5, 2, "text", [_X, _X], _SPARSE, _X[0], _SQUARE, _X.astype(bool), _TENSOR]
_BY_NAMES: list[tuple[str, list[Any]]] = [
    ("name scope key tag alias prefix regex message msg identifier", ["n"]),
    ("path filename logdir export_dir filepath ckpt_dir_or_file tags", ["f"]),
    ("axis dim axes default_value seed rank dimension index", [0, 1, [0]]),
    ("units n k num_classes num_outputs num_units depth batch_size", [2, 3]),
    ("num_sampled num_true range_max capacity num_segments num block_size", [1, 2]),
    ("vocab_size embedding_size num_symbols num_buckets frame_length frame_step", [3]),
    ("num_encoder_symbols num_decoder_symbols num_samples max_output_size top", [3]),
    ("indices segment_ids ids labels label_length sequence_length", [[0, 1], _INTS, _X]),
    ("sequence_lengths input_length targets seq_lengths start_tokens", [[1, 2], _INTS]),
    ("predictions y_true y_pred logits weights features", [_X, _INTS, _X[0], 0.5]),
    ("learning_rate rate scale loss decay_rate threshold temperature", [0.5, [0.5]]),
    ("thresholds boundaries bucket_boundaries", [[0.2, 0.5]]),
    ("shape dims output_shape size", [[2, 3], [2, 2], 2, [1, 4, 5, 3]]),
    ("fn func f model_fn input_fn generator_fn discriminator_fn", [_first]),
    ("metric_fn loss_fn activation body regularizer true_fn false_fn", [_first]),
    ("op seed_ops ops", [_OPERATION, _Made(lambda: [tf.no_op()])]),
    ("sgv sgv0 sgv1 ts ts0 ts1 t elem", [_Made(lambda: tf.identity(_X)), _TENSOR]),
    ("image images img1 img2", [_IMAGE, _IMAGE[0], _INTS.astype(np.uint8)]),
    ("filter filters kernel", [np.ones((2, 2, 3, 2), np.float32), 2, _X]),
    ("boxes", [[[0.0, 0.0, 0.5, 0.5]], [[[0.0, 0.0, 0.5, 0.5]]]]),
    ("scores", [[0.5]]),
    ("kernel_size pool_size window_shape", [2, [2, 2], [2]]),
    ("strides", [[1, 1, 1, 1], 1, 2, [1, 1], [1, 1, 1, 1, 1], [1]]),
    ("ksize ksizes rates", [[1, 2, 2, 1], 2]),
    ("padding pooling_type mode", ["SAME", "valid", "MAX", "train"]),
    ("paddings crops", [[[0, 1], [1, 0]]]),
    ("begin perm multiples block_shape", [[1, 1], [1, 0]]),
    ("cell cell_fw cell_bw", [_CELL]),
    ("cells cells_fw cells_bw", [_Made(lambda: [tf.nn.rnn_cell.BasicRNNCell(3)])]),
    ("initializer kernel_initializer", [_Made(lambda: tf.zeros_initializer()), 0.5]),
    ("opt optimizer generator_optimizer discriminator_optimizer", [_OPTIMIZER]),
    ("ref variable var counter", [_VARIABLE, _Made(lambda: tf.Variable(1, dtype=tf.int64))]),
    ("var_list variables", [_Made(lambda: [tf.Variable([1.0])])]),
    ("sp_input sp_ids sparse_ids", [_SPARSE, _Made(lambda: tf.SparseTensor([[0, 0]], [1], [2, 3]))]),
    ("graph dst_graph", [_Made(lambda: tf.get_default_graph())]),
    ("graph_def input_graph_def", [_Made(lambda: tf.GraphDef())]),
    ("session sess", [_Made(lambda: tf.Session())]),
    ("feature_columns columns", [_COLUMNS]),
    ("features sequence_features", [_X, {"a": _X}, _SPEC]),
    ("dtype key_dtype value_dtype T", [_FLOAT, _Made(lambda: tf.int64)]),
    ("dtypes output_types", [_Made(lambda: [tf.float32])]),
    ("data_format", ["NHWC", "channels_last"]),
    ("inputs", [_X, _IMAGE, _INTS, [_X, _X], {"a": _X}, _X[None], [_TENSOR, _TENSOR]]),
    ("input value x tensor", [_X, _IMAGE, _INTS, 0.5, "text", _X[None], _TENSOR, _IMAGE[None]]),
    ("values tensors", [[_X, _X], _X, _INTS, {"a": _X}, [_TENSOR]]),
    ("decoder_inputs encoder_inputs", [_Made(lambda: [tf.constant(_X)]), [[0, 1]]]),
    ("input_tensors", [_Made(lambda: [tf.constant(_X)])]),
    ("red_op un_op", [_Made(lambda: tf.add)]),
    ("filter_sizes input_sizes", [[2, 2, 3, 2], [1, 4, 5, 3]]),
    ("out_backprop", [np.ones((1, 4, 5, 2), np.float32)]),
    ("unique condition pred keep_input adjoint", [True]),
    ("matrix transition_params", [_SQUARE, _X]),
    ("operator base_operator", [_OPERATOR]),
    ("operators", [_Made(lambda: [tf.linalg.LinearOperatorIdentity(3)])]),
    ("distribution distribution_a distribution_b", [_DISTRIBUTION]),
    ("model keras_model", [_MODEL]),
    ("layer", [_Made(lambda: tf.keras.layers.Dense(1))]),
    ("estimator", [_ESTIMATOR]),
    ("table", [_TABLE]),
    ("dataset", [_DATASET]),
    ("dataset_or_iterator", [_DATASET]),
    ("datasets", [_Made(lambda: [tf.data.Dataset.range(3)])]),
    ("config", [{}, None]),
    ("updates", [[1.0, 2.0], _X]),
    ("keys", [["a", "b"]]),
    ("elems", [_X, _INTS]),
    ("structure", [[1, 2]]),
    ("shapes", [[[2]]]),
    ("global_step", [1, _Made(lambda: tf.train.get_or_create_global_step())]),
    ("decay_steps", [2]),
    ("serialized", [["a"], "a"]),
    ("input_encoding", ["UTF-8"]),
    ("output_encoding", ["UTF-8"]),
]
ARGUMENTS = {name: values for names, values in _BY_NAMES for name in names.split()}


def public() -> dict[str, Any]:
    """Returns the functions and classes of this package that are called, by the first of their public names."""
    names = PublicNames()
    left_out = re.compile("|".join(LEFT_OUT.values()))
    found: dict[int, tuple[str, Any]] = {}
    for path in [*names.all()][::-1]:
        name = ".".join(path)
        if left_out.match(name) is None:
            value = names.find(path)
            if isinstance(value, type | FunctionType) and str(value.__module__).startswith("thalweg."):
                found[id(value)] = name, value
    return dict(reversed(found.values()))


def examine(case: Case) -> Report:
    """Calls a function with arguments of wrong kinds: with a share of them, chosen by its name."""
    function: Any = tf
    for part in case.op.split("."):
        function = getattr(function, part)
    try:
        signature = inspect.signature(function)
    except ValueError:  # a class made in C
        return Report(())
    sys.stdout = sys.stderr
    tempfile.tempdir = os.getcwd()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _stop)
    chance = random.Random(case.op)
    arguments, is_valid = _valid(function, signature, chance)
    as_before = {mode: _described(_call(function, signature, arguments, mode)) for mode in _MODES if is_valid}
    problems = []
    for parameter in _named(signature):
        for kind, value in WRONG.items():
            if chance.random() >= case.attrs["share"]:
                continue
            for mode in _MODES:
                error = _call(function, signature, {**arguments, parameter.name: value}, mode)
                if not _is_typed(error) and _described(error) != as_before.get(mode):
                    problems.append(
                        f"{mode}: {case.op}({parameter.name}={kind}): {_described(error)} ({_place(error)})"
                    )
    return Report(tuple(problems), is_valid)


def _named(signature: inspect.Signature) -> Iterator[inspect.Parameter]:
    """Yields the parameters that take one argument."""
    return (p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))


def _valid(function: Any, signature: inspect.Signature, chance: random.Random) -> tuple[dict[str, Any], bool]:
    """Returns arguments for the parameters without defaults, and whether the function accepts them."""
    choices = {p.name: ARGUMENTS.get(p.name, TENSORS) for p in _named(signature) if p.default is p.empty}
    arguments = {name: values[0] for name, values in choices.items()}
    for _ in range(_ATTEMPTS if choices else 1):
        if _call(function, signature, arguments, "graph") is None:
            return arguments, True
        arguments = {name: chance.choice(values) for name, values in choices.items()}
    return {name: values[0] for name, values in choices.items()}, False


def _call(function: Any, signature: inspect.Signature, arguments: dict[str, Any], mode: str) -> BaseException | None:
    """Calls a function in a new graph or eagerly; returns what it raises."""
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        with _MODES[mode](), tf.variable_scope(""):
            made = {name: v.make() if isinstance(v, _Made) else v for name, v in arguments.items()}
            positional = [made.pop(p.name) for p in _named(signature) if p.kind is p.POSITIONAL_ONLY and p.name in made]
            function(*positional, **made)
    except BaseException as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        start_with_an_empty_graph()
    return None


def _stop(*_: Any) -> None:
    raise _Hang(f"no end in {_SECONDS:g} s")


def _is_typed(error: BaseException | None) -> bool:
    """Returns whether an outcome is right: success, a typed error, or another error in words of this package."""
    if error is None or isinstance(error, TypeError | ValueError | tf.errors.OpError | OSError | ImportError):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    if any((type(error).__name__, frame.name) in RIGHT for frame in frames):
        return True
    last = frames[-1]
    raised = linecache.getline(last.filename, last.lineno or 0).lstrip().startswith("raise ")
    words = isinstance(error, RuntimeError | KeyError | AssertionError) and not isinstance(error, RecursionError)
    return words and raised and "thalweg" in last.filename


def _described(error: BaseException | None) -> str:
    return "" if error is None else f"{type(error).__name__}: {str(error)[:200]}"


def _place(error: BaseException | None) -> str:
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    return " <- ".join(
        f"{frame.filename.rpartition('_src/')[2]}:{frame.lineno} {frame.name}" for frame in frames[:-4:-1]
    )
