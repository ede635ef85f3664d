"""Printing and assertions: what is shown is what TensorFlow shows."""

import sys

import numpy as np
import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.printing import Assert, Print, print_v2, string_format
from thalweg._src.runtime.session.session import Session


@pytest.fixture
def session():
    with Graph().as_default(), Session() as session:
        yield session


@pytest.mark.parametrize(
    "values, options, shown",
    [
        ([[[1, 2], [3, 4]]], {"message": "m:"}, "m:[[1 2][3...]...]"),
        ([[1.5, 2, 3, 4, 5.25]], {}, "[1.5 2 3...]"),
        ([[[1, 2, 3, 4], [3, 4, 5, 6]]], {"summarize": 10}, "[[1 2 3 4][3 4 5 6]]"),
        ([[[1, 2, 3, 4], [3, 4, 5, 6]]], {"summarize": 6}, "[[1 2 3 4][3 4...]...]"),
        ([["a", "bb"], 3, True, 1e-7, [1e10, 123456789.0]], {}, "[a bb][3][1][1e-07][1e+10 123456792]"),
        ([[[1, 2], [3, 4]]], {"summarize": 0}, "[...]"),
        ([[1, 2, 3, 4]], {"summarize": -1}, "[1 2 3 4]"),
        ([np.zeros((0, 2), np.float32)], {}, "[]"),
        ([np.arange(8).reshape(2, 2, 2)], {"summarize": 100}, "[[[0 1][2 3]][[4 5][6 7]]]"),
        ([np.float64(1 / 3), np.float32(1 / 3), np.int8(3), np.uint8(200)], {},
         "[0.33333333333333331][0.333333343][3][200]"),
        ([[True, False], np.float16(0.1)], {}, "[1 0][0.0999755859]"),
    ],
)  # fmt: skip
def test_print(session, capfd, values, options, shown):
    assert session.run(Print(constant(7.0), values, **options)) == 7
    assert capfd.readouterr().err == shown + "\n"


def test_print_stops_after_first_n(session, capfd):
    printed = Print(constant(1.0), ["x"], first_n=2)
    for _ in range(4):
        session.run(printed)
    assert capfd.readouterr().err == "[x]\n[x]\n"


def test_print_has_the_gradient_of_its_value(session):
    x = placeholder(dtypes.float32)
    (grad,) = gradients(Print(x, [x]), x, grad_ys=[3.0])
    assert session.run(grad, {x: 1.0}) == 3


@pytest.mark.parametrize(
    "build, options, shown",
    [
        (
            lambda: [
                "abc", constant([1, 2, 3]), constant("s"), constant(["a", "b"]), {"k": constant(2.5)},
                (1, constant(2)), [constant(1)], 5, None,
            ],
            {},
            "abc [1 2 3] \"s\" [\"a\" \"b\"] {'k': 2.5} (1, 2) [1] 5 None\n",
        ),
        (lambda: [constant(np.arange(4).reshape(2, 2)), constant(1.0)], {"sep": "|", "end": "E"}, "[[0 1]\n [2 3]]|1E"),
        (lambda: [constant(np.arange(20))], {"summarize": 2}, "[0 1 ... 18 19]\n"),
        (lambda: [constant(np.arange(8))], {"summarize": -1}, "[0 1 2 3 4 5 6 7]\n"),
        (
            lambda: [constant(np.arange(27).reshape(3, 3, 3))],
            {"summarize": 1},
            "[[[0 ... 2]\n  ...\n  [6 ... 8]]\n\n ...\n\n [[18 ... 20]\n  ...\n  [24 ... 26]]]\n",
        ),
        (lambda: [constant("only")], {}, "only\n"),
        (lambda: ["a {} b", constant([True])], {}, "a {} b [1]\n"),
        (lambda: ["no tensors", 3], {}, "no tensors 3\n"),
    ],
)  # fmt: skip
def test_print_v2(session, capfd, build, options, shown):
    operation = print_v2(*build(), **options)
    assert isinstance(operation, Operation)
    session.run(operation)
    assert capfd.readouterr().err == shown


def test_print_v2_streams(session, capfd, tmp_path):
    session.run(print_v2(constant(1), output_stream=sys.stdout))
    assert capfd.readouterr().out == "1\n"
    path = tmp_path / "log"
    operation = print_v2(constant(1), output_stream=f"file://{path}")
    session.run(operation)
    session.run(operation)
    assert path.read_text() == "1\n1\n"
    with pytest.raises(ValueError, match="output stream"):
        print_v2(constant(1), output_stream="nowhere")


def test_string_format(session):
    assert session.run(string_format("a {} b {}", [constant([1, 2]), constant("q")])) == b'a [1 2] b "q"'
    with pytest.raises(ValueError, match="placeholder"):
        string_format("{}", [])


def test_assert(session):
    condition = placeholder(dtypes.bool)
    operation = Assert(condition, ["x =", constant([1, 2, 3, 4])], summarize=2)
    assert session.run(operation, {condition: True}) is None
    with pytest.raises(errors.InvalidArgumentError, match=r"assertion failed: \[x =\] \[1 2\.\.\.\]"):
        session.run(operation, {condition: False})
    with pytest.raises(errors.InvalidArgumentError, match="scalar"):
        session.run(operation, {condition: [True, True]})
