"""Gradients of Python functions, and functions with gradients of their own, in eager execution."""

import gc
import weakref

import numpy as np
import pytest

import thalweg as tf
from thalweg._src.runtime.eager.gradient_functions import make_vjp

tfe = tf.contrib.eager
pytestmark = pytest.mark.usefixtures("fresh")


def _gradient(function, *sources):
    with tf.GradientTape() as tape:
        tape.watch([source for source in sources if not isinstance(source, tf.Variable)])
        y = function()
    return [None if found is None else found.numpy() for found in tape.gradient(y, list(sources))]


# -- functions that return gradients ----------------------------------------------------------------------------------


def test_with_respect_to_the_variables_that_are_read():
    w, b, unused = tf.Variable(3.0), tf.Variable(1.0), tf.Variable(1.0)
    fixed = tf.Variable(2.0, trainable=False)

    def loss(x, scale=1.0):
        return (w * x + b) * fixed * scale

    value, pairs = tfe.implicit_value_and_gradients(loss)(tf.constant(5.0), scale=10.0)
    assert value.numpy() == 320 and [(g.numpy(), v) for g, v in pairs] == [(100, w), (20, b)]
    tf.train.GradientDescentOptimizer(0.01).apply_gradients(tfe.implicit_gradients(loss)(tf.constant(5.0)))
    np.testing.assert_allclose([w.numpy(), b.numpy(), unused.numpy()], [2.9, 0.98, 1.0])
    with pytest.raises(ValueError, match="No trainable variables were accessed"):
        tfe.implicit_gradients(lambda: fixed * 2.0)()
    with pytest.raises(ValueError, match="returns None; did you forget to return a value from forgetful"):

        def forgetful():
            w * 1.0

        tfe.implicit_gradients(forgetful)()


def test_with_respect_to_arguments():
    def f(x, y):
        return x * x * y

    assert [g.numpy() for g in tfe.gradients_function(f)(3.0, 4.0)] == [24, 9]
    assert [g.numpy() for g in tfe.gradients_function(f, params=[1])(3.0, 4.0)] == [9]
    assert [g.numpy() for g in tfe.gradients_function(f, params=["x"])(3.0, 4.0, dy=10.0)] == [240]
    value, grads = tfe.value_and_gradients_function(f)(3.0, 4.0)
    assert value.numpy() == 36 and len(grads) == 2
    same = tf.constant(3.0)
    assert [g.numpy() for g in tfe.gradients_function(lambda a, b: a * a * b)(same, same)] == [18, 9]
    with pytest.raises(ValueError, match="all strings or all integers"):
        tfe.gradients_function(f, params=[0, "y"])(3.0, 4.0)
    with pytest.raises(ValueError, match="cannot receive keyword arguments"):
        tfe.gradients_function(f)(3.0, y=4.0)


def test_higher_orders():
    def derivative(f):
        return lambda x: tfe.gradients_function(f)(x)[0]

    f = tf.sin
    for expected in (np.cos(0.7), -np.sin(0.7), -np.cos(0.7)):
        f = derivative(f)
        np.testing.assert_allclose(f(0.7).numpy(), expected, rtol=1e-6)


def test_a_vector_jacobian_product_is_computed_as_often_as_wanted():
    value, vjp = make_vjp(lambda x: (x * 2.0, x * x))(tf.constant(3.0))
    assert [each.numpy() for each in value] == [6, 9]
    assert vjp()[0].numpy() == 8 and vjp((tf.constant(1.0), tf.constant(10.0)))[0].numpy() == 62


# -- functions with gradients of their own ----------------------------------------------------------------------------


def test_a_custom_gradient_replaces_that_of_the_operations():
    @tf.custom_gradient
    def f(x, y):
        return [x + y, {"product": x * y}], lambda *grads: (grads[0] * 100.0, grads[1] * 1000.0)

    x, y = tf.constant(3.0), tf.constant(4.0)
    assert _gradient(lambda: f(x, y)[1]["product"] * 2.0, x, y) == [0, 2000]
    assert _gradient(lambda: f(x, y)[0] + f(x, y)[1]["product"], x, y) == [100, 1000]
    assert f(tf.constant(3.0), 4.0)[0].numpy() == 7

    @tf.custom_gradient
    def scaled(x, factor=1.0):
        return x * factor, lambda dy: dy * factor * 10.0

    assert _gradient(lambda: scaled(x, factor=2.0), x) == [20]


def test_a_custom_gradient_is_differentiated():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    x = tf.constant(0.5)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = log1pexp(x)
        first = inner.gradient(y, x)
    sigmoid = 1 / (1 + np.exp(-0.5))
    np.testing.assert_allclose(first.numpy(), sigmoid, rtol=1e-6)
    np.testing.assert_allclose(outer.gradient(first, x).numpy(), sigmoid * (1 - sigmoid), rtol=1e-6)


def test_a_custom_gradient_returns_those_of_variables():
    v, w = tf.Variable(2.0, name="v"), tf.Variable(5.0, trainable=False)

    @tf.custom_gradient
    def f(x):
        def grad(dy, variables=None):
            assert variables == [v]
            return dy * 10.0, [dy * 7.0]

        return x * v * w, grad

    x = tf.constant(3.0)
    assert _gradient(lambda: f(x) + v, x, v) == [10, 8]
    of_argument = tf.custom_gradient(lambda x: (x * 2.0, lambda dy: dy * 5.0))
    assert _gradient(lambda: of_argument(v), v) == [5]
    with pytest.raises(TypeError, match="must accept a 'variables' keyword argument; used here: v:0"):
        tf.custom_gradient(lambda x: (x * v, lambda dy: dy))(x)
    wrong = tf.custom_gradient(lambda x: (x * 2.0, lambda dy: (dy, dy)))
    with pytest.raises(ValueError, match="returns 2 gradients for 1 arguments"):
        _gradient(lambda: wrong(x), x)


def test_recomputation_keeps_no_intermediate_value():
    v, kept = tf.Variable(2.0), []

    @tf.recompute_grad
    def f(x):
        hidden = tf.square(x) * 1.0
        kept.append(weakref.ref(hidden))
        return hidden * v

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    gc.collect()
    assert len(kept) == 1 and kept[0]() is None
    assert [found.numpy() for found in tape.gradient(y, [x, v])] == [12, 9] and len(kept) == 2


def test_passing_gradients_through():
    x = tf.constant(3.0)
    assert _gradient(lambda: tf.grad_pass_through(tf.round)(x) * 2.0, x) == [2]
    assert _gradient(lambda: tf.stop_gradient(x) * x, x) == [3]


def test_custom_gradients_in_traced_functions():
    v, x = tf.Variable(3.0), tf.constant(2.0)

    @tf.custom_gradient
    def f(x):
        def grad(dy, variables=None):
            assert variables == [v]
            return dy * 100.0, [dy * 7.0]

        return x * v, grad

    assert _gradient(lambda: tf.function(f)(x), x, v) == [100, 7]
    read_before = tf.function(lambda x: v * f(x))
    assert _gradient(lambda: read_before(x), x, v) == [300, 6 + 21]
