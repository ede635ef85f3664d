"""Gradients of functions: of calls, conditionals and loops, up to second order, against the same without functions."""

import numpy as np
import pytest

import thalweg as tf
from tests.graph.function_maker import case_, floats, functional, if_, make_function, while_
from thalweg._src.graph.autodiff.functions import forward_backward
from thalweg._src.graph.ops.functional import call


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _derivatives(build, points=((0.5, 2.0), (2.0, 0.5))):
    """Returns a function's value and its derivatives up to second order at some points."""
    x, y = (tf.placeholder(tf.float32, []) for _ in range(2))
    value = build(x, y)
    first = tf.gradients(value, [x, y], unconnected_gradients="zero")
    second = [tf.gradients(g, [x, y], unconnected_gradients="zero") for g in first]
    with tf.Session() as session:
        found = [session.run([value, *first, *second[0], *second[1]], {x: a, y: b}) for a, b in points]
        np.testing.assert_allclose([row[4] for row in found], [row[5] for row in found], rtol=1e-5)
    return found


def _product(a, b):
    return [tf.exp(a) * b + a * a * a, tf.sin(a * b)]


def _called(x, y):
    results = call(floats("product", _product, 2), [x, y]).outputs
    return results[0] * 3.0 + results[1]


def _twice(x, y):
    product = floats("product", _product, 2)
    inner = floats("inner", lambda a, b: [call(product, _product(a, b)).outputs[0]], 2)
    return call(inner, [x * 0.1, y]).outputs[0] + call(product, [y, x]).outputs[1]


def _captured(x, y):
    z = x * y
    function = floats("function", lambda a: [a * a * z])
    return call(function, [x, *function.captured]).outputs[0]


def _chosen(x, y):
    product = floats("product", _product, 2)
    other = floats("other", lambda a, b: [call(product, [b, a]).outputs[0], tf.cos(a)], 2)
    return tf.add_n(if_(x > y, product, other, [x, y]))


def _cases(x, y):
    branches = [floats(f"b{i}", lambda a, b, i=i: [a**i * tf.sin(b)], 2) for i in range(4)]
    return case_(tf.cast(x + 1.0, tf.int32), branches, [x, y])[0]


def _repeated(x, y):
    condition = floats("condition", lambda a, b, n: [n < 3.0], 3)
    body = floats("body", lambda a, b, n: [tf.sin(a * b) + a, b, n + 1.0], 3)
    return while_(condition, body, [x, y, tf.constant(0.0)])[0]


def _nested(x, y):
    chosen = floats("chosen", lambda a, b: [_chosen(a, b)], 2)
    body = floats("outer_body", lambda a, b, n: [tf.tanh(call(chosen, [a, b]).outputs[0]), b * 0.9, n + 1.0], 3)
    return while_(floats("outer_condition", lambda a, b, n: [n < 2.0], 3), body, [x, y, tf.constant(0.0)])[0]


def _of_graph(x, y):
    def build(a, b):
        taken = tf.cond(
            a > b, lambda: tf.exp(a) * b, lambda: tf.while_loop(lambda v: v < 9.0, lambda v: v * v + b, [b])
        )
        return [taken * a]

    return call(floats("of_graph", build, 2), [x, y]).outputs[0]


def _in_graph(x, y):
    product = floats("product", _product, 2)
    repeated = tf.while_loop(
        lambda n, a: n < 3, lambda n, a: [n + 1, tf.tanh(call(product, [a, y]).outputs[0])], [0, x]
    )
    return tf.cond(x > y, lambda: call(product, [x, y]).outputs[0], lambda: repeated[1])


BUILDS = [_called, _twice, _captured, _chosen, _cases, _repeated, _nested, _of_graph, _in_graph]


class _Inlined:
    """Stands for functions and the operations that call them, with the operations of the graph itself."""

    def __init__(self, monkeypatch):
        here = globals()
        monkeypatch.setitem(here, "floats", lambda name, build, count=1: build)
        monkeypatch.setitem(
            here, "call", lambda function, inputs: type("Call", (), {"outputs": _list(function(*inputs))})
        )
        monkeypatch.setitem(here, "if_", self.chosen)
        monkeypatch.setitem(here, "case_", self.cases)
        monkeypatch.setitem(here, "while_", self.repeated)

    def chosen(self, pred, then, otherwise, inputs):
        return tf.cond(pred, lambda: then(*inputs), lambda: otherwise(*inputs), strict=True)

    def cases(self, index, branches, inputs):
        return _list(tf.switch_case(index, [lambda b=b: b(*inputs) for b in branches]))

    def repeated(self, condition, body, inputs):
        return tf.while_loop(lambda *v: condition(*v)[0], body, inputs)


def _list(value):
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("build", BUILDS)
def test_gradients(build, monkeypatch):
    found = _derivatives(build)
    if build is _captured:
        expected = [
            [a**3 * b, 3 * a * a * b, a**3, 6 * a * b, 3 * a * a, 3 * a * a, 0] for a, b in ((0.5, 2.0), (2.0, 0.5))
        ]
    else:
        _Inlined(monkeypatch)
        with tf.Graph().as_default():
            expected = _derivatives(build)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_call_is_extended_in_place_and_once():
    x, y = (tf.placeholder(tf.float32, []) for _ in range(2))
    product = floats("product", _product, 2)
    operation = call(product, [x, y])
    first, second = operation.outputs
    tf.gradients(first, [x])
    count = len(operation.outputs)
    assert operation.outputs[:2] == [first, second] and count > 2
    assert operation.attrs["f"].name == "product_forward_0"
    assert operation.attrs["Tout"] == tuple(tensor.dtype for tensor in operation.outputs)
    tf.gradients(first, [x])
    assert len(operation.outputs) == count
    other = call(product, [y, x])
    tf.gradients(other.outputs[0], [x])
    assert other.attrs["f"].name == "product_forward_0"


def test_forward_and_backward_are_functions_of_their_own():
    product = floats("product", _product, 2)
    both = forward_backward(product)
    assert both is forward_backward(product) and both.received == (0, 1)
    x, y = tf.constant(0.5), tf.constant(2.0)
    forward = call(both.forward, [x, y]).outputs
    with tf.Session() as session:
        saved = session.run(forward)
        assert len(saved) == len(both.forward.outputs)
        given = both.arguments([0.5, 2.0], saved, [1.0, 0.0])
        backward = call(both.backward, [tf.constant(value) for value in given]).outputs
        found = session.run(both.gradients(backward))
    np.testing.assert_allclose(found, [2 * np.exp(0.5) + 0.75, np.exp(0.5)], rtol=1e-6)


def test_variables_that_a_function_reads():
    v = tf.get_variable("v", initializer=np.float32([[1, 2], [3, 4], [5, 6]]), use_resource=True)
    w = tf.get_variable("w", initializer=3.0, use_resource=True)
    function = make_function("rows", [tf.int32], lambda i: [tf.reduce_sum(tf.gather(v, i)) * w], [[2]])
    result = call(function, [tf.constant([2, 0]), *function.captured]).outputs[0]
    sparse, dense = tf.gradients(result, [v, w])
    assert isinstance(sparse, tf.IndexedSlices)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(result)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        values, indices, slope = session.run([sparse.values, sparse.indices, dense])
        assert (values == 3.0).all() and indices.tolist() == [2, 0] and slope == 14.0
        session.run(train)
        np.testing.assert_allclose(session.run(v), [[0.7, 1.7], [3, 4], [4.7, 5.7]], rtol=1e-6)


def test_random_numbers_are_saved():
    """The backward function uses the numbers that the forward function drew."""
    function = make_function("noisy", [tf.float32], lambda a: [a * tf.random_normal([4])], [[4]])
    x = tf.ones([4])
    result = call(function, [x]).outputs[0]
    slope = tf.gradients(result, x)[0]
    with tf.Session() as session:
        for _ in range(3):
            np.testing.assert_array_equal(*session.run([result, slope]))


def test_symbolic_gradients():
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    product = floats("product", _product, 2)
    inputs = [x, y, tf.constant(1.0), tf.constant(0.0)]
    grads = functional("SymbolicGradient", inputs, f=product, Tout=[tf.float32] * 2)
    with tf.Session() as session:
        found = session.run(grads, {x: 0.5, y: 2.0})
    np.testing.assert_allclose(found, [2 * np.exp(0.5) + 0.75, np.exp(0.5)], rtol=1e-6)


def test_gradients_that_a_library_names():
    floats("square", lambda a: [a * a])
    floats("half_slope", lambda a, dy: [a * dy], 2)
    x = tf.placeholder(tf.float32, [], name="x")
    functional("square", [x], name="y")
    written = tf.get_default_graph().as_graph_def()
    written.library.gradient.add(function_name="square", gradient_func="half_slope")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(written, name="")
        slope = tf.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))[0]
        assert session.run(slope, {"x:0": 3.0}) == 3.0
        assert graph.as_graph_def().library.gradient == written.library.gradient


def test_functions_without_gradients():
    x = tf.placeholder(tf.float32, [])
    rounded = floats("rounded", lambda a: [tf.floor(a)])
    assert tf.gradients(call(rounded, [x]).outputs[0], x) == [None]
    number = make_function("number", [tf.float32], lambda a: [tf.cast(a, tf.int32)])
    assert tf.gradients(tf.cast(call(number, [x]).outputs[0], tf.float32), x) == [None]
