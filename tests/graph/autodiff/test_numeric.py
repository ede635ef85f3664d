"""Numeric derivatives and Hessians."""

import numpy as np
import pytest

from thalweg._src.base import dtypes
from thalweg._src.graph.autodiff.hessians import hessians
from thalweg._src.graph.autodiff.numeric import compute_gradient, compute_gradient_error
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.ops.constants import constant, placeholder
from thalweg._src.graph.ops.identity import stop_gradient
from thalweg._src.graph.ops.math import conj, multiply, square, tanh
from thalweg._src.graph.ops.matrix import matmul
from thalweg._src.graph.ops.reduction import reduce_sum
from thalweg._src.graph.ops.reshape import reshape
from thalweg._src.runtime.session.session import Session
from thalweg._src.training.variables.variables import Variable


@pytest.fixture
def session():
    with Graph().as_default(), Session() as session:
        yield session


def test_a_jacobian(session):
    x = constant(np.array([[1.0, 2.0, 3.0]]))
    w = np.arange(6.0).reshape(3, 2)
    y = matmul(x, w)
    built, measured = compute_gradient(x, [1, 3], y, [1, 2], x_init_value=np.ones((1, 3)))
    np.testing.assert_allclose(built, w)
    np.testing.assert_allclose(measured, w, rtol=1e-6)
    assert compute_gradient_error(x, [1, 3], tanh(multiply(y, 0.1)), [1, 2]) < 1e-5


def test_a_wrong_gradient_is_detected(session):
    x = placeholder(dtypes.float64, [2])
    y = multiply(square(x), stop_gradient(x))
    assert compute_gradient_error(x, [2], y, [2], x_init_value=[1.0, 2.0]) > 3.9


def test_several_inputs_and_extra_feeds(session):
    a, b = placeholder(dtypes.float64, [2]), placeholder(dtypes.float64, [2])
    scale = placeholder(dtypes.float64, [])
    y = multiply(multiply(a, b), scale)
    found = compute_gradient([a, b], [[2], [2]], y, [2], x_init_value=[[1, 2], [3, 4]], extra_feed_dict={scale: 10.0})
    np.testing.assert_allclose(found[0][0], [[30, 0], [0, 40]])
    np.testing.assert_allclose(found[1][1], [[10, 0], [0, 20]], rtol=1e-6)
    assert compute_gradient_error([a, b], [[2], [2]], y, [2], extra_feed_dict={scale: 10.0}) < 1e-6


def test_variables_are_initialized(session):
    w = Variable(np.array([2.0, 3.0]))
    x = placeholder(dtypes.float64, [2])
    assert compute_gradient_error(x, [2], multiply(x, w), [2], init_targets=w.initializer) < 1e-9


def test_complex_numbers(session):
    x = constant(np.array([1 + 2j, 3 - 1j]))
    assert compute_gradient_error(x, [2], square(x), [2]) < 1e-6
    assert compute_gradient_error(x, [2], conj(x), [2]) < 1e-6


def test_empty_and_unconnected(session):
    x = placeholder(dtypes.float32, [0])
    assert compute_gradient_error(x, [0], square(x), [0]) == 0
    y = constant(1.0)
    built, measured = compute_gradient(constant(2.0), [], y, [])
    assert built == 0 and measured == 0


def test_arguments(session):
    with pytest.raises(ValueError, match="floating or complex"):
        compute_gradient(constant(1), [], constant(1.0), [])
    with pytest.raises(ValueError, match="x_init_value has shape"):
        compute_gradient(constant(1.0), [], constant(1.0), [], x_init_value=[1.0])
    with Graph().as_default():
        z = constant(1.0)
    with pytest.raises(ValueError, match="session"):
        compute_gradient(z, [], z, [])


def test_hessians(session):
    x = placeholder(dtypes.float64, [3])
    m = np.array([[2.0, 1, 0], [1, 3, 5], [0, 5, 7]])
    column = reshape(x, [3, 1])
    y = reduce_sum(multiply(column, matmul(m, column)))
    (h,) = hessians(y, x)
    np.testing.assert_allclose(session.run(h, {x: [1, 2, 3]}), 2 * m)
    z = placeholder(dtypes.float64, [2, 2])
    (h,) = hessians(reduce_sum(multiply(square(z), z)), [z])
    value = np.arange(1.0, 5).reshape(2, 2)
    assert h.dims == (2, 2, 2, 2)
    np.testing.assert_allclose(session.run(h, {z: value}).reshape(4, 4), np.diag(6 * value.ravel()))
    (linear,) = hessians(reduce_sum(multiply(z, 2.0)), [z])
    np.testing.assert_array_equal(session.run(linear, {z: value}), np.zeros((2, 2, 2, 2)))


def test_hessians_require_a_static_shape(session):
    x = placeholder(dtypes.float32, [None])
    with pytest.raises(ValueError, match="known shape"):
        hessians(reduce_sum(square(x)), x)
    with pytest.raises(ValueError, match="do not depend"):
        hessians(reduce_sum(square(x)), constant([1.0]))
