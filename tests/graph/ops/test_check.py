"""Assertions: at build time where the graph decides, in the step otherwise."""

import numpy as np
import pytest

from thalweg._src.base import dtypes, errors
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops import check
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.runtime.session.session import Session


@pytest.fixture
def session():
    with Graph().as_default(), Session() as session:
        yield session


BINARY = [
    (check.assert_equal, [1, 2], [1, 2], [1, 3]),
    (check.assert_none_equal, [1, 2], [3, 4], [3, 2]),
    (check.assert_less, [1, 2], [2, 3], [2, 2]),
    (check.assert_less_equal, [1, 2], [1, 3], [1, 1]),
    (check.assert_greater, [1, 2], [0, 1], [0, 2]),
    (check.assert_greater_equal, [1, 2], [1, 0], [2, 2]),
]
UNARY = [
    (check.assert_positive, [1, 2], [0, 1]),
    (check.assert_negative, [-1, -2], [0, -1]),
    (check.assert_non_negative, [0, 1], [-1, 1]),
    (check.assert_non_positive, [0, -1], [-1, 1]),
]


@pytest.mark.parametrize("function, x, good, bad", BINARY, ids=[row[0].__name__ for row in BINARY])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.int64])
def test_two_tensors(session, function, x, good, bad, dtype):
    fed = placeholder(dtype, name="fed")
    operation = function(constant(x, dtype), fed, message="mine")
    assert isinstance(operation, Operation)
    session.run(operation, {fed: good})
    with pytest.raises(errors.InvalidArgumentError, match=r"assertion failed: \[mine\].*did not hold.*fed:0"):
        session.run(operation, {fed: bad})
    session.run(function(constant(x), constant(good)))
    with pytest.raises(errors.InvalidArgumentError, match="mine\n"):
        function(constant(x), constant(bad), message="mine")


@pytest.mark.parametrize("function, good, bad", UNARY, ids=[row[0].__name__ for row in UNARY])
def test_signs(session, function, good, bad):
    x = placeholder(dtypes.float32, name="x")
    operation = function(x)
    session.run(operation, {x: good})
    session.run(operation, {x: []})
    with pytest.raises(errors.InvalidArgumentError, match=r"0 did not hold element-wise.*x \(x:0\)"):
        session.run(operation, {x: bad})
    with pytest.raises(errors.InvalidArgumentError):
        function(constant(bad))


def test_custom_data_and_summarize(session):
    x = placeholder(dtypes.int64)
    operation = check.assert_less(x, 3, data=["only", x])
    with pytest.raises(errors.InvalidArgumentError, match=r"assertion failed: \[only\] \[5\]"):
        session.run(operation, {x: 5})
    session.run(check.assert_equal(x, x))


def test_assert_near(session):
    x = placeholder(dtypes.float32)
    session.run(check.assert_near(x, [1.0, 2.0]), {x: [1 + 5e-7, 2]})
    with pytest.raises(errors.InvalidArgumentError, match="more than the tolerance"):
        session.run(check.assert_near(x, [1.0, 2.0]), {x: [1.001, 2]})
    session.run(check.assert_near(x, [1.0, 2.0], rtol=0.01), {x: [1.001, 2]})
    session.run(check.assert_near(x, [1.0, 2.0], rtol=0.0, atol=0.01), {x: [1.001, 2]})
    with pytest.raises(TypeError, match="assert_equal"):
        check.assert_near(constant(1), constant(1))


def test_order(session):
    x = placeholder(dtypes.int32)
    both = [check.is_non_decreasing(x), check.is_strictly_increasing(x)]
    for value, expected in (
        ([1, 2, 3], [True, True]),
        ([1, 1, 3], [True, False]),
        ([2, 1], [False, False]),
        ([[1, 2], [3, 0]], [False, False]),
        ([5], [True, True]),
        ([], [True, True]),
        (3, [True, True]),
    ):
        assert session.run(both, {x: np.array(value, np.int32)}) == expected
    with pytest.raises(TypeError, match="numeric"):
        check.is_non_decreasing(constant("a"))


def test_ranks(session):
    known, unknown = placeholder(dtypes.float32, [2, 3], name="known"), placeholder(dtypes.float32)
    cases = [
        (check.assert_rank, 2, 1, "must have rank"),
        (check.assert_rank_at_least, 1, 3, "must have rank at least"),
        (check.assert_rank_in, [1, 2], [1, 3], "must have rank in"),
    ]
    for function, good, bad, text in cases:
        assert function(known, good).type == "NoOp"
        with pytest.raises(ValueError, match=f"mine.*known:0 {text}.*Received rank 2"):
            function(known, bad, message="mine")
        session.run(function(unknown, good), {unknown: np.ones((2, 3))})
        with pytest.raises(errors.InvalidArgumentError, match=f"{text}.*Received shape: "):
            session.run(function(unknown, bad), {unknown: np.ones((2, 3))})
    fed = placeholder(dtypes.int32, [])
    with pytest.raises(errors.InvalidArgumentError):
        session.run(check.assert_rank(known, fed), {fed: 3})
    with pytest.raises(ValueError, match="scalar"):
        check.assert_rank(known, [2])
    with pytest.raises(TypeError, match="int32"):
        check.assert_rank(known, 2.0)


def test_types(session):
    x = constant(1.0)
    assert check.assert_type(x, dtypes.float32).type == "NoOp"
    with pytest.raises(TypeError, match=r"mine.*must be of type int32"):
        check.assert_type(x, dtypes.int32, message="mine")
    check.assert_integer(constant(1))
    with pytest.raises(TypeError, match="integer type"):
        check.assert_integer(x)
    assert check.assert_scalar(x) is x
    check.assert_scalar(placeholder(dtypes.float32))
    with pytest.raises(ValueError, match="Expected scalar"):
        check.assert_scalar(constant([1.0]))
    assert check.is_numeric_tensor(x) and not check.is_numeric_tensor(constant("a"))
    assert not check.is_numeric_tensor(3)


def test_same_float_type(session):
    a, b = constant(1.0), constant(1.0, dtypes.float64)
    assert check.assert_same_float_dtype() is dtypes.float32
    assert check.assert_same_float_dtype([b]) is dtypes.float64
    assert check.assert_same_float_dtype([a, a], dtypes.float32) is dtypes.float32
    with pytest.raises(ValueError, match="expected float32"):
        check.assert_same_float_dtype([a, b])
    with pytest.raises(ValueError, match="floating"):
        check.assert_same_float_dtype([constant(1)])


def test_proper_iterable(session):
    check.assert_proper_iterable([1])
    for value in ("text", constant([1]), np.ones(2), 3):
        with pytest.raises(TypeError, match="iterable"):
            check.assert_proper_iterable(value)
