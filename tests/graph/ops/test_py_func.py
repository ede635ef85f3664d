"""Python functions as operations."""

import gc
import weakref

import numpy as np
import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.autodiff.registry import GRADIENTS, RegisterGradient
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.math import multiply
from thalweg._src.graph.ops.py_func import numpy_function, py_func
from thalweg._src.runtime.session.session import Session


@pytest.fixture
def session():
    with Graph().as_default(), Session() as session:
        yield session


def test_arrays_in_and_out(session):
    x = placeholder(dtypes.float32, [None, 3])
    total, double = py_func(lambda a: (a.sum(), a * 2), [x], [dtypes.float32, dtypes.float32])
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = session.run([total, double], {x: value})
    assert found[0] == 15
    np.testing.assert_array_equal(found[1], value * 2)
    assert total.dims is None


def test_scalars_and_strings_are_numpy_scalars_and_bytes(session):
    seen = []
    result = py_func(lambda *args: seen.extend(args) or b"done", [1.5, "text", ["a", "b"], 3], dtypes.string)
    assert session.run(result) == b"done"
    assert [type(arg) for arg in seen] == [np.float32, bytes, np.ndarray, np.int32]
    assert seen[1] == b"text" and seen[2].tolist() == [b"a", b"b"]


@pytest.mark.parametrize("value", ["söt", "söt".encode(), np.array("söt", dtype=object)])
def test_a_string_result(session, value):
    assert session.run(py_func(lambda: value, [], dtypes.string)) == "söt".encode()


def test_results_are_converted_to_tout(session):
    assert session.run(py_func(lambda: [np.float32(3)], [], [dtypes.float32])) == [3]
    assert session.run(py_func(lambda: np.array(["a", "b"]), [], dtypes.string)).tolist() == [b"a", b"b"]
    seen = []
    operation = py_func(lambda: seen.append(1), [], [])
    assert isinstance(operation, Operation)
    session.run(operation)
    session.run(operation)
    assert seen == [1, 1]


@pytest.mark.parametrize(
    "result, match",
    [
        (1.0, "0-th value returned by pyfunc_[0-9]+ is double, but expects float"),
        ((np.float32(1), np.float32(2)), "returns 2 values, but expects to see 1 values"),
        (None, "returns 0 values"),
        ("text", "is string, but expects float|cannot be converted"),
        (object(), "cannot be converted|is string"),
    ],
)
def test_invalid_results(session, result, match):
    with pytest.raises(errors.InvalidArgumentError, match=match):
        session.run(py_func(lambda: result, [], dtypes.float32))


@pytest.mark.parametrize(
    "raised, kind",
    [
        (ValueError("bad"), errors.InvalidArgumentError),
        (TypeError("bad"), errors.InvalidArgumentError),
        (StopIteration("bad"), errors.OutOfRangeError),
        (MemoryError("bad"), errors.ResourceExhaustedError),
        (NotImplementedError("bad"), errors.UnimplementedError),
        (ZeroDivisionError("bad"), errors.UnknownError),
        (errors.DataLossError(None, None, "bad"), errors.DataLossError),
    ],
)
def test_exceptions_keep_class_and_line(session, raised, kind):
    def fails():
        raise raised

    with pytest.raises(kind) as caught:
        session.run(py_func(fails, [], dtypes.float32, name="mine"))
    text = str(caught.value)
    assert "'mine'" in text and f"{type(raised).__name__}: bad" in text
    assert "Traceback" in text and "in fails" in text and "test_py_func.py" in text


def test_a_function_may_change_its_arguments(session):
    x = constant([1.0, 2.0])

    def spoil(a):
        a[:] = 0
        return a

    first = py_func(spoil, [x], dtypes.float32)
    np.testing.assert_array_equal(session.run([first, x])[1], [1, 2])
    words = constant(["a", "b"])
    spoiled = py_func(lambda a: a.fill(b"x") or a, [words], dtypes.string)
    assert session.run([spoiled, words])[1].tolist() == [b"a", b"b"]


def test_stateful_functions_are_not_merged(session):
    counts = {True: 0, False: 0}

    def count(stateful):
        def function(x):
            counts[stateful] += 1
            return x

        return function

    x = placeholder(dtypes.float32)
    for stateful in counts:
        function = count(stateful)
        py_func(function, [x], dtypes.float32, stateful)
        session.run([py_func(function, [x], dtypes.float32, stateful) for _ in range(2)], {x: 1.0})
    assert counts[True] == 2
    assert {op.type for op in session.graph.get_operations()} >= {"PyFunc", "PyFuncStateless"}


def test_numpy_function(session):
    assert session.run(numpy_function(lambda a, b: a + b, [1.0, 2.0], dtypes.float32)) == 3


def test_a_custom_gradient(session):
    if "TimesTwo" not in GRADIENTS:

        @RegisterGradient("TimesTwo")
        def rule(op, grad):
            return multiply(grad, 2.0)

    x = placeholder(dtypes.float32, [2])
    plain = py_func(lambda a: a * 2, [x], dtypes.float32, stateful=False)
    assert gradients(plain, x) == [None]
    with session.graph.gradient_override_map({"PyFuncStateless": "TimesTwo"}):
        y = py_func(lambda a: a * 2, [x], dtypes.float32, stateful=False)
    np.testing.assert_array_equal(session.run(gradients(y, x)[0], {x: [1, 2]}), [2, 2])


def test_a_function_lives_as_long_as_its_graph():
    class Mine:
        def __call__(self):
            return np.float32(1)

    function = Mine()
    alive = weakref.ref(function)
    graph = Graph()
    with graph.as_default():
        result = py_func(function, [], dtypes.float32)
        message = graph.as_graph_def()
    del function
    gc.collect()
    assert alive() is not None
    with Session(graph=graph) as session:
        assert session.run(result) == 1
    del graph, result, session
    gc.collect()
    assert alive() is None
    with Graph().as_default(), Session() as session:
        (lost,) = import_graph_def(message, return_elements=["PyFunc:0"])
        with pytest.raises(errors.InvalidArgumentError, match="is unknown"):
            session.run(lost)


def test_func_must_be_callable(session):
    with pytest.raises(ValueError, match="callable"):
        py_func(3, [], dtypes.float32)
