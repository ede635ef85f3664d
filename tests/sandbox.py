"""The sandbox: a child process, limited in memory and time, that runs one operation at a time.

A case is tried in several modes, which differ in what is known while the graph is built. What it reports are
problems: an exception of the wrong type, a result that contradicts static inference, modes that disagree.
"""

from __future__ import annotations

import faulthandler
import os
import re
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from tests import children

MODES = ("constant", "static", "host", "rank", "unknown")
_SECONDS = 20.0  # a case takes milliseconds; a machine may be busy
_MEMORY = 1 << 30  # beyond what the process has when it is ready
_SERVE = "from tests.sandbox import serve; from {0} import examine; serve({1}, examine)"


@dataclass(frozen=True)
class Variable:
    """An input that is a variable's handle; without a value the variable is not initialized."""

    dtype: str
    shape: tuple[int, ...]
    value: Any = None


@dataclass(frozen=True)
class Case:
    """One call of an operation: an array, a Variable, or a list of them for each input, and the attributes."""

    op: str
    inputs: tuple[Any, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """What came of a case: problems, and whether some mode ran to its end."""

    problems: tuple[str, ...]
    succeeded: bool = False


class Sandbox:
    """Runs cases in a child process, which it starts again when a case has killed it.

    examiner: the module whose `examine` returns the report of a case
    """

    def __init__(self, seconds: float = _SECONDS, examiner: str = __name__) -> None:
        self._seconds = seconds
        self._examiner = examiner
        self._process: Any = None
        self._pipe: Any = None

    def _start(self) -> None:
        self._pipe, theirs = Pipe()
        self._folder = tempfile.TemporaryDirectory()  # for what writes files
        self._process = children.start(
            [sys.executable, "-c", _SERVE.format(self._examiner, theirs.fileno())],
            pass_fds=[theirs.fileno()],
            cwd=self._folder.name,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        theirs.close()
        assert self._pipe.recv() == "ready"

    def close(self) -> None:
        if self._process is not None:
            children.end(self._process)
            self._pipe.close()
            self._folder.cleanup()
            self._process = None

    def run(self, case: Any) -> Report:
        """Returns what came of a case; a crash or a hang of the child is a problem like any other."""
        if self._process is None:
            self._start()
        try:
            self._pipe.send(case)
            if self._pipe.poll(self._seconds):
                return self._pipe.recv()
            self.close()
            return Report((f"{case.op} hangs: no answer in {self._seconds:g} s",))
        except (EOFError, ConnectionError):
            code = self._process.wait()
            self.close()
            return Report((f"{case.op} kills the process: exit code {code}",))


def serve(file: int, examine: Callable[[Any], Report]) -> None:
    """Answers the cases that come through a pipe."""
    pipe = Connection(file)
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import torch

    import thalweg  # noqa: F401

    torch.set_num_threads(1)
    faulthandler.enable()
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115  Print and PrintV2 write there
    size = int(re.search(r"VmSize:\s+(\d+) kB", open("/proc/self/status").read())[1]) * 1024  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY, size + _MEMORY))
    pipe.send("ready")
    while True:
        pipe.send(examine(pipe.recv()))


# -- in the child -----------------------------------------------------------------------------------------------------


class _Problem(Exception):
    """Something that must not happen."""


def examine(case: Case) -> Report:
    """Tries a case in every mode and compares."""
    results: dict[str, Any] = {}
    problems = []
    for mode in MODES:
        try:
            results[mode] = attempt(case, mode)
        except Exception as error:
            problems.append(f"{mode}: {error if isinstance(error, _Problem) else _short(error)}")
    accepted = {mode: values for mode, values in results.items() if not isinstance(values, str)}
    refused = {mode: text for mode, text in results.items() if isinstance(text, str)}
    if accepted and refused and case.op not in LENIENT:
        mode, text = next(iter(refused.items()))
        problems.append(f"{', '.join(accepted)} accept(s) what {', '.join(refused)} refuse(s): {text}")
    if len(accepted) > 1 and not problems:
        (first, expected), *others = accepted.items()
        problems += [f"{first} and {mode} differ: {d}" for mode, v in others if (d := _difference(case, expected, v))]
    return Report(tuple(problems), bool(accepted))


def attempt(case: Case, mode: str) -> Any:
    """Builds and runs a case; returns the values, or the text with which it was refused."""
    import thalweg as tf
    from thalweg._src.graph.op_def import OPS

    definition = OPS.lookup(case.op)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        feeds: dict[Any, Any] = {}
        setup: list[Any] = []
        variables: list[Any] = []
        PREPARE.get(case.op, lambda graph: None)(graph)
        args = []
        for arg, value in zip(definition.inputs, case.inputs):
            known = mode == "host" and arg.name in definition.host
            inputs = [
                _input(v, "constant" if known else mode, feeds, setup, variables, arg.is_ref)
                for v in (value if isinstance(value, list) else [value])
            ]
            args.append(inputs if isinstance(value, list) else inputs[0])
        args += case.inputs[len(args) :]
        if setup:
            session.run(setup)
        try:
            definition.many(*args, name="tried", **case.attrs)
        except (ValueError, TypeError, tf.errors.OpError) as error:
            return _refusal(str(error), case.op)
        except Exception as error:
            raise _Problem(f"building raises {_short(error)}") from None
        operation = graph.get_operation_by_name("tried")
        try:
            values = session.run(operation.outputs or operation, feeds)
        except tf.errors.OpError as error:
            return _run_error(error)
        except Exception as error:
            raise _Problem(f"running raises {_short(error)}") from None
        _check(operation.outputs, values or [])
        _check_static(operation.outputs, values or [])
        state = [_state(session, v) for v in variables]
        return [*(values or []), *state]


def _input(
    value: Any, mode: str, feeds: dict[Any, Any], setup: list[Any], variables: list[Any], is_ref: bool = False
) -> Any:
    import thalweg as tf
    from thalweg._src.graph.ops.constants import array_constant
    from thalweg._src.graph.ops.references import variable_v2_op
    from thalweg._src.graph.ops.state import assign_variable_op, var_handle_op

    if hasattr(value, "make_handle"):  # of another kind of resource
        return value.make_handle(setup)
    if isinstance(value, Variable):
        shape = value.shape if mode in ("constant", "static") else None
        make = variable_v2_op if is_ref else var_handle_op
        handle = make(dtype=value.dtype, shape=shape, shared_name=f"variable{len(variables)}")
        variables.append((handle, value.dtype))
        if value.value is not None:
            setup.append(assign_variable_op.operation(handle, value.value))
        return handle
    dtype = tf.as_dtype(value.dtype)
    if mode == "constant":
        return array_constant(np.array(value), dtype)
    shape = {"static": value.shape, "rank": (None,) * value.ndim}.get(mode)
    tensor = tf.placeholder(dtype, shape)
    feeds[tensor] = value
    return tensor


def _state(session: Any, variable: Any) -> Any:
    """Returns what a variable holds after the step, having checked it."""
    from thalweg._src.graph.ops.identity import identity
    from thalweg._src.graph.ops.state import read_variable_op, var_is_initialized_op

    handle, dtype = variable
    if not session.run(var_is_initialized_op(handle)):
        return None
    is_ref = handle.op.type == "VariableV2"
    read = identity(handle) if is_ref else read_variable_op(handle, dtype=dtype)
    value = session.run(read)
    _check([read], [value])
    return value


def _refusal(text: str, op: str) -> str:
    if not text.strip():
        raise _Problem("building fails without a word")
    if op.lstrip("_") not in text and "tf.Tensor" not in text:
        raise _Problem(f"the error names neither the operation nor a tensor: {text}")
    return text


def _run_error(error: Any) -> str:
    import thalweg as tf

    text = str(error)
    kind = type(error).__name__
    if isinstance(error, tf.errors.InternalError | tf.errors.UnknownError):
        raise _Problem(f"running fails with {kind}: {text}")
    if "'tried'" not in text:
        raise _Problem(f"{kind} does not name the node: {text}")
    if f"defined at: {os.path.basename(__file__)}:" not in text:
        raise _Problem(f"{kind} does not name the line: {text}")
    if "Exception raised from" in text or "Traceback" in text:
        raise _Problem(f"{kind} shows torch's own traceback: {text}")
    return text


def _check(tensors: Any, values: Any) -> None:
    from thalweg._src.base.shapes import compatible

    for tensor, value in zip(tensors, values, strict=True):
        if tensor.dtype.name == "resource":
            continue
        array = np.asarray(value)
        wanted = np.dtype(object if tensor.dtype.name == "string" else tensor.dtype.as_numpy_dtype)
        if tensor.dtype.is_quantized:
            wanted = np.dtype(wanted[0])
        if array.dtype != wanted and not (wanted.kind == "O" and array.dtype.kind in "SU"):
            raise _Problem(f"{tensor.name} is {array.dtype}, inferred {wanted}")
        if not compatible(tensor.dims, array.shape):
            raise _Problem(f"{tensor.name} has shape {array.shape}, inferred {tensor.dims}")


def _check_static(tensors: Any, values: Any) -> None:
    """Compares what is known of a value without running anything with the value."""
    from thalweg._src.graph.infer import static_value

    for tensor, value in zip(tensors, values):
        known = static_value(tensor)
        if known is None or tensor.dtype.name == "string":
            continue
        array = np.asarray(value)
        if known.shape != array.shape:
            raise _Problem(f"{tensor.name} has shape {array.shape}, its static value {known.shape}")
        for a, b in zip(known.ravel().tolist(), array.ravel().tolist()):
            if a is not None and a != b and not (np.isnan(a) and np.isnan(b)):
                raise _Problem(f"{tensor.name} has {b!r}, statically {a!r}")


def _difference(case: Case, first: Any, second: Any) -> str | None:
    for a, b in zip(first, second, strict=True):
        if (a is None) != (b is None):
            return f"{a!r} against {b!r}"
        if a is None or not isinstance(a, np.ndarray | np.generic):
            continue
        if np.shape(a) != np.shape(b):
            return f"{np.shape(a)} against {np.shape(b)}"
        if case.op not in RANDOM and not _same(np.asarray(a), np.asarray(b)):
            return f"{a!r} against {b!r}"
    return None


def _same(a: Any, b: Any) -> bool:
    if a.dtype.kind in "fcV":
        a, b = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (a, b))
        with np.errstate(all="ignore"):
            return bool(np.allclose(a, b, rtol=1e-2, atol=1e-2, equal_nan=True))
    return bool(np.array_equal(a, b))


def _short(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = " <- ".join(f"{os.path.basename(f.filename)}:{f.lineno} {f.name}" for f in reversed(frames[-5:]))
    return f"{type(error).__name__}: {str(error)[:300]} ({where})"


def _prepare_py_func(graph: Any) -> None:
    from thalweg._src.graph.ops import py_func

    for token, function in FUNCTIONS.items():
        entry = py_func.PythonFunction(token, function, takes_values=False)
        py_func._functions[token] = entry
        graph.singleton("python_functions", list).append(entry)


# A variable that was made without a shape takes a value of any shape.
LENIENT = {"Assign", "AssignVariableOp"}
FUNCTIONS = {"sandbox": lambda *values: list(values), "abort": os.abort, "hang": lambda: time.sleep(1000)}
PREPARE = {"PyFunc": _prepare_py_func, "PyFuncStateless": _prepare_py_func}
RANDOM = {
    "_MemoryStatistic",
    *("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt", "RandomShuffle"),
    *("RandomGamma", "RandomPoissonV2", "Multinomial"),
    *("UniformCandidateSampler", "LogUniformCandidateSampler", "FixedUnigramCandidateSampler"),
    *("LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler"),
    *("FractionalMaxPool", "FractionalAvgPool"),  # unless deterministic
    *("AddSparseToTensorsMap", "AddManySparseToTensorsMap"),  # they count on in a container that sessions share
}
