"""Generated code: names, last uses, outputs, literals, size."""

import ast
import gc
import keyword
import os
import re
import traceback
import weakref

import numpy as np
import pytest
import torch

import thalweg as tf
from thalweg._src.base import dtypes
from thalweg._src.graph.ir.step_graph import Node, Output
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.compile.codegen import generate
from thalweg._src.runtime.compile.segment import Segment
from thalweg._src.runtime.kernels.registry import STEP, Call, Input
from thalweg._src.runtime.resources.step import Step

FLOAT = dtypes.float32


def node(name, producers=(), outputs=1):
    """Returns a node with a name of its own choice; what it calls is given to `generate`."""
    inputs = [p if isinstance(p, tuple) else Output(p, 0) for p in producers]
    return Node(name, OPS.lookup("Identity"), inputs, {"T": FLOAT}, [FLOAT] * outputs, [None] * outputs)


def code_of(calls, outputs, inputs=(), constants=None, index=0):
    """Generates the function of {node: Call or function of all its inputs}."""
    full = {
        n: c if isinstance(c, Call) else Call(c, tuple(Input(i) for i in range(len(n.inputs))))
        for n, c in calls.items()
    }
    segment = Segment(index, list(calls), list(inputs), list(outputs))
    return generate(segment, full, constants or {})


def add(a, b):
    return a + b


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*keyword.kwlist, *keyword.softkwlist, "step", "_", "__", "__name__", "segment_0"])
def test_awkward_node_names(name):
    x, y = node("x"), node(f"scope/{name}")
    y.inputs = [Output(x, 0)]
    z = node("z", [y, x])
    code = code_of({y: torch.neg, z: add}, [Output(y, 0), Output(z, 0)], [Output(x, 0)])
    values = code.function(Step(), torch.tensor(3.0))
    assert [float(v) for v in values] == [-3.0, 0.0]


@pytest.mark.parametrize("name", ["add", "add_1", "constant", "value", "neg", "1x", "a.b", "a-b", "a b", "print", "é"])
def test_a_node_named_like_a_function_or_a_value(name):
    """Locals and globals of the function share one set of names."""
    x = node(name)
    first, second = node(name, [x, x]), node(f"other/{name}", [x])
    second.inputs.append(Output(first, 0))
    known = node("known")
    last = node(name + "_1", [second, known])
    code = code_of(
        {first: add, second: add, last: add},
        [Output(last, 0)],
        [Output(x, 0)],
        constants={Output(known, 0): torch.tensor(0.5)},
    )
    (value,) = code.function(Step(), torch.tensor(1.0))
    assert float(value) == 3.5
    assert len(set(code.names.values())) == len(code.names)


HOSTILE = [
    "x\nimport os; os.environ['HOSTILE'] = '1'",
    "x = 1; __import__('os').environ.__setitem__('HOSTILE', '1')",
    "x\r__import__('os').environ.__setitem__('HOSTILE', '1')",
    "x\u2028raise SystemExit",
    "x\x0craise SystemExit",
    "\\",
    "\x00",
    "\ud800",
    "'''",
    "v0",
    "g1",
    "step",
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_text_of_a_graph_is_in_the_code(name, monkeypatch):
    monkeypatch.delenv("HOSTILE", raising=False)

    class Kernel:
        __name__ = name

        def __call__(self, a, text, *, texts):
            assert text == name and texts == [name]
            return a + 1

    x = node(name)
    y = node(name, [x])
    code = code_of({y: Call(Kernel(), (Input(0), name), {"texts": [name]})}, [Output(y, 0)], [Output(x, 0)])
    (value,) = code.function(Step(), torch.tensor(1.0))
    assert float(value) == 2 and "HOSTILE" not in os.environ
    names = [n.id for n in ast.walk(ast.parse("\n".join(code.listing.lines))) if isinstance(n, ast.Name)]
    assert names and all(re.fullmatch(r"step|[vg]\d+", each) for each in names)
    assert len(code.text.splitlines()) == len(code.listing.lines)


def test_names_that_unicode_makes_equal_are_two_values():
    x, y = node("\ufb01"), node("fi")  # a ligature and two letters: one identifier for Python
    code = code_of({(z := node("z", [x, y])): torch.sub}, [Output(z, 0)], [Output(x, 0), Output(y, 0)])
    (value,) = code.function(Step(), torch.tensor(5.0), torch.tensor(2.0))
    assert float(value) == 3


def test_a_kernel_named_like_the_function_itself():
    def segment_3(a):
        return a + 1

    x = node("x")
    y = node("y", [x])
    code = code_of({y: segment_3}, [Output(y, 0)], [Output(x, 0)], index=3)
    assert code.function(Step(), 1) == (2,)


def test_different_functions_of_one_name():
    def make(n):
        def scale(a):
            return a * n

        return scale

    x = node("x")
    y, z = node("y", [x]), node("z", [x])
    code = code_of({y: make(2), z: make(5)}, [Output(y, 0), Output(z, 0)], [Output(x, 0)])
    assert code.function(Step(), 1) == (2, 5)


def test_lambdas_and_callable_objects():
    class Plus:
        def __call__(self, a):
            return a + 1

    x = node("x")
    y = node("y", [x])
    z = node("z", [y])
    code = code_of({y: lambda a: a * 2, z: Plus()}, [Output(z, 0)], [Output(x, 0)])
    assert code.function(Step(), 3) == (7,)


def test_equal_names_in_a_whole_program():
    x = tf.placeholder(tf.float32, [], name="relu")
    y = x
    for scope in ("sqrt", "torch", "read", "step"):
        with tf.name_scope(scope):
            y = tf.sqrt(tf.abs(y, name="sqrt"), name="abs") + tf.nn.relu(x, name="read_v")
    v = tf.Variable(1.0, name="v")
    with tf.Session() as sess:
        sess.run(v.initializer)
        value, expected = sess.run(y + v, {x: 4.0}), 4.0
        for _ in range(4):
            expected = np.sqrt(abs(expected)) + 4.0
        assert value == pytest.approx(expected + 1.0)


# -- lifetimes of values -----------------------------------------------------------------------------------------------


class Value:
    """An object whose lifetime can be observed."""


def test_values_are_dropped_at_their_last_use_and_not_before():
    alive = {}
    seen = []

    def make(name):
        def function(*inputs):
            assert all(isinstance(i, Value) for i in inputs)
            gc.collect()
            seen.append((name, sorted(k for k, r in alive.items() if r() is not None)))
            value = Value()
            alive[name] = weakref.ref(value)
            return value

        function.__name__ = name
        return function

    a = node("a")
    b = node("b", [a])
    c = node("c", [a, b])
    d = node("d", [c])
    e = node("e", [d, b])
    calls = {n: make(n.name) for n in (a, b, c, d, e)}
    code = code_of(calls, [Output(d, 0)])
    (kept,) = code.function(Step())
    assert seen == [
        ("a", []),
        ("b", ["a"]),
        ("c", ["a", "b"]),
        ("d", ["b", "c"]),
        ("e", ["b", "d"]),
    ]
    assert alive["d"]() is kept
    assert [name for name, r in alive.items() if r() is not None] == ["d"]


def test_an_input_that_the_call_omits_is_not_kept():
    a = node("a")
    b = node("b", [a])
    c = node("c", [b, a])
    call = Call(torch.neg, (Input(0),))  # of b alone
    code = code_of({a: lambda: torch.tensor(1.0), b: torch.neg, c: call}, [Output(c, 0)])
    lines = code.text.splitlines()
    assert lines.index("    del a") == next(i for i, line in enumerate(lines) if "# b" in line) + 1
    assert float(code.function(Step())[0]) == 1.0


def test_a_value_used_twice_by_one_node_is_dropped_once():
    a = node("a")
    b = node("b", [a, a])
    code = code_of({a: lambda: 2, b: add}, [Output(b, 0)])
    assert code.function(Step()) == (4,)
    assert code.text.count("del a") == 1


# -- outputs and arguments ---------------------------------------------------------------------------------------------


def test_several_outputs():
    x = node("x")
    split = node("split", [x], outputs=3)
    total = node("total", [Output(split, 0), Output(split, 2)])
    code = code_of(
        {split: lambda a: (a, a * 10, a * 100), total: add}, [Output(total, 0), Output(split, 2)], [Output(x, 0)]
    )
    assert code.function(Step(), 1) == (101, 100)


def test_unused_outputs_are_not_kept():
    unused = []

    def pair():
        value = Value()
        unused.append(weakref.ref(value))
        return 1, value

    def look(a):
        gc.collect()
        return unused[0]() is None

    p = node("p", outputs=2)
    q = node("q", [Output(p, 0)])
    assert code_of({p: pair, q: look}, [Output(q, 0)]).function(Step()) == (True,)


def test_a_node_with_unused_outputs_still_runs():
    ran = []
    first, second, third = node("first"), node("second", outputs=2), node("third", outputs=0)
    calls = {first: lambda: ran.append(1), second: lambda: ran.append(2), third: lambda: ran.append(3)}
    assert code_of(calls, []).function(Step()) == ()
    assert ran == [1, 2, 3]


def test_a_value_fetched_twice_and_a_fetched_feed():
    x = node("x")
    y = node("y", [x])
    code = code_of({y: torch.neg}, [Output(y, 0), Output(x, 0), Output(y, 0)], [Output(x, 0)])
    values = code.function(Step(), torch.tensor(2.0))
    assert [float(v) for v in values] == [-2.0, 2.0, -2.0]


LITERALS = [
    None,
    True,
    -3,
    2**70,
    0.1,
    -0.0,
    float("inf"),
    float("-inf"),
    float("nan"),
    np.float64(0.25),
    np.int64(7),
    "quote ' and \" and \\ and \n",
    b"bytes",
    [],
    (),
    (1,),
    [1, (2.5, None, "x"), [True]],
    [float("nan")],
    1 + 2j,
    {"a": 1},
    torch.float32,
    torch.device("cpu"),
    Ellipsis,
    slice(1, None, 2),
]


@pytest.mark.parametrize("literal", LITERALS, ids=repr)
def test_literals_are_passed_unchanged(literal):
    y = node("y")
    code = code_of({y: Call(lambda *a, **k: (a, k), (literal,), {"key": literal})}, [Output(y, 0)])
    (((positional,), keywords),) = code.function(Step())
    for value in (positional, keywords["key"]):
        assert type(value) is type(literal)
        assert repr(value) == repr(literal)  # tells nan and -0.0 too


def test_nested_calls_lists_of_inputs_and_the_step():
    a, b = node("a"), node("b")
    y = node("y", [a, b])
    inner = Call(add, (Input(1), 1))
    call = Call(lambda step, items, other: (step, items, other), (STEP, [Input(0), inner, 7]), {"other": Input(0)})
    step = Step()
    assert code_of({y: call}, [Output(y, 0)], [Output(a, 0), Output(b, 0)]).function(step, 10, 20) == (
        (step, [10, 21, 7], 10),
    )


def test_constants_are_globals():
    known, x = node("known"), node("x")
    y = node("y", [known, x])
    value = torch.tensor(5.0)
    code = code_of({y: add}, [Output(y, 0), Output(known, 0)], [Output(x, 0)], constants={Output(known, 0): value})
    total, fetched = code.function(Step(), torch.tensor(1.0))
    assert float(total) == 6.0 and fetched is value


# -- the text ----------------------------------------------------------------------------------------------------------


def test_lines_map_to_nodes():
    x = node("x")
    nodes, previous = [], x
    for i in range(100):
        previous = node(f"n{i}", [previous])
        nodes.append(previous)
    code = code_of(dict.fromkeys(nodes, torch.neg), [Output(previous, 0)], [Output(x, 0)])
    lines = code.text.splitlines()
    assert [n.name for n in code.nodes.values()] == [n.name for n in nodes]
    for number, n in code.nodes.items():
        assert f"# {n.name}" in lines[number - 1]


def test_tracebacks_show_the_generated_line():
    x = node("x")
    y = node("culprit", [x])

    def fail(a):
        raise RuntimeError("no")

    code = code_of({y: fail}, [Output(y, 0)], [Output(x, 0)])
    with pytest.raises(RuntimeError) as caught:
        code.function(Step(), 1)
    assert "culprit = fail(x)" in "".join(traceback.format_exception(caught.value))


def test_a_cancelled_step_stops_in_the_middle():
    step, ran = Step(), []

    def count(*_):
        ran.append(1)
        if len(ran) == 5:
            step.fail(tf.errors.CancelledError(None, None, "enough"))

    nodes = [node(f"n{i}") for i in range(200)]
    with pytest.raises(tf.errors.CancelledError, match="enough"):
        code_of(dict.fromkeys(nodes, count), []).function(step)
    assert 5 <= len(ran) < 100


def test_twenty_thousand_nodes():
    x = node("x")
    calls, previous = {}, x
    for i in range(20_000):
        previous = node(f"scope_{i % 7}/value", [previous])
        calls[previous] = Call(add, (Input(0), 1))
    code = code_of(calls, [Output(previous, 0)], [Output(x, 0)])
    assert code.function(Step(), 0) == (20_000,)
    assert len(code.nodes) == 20_000
    assert len(set(code.names.values())) == 20_001
    assert isinstance(ast.parse(code.text).body[0], ast.FunctionDef)
