import numpy as np
import pytest
import torch

from tests.checks import check_op
from thalweg._src.base import errors
from thalweg._src.graph.ops import comparison
from thalweg._src.graph.ops.comparison import approximate_equal, equal, equal_op, logical_xor, not_equal, not_equal_op
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session


def run(tensor, feeds=None):
    with Session(graph=tensor.graph) as session:
        return session.run(tensor, feeds)


ORDER = {"less": torch.lt, "less_equal": torch.le, "greater": torch.gt, "greater_equal": torch.ge}
EQUALITY = {"equal": torch.eq, "not_equal": torch.ne}
FLOATS = np.array([[-1.5, 0, 2], [np.nan, np.inf, -0.0]])


@pytest.mark.parametrize("name", ORDER | EQUALITY)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int32", "int64", "uint8"])
def test_comparison(name: str, dtype: str) -> None:
    x = np.nan_to_num(FLOATS, posinf=9).astype(dtype) if dtype[0] in "iu" else FLOATS.astype(dtype)
    check_op(getattr(comparison, name), (ORDER | EQUALITY)[name], x, np.array([0, 2, 1], dtype))
    check_op(getattr(comparison, name), (ORDER | EQUALITY)[name], x[:0], np.array(0, dtype))


@pytest.mark.parametrize("name", ORDER | EQUALITY)
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_comparison_of_wide_unsigned_integers(name: str, dtype: str) -> None:
    top = np.iinfo(dtype).max
    x, y = np.array([0, 1, top, top - 1, 5], dtype), np.array([top, 1, 0, top, 4], dtype)
    wanted = getattr(np, name)(x, y)
    np.testing.assert_array_equal(run(getattr(comparison, name)(constant(x), constant(y))), wanted)


def test_equality_of_strings_bools_and_complex_numbers() -> None:
    assert run(equal(["a", "b"], "a")).tolist() == [True, False]
    assert run(not_equal(["a", "b"], "a")).tolist() == [False, True]
    assert run(equal("a", "a")) == np.True_
    assert run(equal([True, False], True)).tolist() == [True, False]
    assert run(equal(constant([1j, 1]), 1j)).tolist() == [True, False]


@pytest.mark.parametrize(("function", "answer"), [(equal_op, False), (not_equal_op, True)])
def test_incompatible_shapes(function, answer: bool) -> None:
    x = function(constant([1, 2]), constant([1, 2, 3]), incompatible_shape_error=False)
    assert x.dims == () and run(x) == answer
    a, b = placeholder("int32"), placeholder("int32")
    c = function(a, b, incompatible_shape_error=False)
    assert run(c, {a: [1, 2], b: [1, 2, 3]}) == answer
    assert run(c, {a: [1, 2], b: [1, 3]}).tolist() == [not answer, answer]
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        equal(constant([1, 2]), constant([1, 2, 3]))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint64", "complex64"])
def test_approximate_equal(dtype: str) -> None:
    x, y = np.array([1, 5, 7], dtype), np.array([1, 8, 8], dtype)
    assert run(approximate_equal(x, y)).tolist() == [True, False, False]
    assert run(approximate_equal(x, y, tolerance=2.0)).tolist() == [True, False, True]


def test_approximate_equal_needs_equal_shapes() -> None:
    with pytest.raises(ValueError, match="must be equal"):
        approximate_equal(constant([1.0]), constant([1.0, 2.0]))
    x, y = placeholder("float32"), placeholder("float32")
    with pytest.raises(errors.InvalidArgumentError):
        run(approximate_equal(x, y), {x: [1], y: [1, 2]})


@pytest.mark.parametrize("name", ["is_nan", "is_inf", "is_finite"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_is_finite_is_inf_is_nan(name: str, dtype: str) -> None:
    check_op(getattr(comparison, name), getattr(torch, name.replace("_", "")), FLOATS.astype(dtype))


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logic(name: str) -> None:
    x, y = np.array([[True], [False]]), np.array([True, False, True])
    check_op(getattr(comparison, name), getattr(torch, name), x, y)


def test_not() -> None:
    check_op(comparison.logical_not, torch.logical_not, np.array([[True, False]]))


def test_logic_requires_bools() -> None:
    with pytest.raises(TypeError):
        comparison.logical_and(constant(1), constant(2))
    with pytest.raises(TypeError):
        logical_xor(constant(1), constant(2))


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    x, y = np.array([[limits.min], [limits.max], [5]], dtype), np.array([3, 12], dtype)
    np.testing.assert_array_equal(run(getattr(comparison, name)(constant(x), constant(y))), getattr(np, name)(x, y))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_invert(dtype: str) -> None:
    x = np.array([0, 1, np.iinfo(dtype).max], dtype)
    np.testing.assert_array_equal(run(comparison.invert(constant(x))), ~x)


@pytest.mark.parametrize("name", ["left_shift", "right_shift"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype)
    x, y = np.array([[limits.max], [limits.min + 4], [5]], dtype), np.array([0, 1, limits.bits - 1], dtype)
    wanted = getattr(np, name)(x, y)
    np.testing.assert_array_equal(run(getattr(comparison, name)(constant(x), constant(y))), wanted)
    a = placeholder(dtype)
    found = run(getattr(comparison, name)(constant(x), a), {a: y})
    np.testing.assert_array_equal(found, wanted)


def test_shift_counts_are_clamped() -> None:
    assert run(comparison.left_shift([1, 1, 1], [31, 40, -1])).tolist() == [-(2**31), -(2**31), 1]
    assert run(comparison.right_shift([-8, 8, 8], [1, 40, -1])).tolist() == [-4, 0, 8]
