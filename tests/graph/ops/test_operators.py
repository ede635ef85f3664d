import operator

import numpy as np
import pytest

from thalweg._src.graph.convert import register_tensor_conversion_function
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.operators import install_operators
from thalweg._src.graph.tensor import Tensor
from thalweg._src.runtime.session.session import Session


def run(tensor):
    with Session(graph=tensor.graph) as session:
        return session.run(tensor)


BINARY = {
    operator.add: ("add", "AddV2"),
    operator.sub: ("sub", "Sub"),
    operator.mul: ("mul", "Mul"),
    operator.truediv: ("truediv", "RealDiv"),
    operator.floordiv: ("floordiv", "FloorDiv"),
    operator.mod: ("mod", "FloorMod"),
    operator.pow: ("pow", "Pow"),
    operator.lt: ("Less", "Less"),
    operator.le: ("LessEqual", "LessEqual"),
    operator.gt: ("Greater", "Greater"),
    operator.ge: ("GreaterEqual", "GreaterEqual"),
}


@pytest.mark.parametrize("function", BINARY)
def test_binary(function) -> None:
    name, kind = BINARY[function]
    with Graph().as_default() as graph:
        x = constant([1.5, -2.0, 3.0], name="x")
        z = function(x, 2)
        assert (z.op.name, z.op.type) == (name, kind)
        assert [op.name for op in graph.get_operations()] == ["x", f"{name}/y", name]
        np.testing.assert_allclose(run(z), function(np.float32([1.5, -2, 3]), np.float32(2)))
        np.testing.assert_allclose(run(function(2, x)), function(np.float32(2), np.float32([1.5, -2, 3])))
        np.testing.assert_allclose(run(function(np.float32([1, 2, 3]), x)), function(np.float32([1, 2, 3]), run(x)))
        np.testing.assert_allclose(run(function([1, 2, 3], x)), function(np.float32([1, 2, 3]), run(x)))
        before = len(graph.get_operations())
        function(x, x)
        assert len(graph.get_operations()) == before + 1


def test_unary() -> None:
    x = constant([1.5, -2.0])
    assert run(-x).tolist() == [-1.5, 2] and run(abs(x)).tolist() == [1.5, 2]
    assert run(~constant([True, False])).tolist() == [False, True]
    assert run(~constant([5])).tolist() == [-6]


@pytest.mark.parametrize("function", [operator.and_, operator.or_, operator.xor])
def test_logic_and_bits(function) -> None:
    x = np.array([True, True, False])
    np.testing.assert_array_equal(run(function(constant(x), [True, False, False])), function(x, [True, False, False]))
    np.testing.assert_array_equal(run(function(True, constant(x))), function(True, x))
    np.testing.assert_array_equal(run(function(constant([6, 3]), 5)), function(np.array([6, 3]), 5))


def test_matmul() -> None:
    a = constant([[1.0, 2.0]])
    z = a @ [[3.0], [4.0]]
    assert z.op.name.startswith("matmul") and run(z) == [[11]]
    assert run(np.float32([[3], [4]]) @ a).tolist() == [[3, 6], [4, 8]]


def test_division_of_integers() -> None:
    x = constant([7, -7])
    assert (x / 2).dtype == "float64" and (constant([1], "int16") / 2).dtype == "float32"
    np.testing.assert_array_equal(run(x / 2), [3.5, -3.5])
    np.testing.assert_array_equal(run(x // 2), [3, -4])
    np.testing.assert_array_equal(run(x % 4), [3, 1])
    np.testing.assert_array_equal(run(x.__div__(2)), [3, -4])


def test_equality_is_identity() -> None:
    x, y = constant(1.0), constant(1.0)
    same = x
    assert x == same
    assert x not in (y, 1.0)
    assert {x: 1, y: 2}[x] == 1


def test_strings() -> None:
    assert run(constant(["a"]) + "b").tolist() == [b"ab"]


def test_the_tensor_determines_the_dtype() -> None:
    x, n = placeholder("float32", [2]), placeholder("int32", [2])
    assert (x + np.int64(1)).dtype == "float32" and (np.float64(2) * x).dtype == "float32"
    for bad in (lambda: n + 1.5, lambda: 1.5 + n, lambda: x + "a", lambda: x + n, lambda: x / n, lambda: x - None):
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(TypeError, match=r"int32.*1\.5"):
        n + 1.5


class Curious:
    """Knows what to do with a tensor on its left."""

    def __radd__(self, other: object) -> str:
        return "radd"

    def __gt__(self, other: object) -> str:
        return "gt"


def test_unknown_operand_types_may_implement_the_operator() -> None:
    x = constant(1.0)
    assert x + Curious() == "radd" and (x < Curious()) == "gt"
    with pytest.raises(TypeError):
        x - Curious()
    with pytest.raises(TypeError):
        x + object()


class Holder:
    """Stands for a tensor as a variable does."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


install_operators(Holder)
register_tensor_conversion_function(Holder, lambda value, dtype=None, name=None, as_ref=False: value.tensor)


def test_operators_of_variables() -> None:
    held = Holder(constant([1.0, 2.0]))
    assert run(held * 2 + 1).tolist() == [3, 5]
    assert run(1 - held).tolist() == [0, -1]
    assert run(constant([10.0, 10.0]) / held).tolist() == [10, 5]
    assert run(-held).tolist() == [-1, -2] and run(held < 2).tolist() == [True, False]
    assert run(held + held).tolist() == [2, 4]
