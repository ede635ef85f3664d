"""Functions with custom gradients."""

from collections import namedtuple

import numpy as np
import pytest

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.custom_gradient import custom_gradient
from thalweg._src.graph.autodiff.gradients import gradients
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.math import add, exp, log, multiply, square
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.variables.variable_scope import get_variable
from thalweg._src.training.variables.variables import Variable


@pytest.fixture
def session():
    with Graph().as_default(), Session() as session:
        yield session


def test_uses_the_given_gradient(session):
    @custom_gradient
    def log1pexp(x):
        """Says what it does."""
        e = exp(x)
        return log(add(e, 1.0)), lambda dy: multiply(dy, multiply(e, 10.0))

    x = placeholder(dtypes.float32, [2])
    y = log1pexp(x)
    (grad,) = gradients(y, x)
    assert log1pexp.__doc__ == "Says what it does." and y.dims == (2,)
    value, slope = session.run([y, grad], {x: [0, 1]})
    np.testing.assert_allclose(value, np.log1p(np.exp([0, 1])), rtol=1e-6)
    np.testing.assert_allclose(slope, 10 * np.exp([0, 1]), rtol=1e-6)


def test_custom_gradients_are_differentiable(session):
    @custom_gradient
    def cube(x):
        return multiply(square(x), x), lambda dy: multiply(dy, multiply(square(x), 3.0))

    x = placeholder(dtypes.float32)
    (first,) = gradients(cube(x), x)
    (second,) = gradients(first, x)
    assert session.run([first, second], {x: 2.0}) == [12, 12]


def test_several_arguments_and_nested_results(session):
    Pair = namedtuple("Pair", "total product")

    @custom_gradient
    def both(a, b):
        def grad(d_total, d_product):
            return add(d_total, multiply(d_product, 100.0)), None

        return Pair(add(a, b), multiply(a, b)), grad

    result = both(2.0, constant(3.0))
    assert isinstance(result, Pair)
    assert session.run(result) == Pair(5, 6)
    a, b = constant(2.0), constant(3.0)
    result = both(a, b)
    assert session.run(gradients([result.total, result.product], a)[0]) == 101
    assert gradients(result.product, b) == [None]

    @custom_gradient
    def as_dict(x):
        return {"b": x, "a": [multiply(x, 2.0)]}, lambda da, db: add(multiply(da, 10.0), db)

    found = as_dict(a)
    assert list(found) == ["b", "a"] and session.run(found) == {"b": 2, "a": [4]}
    assert session.run(gradients([found["a"][0], found["b"]], a)[0]) == 11


def test_variables_get_gradients(session):
    @custom_gradient
    def scaled(x):
        w = get_variable("w", initializer=3.0)
        result = multiply(x, w)

        def grad(dy, variables):
            assert variables == [w]
            return multiply(dy, 7.0), [multiply(dy, 8.0)]

        return result, grad

    x = placeholder(dtypes.float32)
    y = scaled(x)
    (w,) = session.graph.get_collection("trainable_variables")
    grads = gradients(y, [x, w])
    session.run(w.initializer)
    assert session.run([y, *grads], {x: 2.0}) == [6, 7, 8]


def test_variables_created_outside(session):
    w, fixed = Variable(3.0, name="w"), Variable(2.0, trainable=False, name="fixed")

    @custom_gradient
    def scaled(x):
        def grad(dy, variables=None):
            return dy, [multiply(dy, 5.0) for _ in variables]

        return multiply(multiply(x, w), fixed), grad

    x = placeholder(dtypes.float32)
    y = scaled(x)
    grads = gradients(y, [x, w])
    session.run([w.initializer, fixed.initializer])
    assert session.run([y, *grads], {x: 2.0}) == [12, 1, 5]


def test_invalid_arguments(session):
    w = Variable(3.0, name="w")

    @custom_gradient
    def forgets(x):
        return multiply(x, w), lambda dy: dy

    with pytest.raises(TypeError, match=r"'variables'.*w:0"):
        forgets(constant(1.0))

    @custom_gradient
    def too_few(x, y):
        return multiply(x, y), lambda dy: dy

    x = constant(1.0)
    with pytest.raises(ValueError, match="1 gradients for 2 arguments"):
        gradients(too_few(x, x), x)

    @custom_gradient
    def no_variables(x):
        return multiply(x, w), lambda dy, variables: (dy, [])

    with pytest.raises(ValueError, match=r"gradients for \d+ variables"):
        gradients(no_variables(x), x)
    with pytest.raises(ValueError, match="positional"):
        too_few(x, y=x)
