"""Inlining of functions: order, effects and control flow of what replaces a call, against the same written by hand."""

import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import thalweg as tf
from tests.graph.function_maker import case_, floats, if_, make_function, while_
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.graph.ops.functional import call


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def _variable(value=0.0):
    return tf.get_variable("v", initializer=value, use_resource=True)


def _run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def test_a_call_leaves_the_nodes_of_the_body():
    x = tf.placeholder(tf.float32, [])
    results = call(floats("f", lambda a: [tf.exp(a), tf.sin(a)]), [x], name="here").outputs
    step = step_graph([x], results[:1], [])
    assert [(node.name, node.type) for node in step.nodes] == [("_arg_Placeholder_0", "_Arg"), ("here/Exp", "Exp")]


def test_a_conditional_becomes_guards_and_a_choice():
    x = tf.placeholder(tf.float32, [])
    result = if_(x > 0.0, floats("t", lambda a: [tf.exp(a)]), floats("e", lambda a: [tf.sin(a)]), [x])
    step = step_graph([x], result, [])
    assert {node.type: [side for _, side in node.guard] for node in step.nodes if node.guard} == {
        "Exp": [True],
        "Sin": [False],
    }
    assert not step.is_unstructured


def test_values_that_a_loop_does_not_change_are_not_its_variables():
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    inner = floats("inner_body", lambda a, b: [a + b, tf.identity(b)], 2)
    body = floats("body", lambda a, b: while_(floats("c2", lambda a, b: [a < 5.0], 2), inner, [a, b]), 2)
    results = while_(floats("c1", lambda a, b: [a < 9.0], 2), body, [x, y])
    step = step_graph([x, y], results, [])
    loop = next(node for node in step.nodes if node.type == "_While")
    assert len(loop.dtypes) == 1 and step.fetches[1][0].type == "_Arg"


def test_effects_run_with_the_call():
    v = _variable()
    add = floats("add", lambda a: [v.assign_add(a).op and tf.identity(a)])
    result = call(add, [tf.constant(2.0), *add.captured]).outputs[0]
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(result) == 2.0
        assert session.run(v) == 2.0
        session.run(result.op)
        assert session.run(v) == 4.0


def test_what_waits_for_a_call_waits_for_its_effects():
    v = _variable()
    add = floats("add", lambda a: [v.assign_add(a).op and tf.identity(a)])
    outer = floats("outer", lambda a: call(add, [a, *add.captured]).outputs)
    operation = call(outer, [tf.constant(2.0), *outer.captured])
    with tf.control_dependencies([operation]):
        after = v.read_value()
    assert _run(after) == 2.0


@pytest.mark.parametrize("kind", ["call", "if", "while"])
def test_a_body_waits_for_what_the_call_waits_for(kind):
    v = _variable()
    one = tf.constant(1.0)
    with tf.control_dependencies([v.assign(tf.constant(5.0))]):
        handle, types = v.handle, [tf.resource, tf.float32]
        read = make_function("read", types, lambda h, a: [a + tf.raw_ops.ReadVariableOp(resource=h, dtype=tf.float32)])
        if kind == "call":
            result = call(read, [handle, one]).outputs[0]
        elif kind == "if":
            result = if_(one > 0.0, read, read, [handle, one])[0]
        else:
            body = make_function("body", types, lambda h, a: [h, call(read, [h, a]).outputs[0]])
            result = while_(make_function("c", types, lambda h, a: [a < 6.0]), body, [handle, one])[1]
    assert _run(result) == 6.0


@pytest.mark.parametrize("side", [True, False])
def test_only_the_effects_of_the_branch_that_is_taken(side):
    v = _variable()
    pred = tf.placeholder(tf.bool, [])
    then = make_function("then", [tf.resource], lambda h: [_assign_add(h, 1.0) and tf.constant(1.0)])
    otherwise = make_function("otherwise", [tf.resource], lambda h: [_assign_add(h, 10.0) and tf.constant(2.0)])
    operation = if_(pred, then, otherwise, [v.handle])[0].op
    with tf.control_dependencies([operation]):
        after = v.read_value()
    assert _run([after, operation.outputs[0]], {pred: side}) == ([1.0, 1.0] if side else [10.0, 2.0])


def _assign_add(handle, value):
    return tf.raw_ops.AssignAddVariableOp(resource=handle, value=tf.constant(value))


def test_effects_of_each_iteration():
    v = _variable()
    types = [tf.resource, tf.int32]

    def body(handle, i):
        odd = make_function("odd", [tf.resource], lambda h: [_assign_add(h, 1.0) and tf.constant(0)])
        even = make_function("even", [tf.resource], lambda h: [_assign_add(h, 100.0) and tf.constant(0)])
        if_(tf.equal(i % 2, 1), odd, even, [handle])
        return [handle, i + 1]

    condition = make_function("c", types, lambda h, i: [i < 5])
    loop = while_(condition, make_function("b", types, body), [v.handle, tf.constant(0)])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(loop[1]) == 5
        assert session.run(v) == 302.0


def test_a_loop_that_does_not_run():
    x = tf.placeholder(tf.float32, [])
    results = while_(floats("c", lambda a, b: [a < 0.0], 2), floats("b", lambda a, b: [a + b, a], 2), [x, x * 2.0])
    assert _run(results, {x: 1.0}) == [1.0, 2.0]


def test_calls_inside_of_conditionals_and_loops_of_the_graph():
    v = _variable()
    x = tf.placeholder(tf.float32, [])
    count = floats("count", lambda a: [(v.assign_add(tf.constant(1.0)).op and tf.constant(3.0)) * a])
    inputs = count.captured

    def counted(a):
        return call(count, [a, *inputs]).outputs[0]

    chosen = tf.cond(x > 0.0, lambda: counted(x), lambda: x)
    repeated = tf.while_loop(lambda a: a < 100.0, counted, [tf.abs(x) + 1.0])
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([chosen, repeated], {x: 2.0}) == [6.0, 243.0] and session.run(v) == 5.0
        assert session.run([chosen, repeated], {x: -2.0}) == [-2.0, 243.0] and session.run(v) == 9.0


def test_conditionals_and_loops_of_the_graph_inside_of_functions():
    x = tf.placeholder(tf.float32, [])

    def build(a):
        return [tf.cond(a > 0.0, lambda: tf.while_loop(lambda b: b < 50.0, lambda b: b * 3.0, [a]), lambda: -a)]

    body = floats("body", build)
    first, second = call(body, [x]).outputs[0], call(body, [x + 1.0]).outputs[0]
    assert _run([first, second], {x: 1.0}) == [81.0, 54.0]
    assert _run([first, second], {x: -4.0}) == [4.0, 3.0]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_cases(count):
    index, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [])
    branches = [floats(f"b{i}", lambda a, i=i: [a + float(i)]) for i in range(count)]
    result = case_(index, branches, [x])[0]
    with tf.Session() as session:
        values = [session.run(result, {index: i, x: 0.0}) for i in range(-2, count + 2)]
    assert values == [count - 1.0] * 2 + [float(i) for i in range(count)] + [count - 1.0] * 2


def test_devices_of_bodies():
    def build(a):
        with tf.device("/cpu:0"):
            return [tf.exp(a)]

    x = tf.placeholder(tf.float32, [])
    with tf.device("/job:worker/task:1"):
        results = call(floats("f", build), [x]).outputs
    step = step_graph([x], results, [])
    assert step.nodes[-1].device == "/job:worker/task:1/device:CPU:0"


def test_invalid_loops():
    x = tf.constant(1.0)
    two = floats("two", lambda a: [a < 1.0, a < 2.0])
    results = while_(two, floats("body", lambda a: [a + 1.0]), [x])
    make_function("condition", [], lambda: [tf.constant(True)])
    make_function("nothing", [], lambda: [])
    endless = tf.get_default_graph().create_op("While", [], attrs={"cond": "condition", "body": "nothing"})
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="returns 2 values, expected one"):
            session.run(results)
        with pytest.raises(tf.errors.InvalidArgumentError, match="no condition that could end it"):
            session.run(endless)


# -- random programs --------------------------------------------------------------------------------------------------


class _Program:
    """A random program of arithmetic, calls, conditionals and loops, built with functions or written out."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._made = 0

    def expression(self, values, depth, functions):
        """Returns a value; functions: whether its parts are functions, instead of operations of the graph."""
        kind = self._random.choice(["add", "mul", "tanh", "const"] + ["call", "if", "while"] * (depth > 0))
        a, b = (self._random.choice(values) for _ in range(2))
        if kind == "const":
            return tf.tanh(a + tf.constant(self._random.uniform(-1, 1), tf.float32))
        if kind == "tanh":
            return tf.tanh(a)
        if kind in ("add", "mul"):
            return tf.tanh(a + b if kind == "add" else a * b)
        terms = [self._random.randrange(1 << 30) for _ in range(2)]
        builds = [lambda *inputs, term=term: self._part(term, inputs, depth, functions) for term in terms]
        if kind == "call":
            return call(self._function(builds[0], 2), [a, b]).outputs[0] if functions else builds[0](a, b)
        if kind == "if":
            if functions:
                return if_(a > b, *(self._function(build, 2) for build in builds), [a, b])[0]
            return tf.cond(a > b, lambda: builds[0](a, b), lambda: builds[1](a, b))
        count = tf.constant(0.0)
        if functions:
            condition = self._function(lambda i, a, b: i < 3.0, 3)
            body = self._function(lambda i, a, b: [i + 1.0, builds[0](a, b), b], 3)
            return while_(condition, body, [count, a, b])[1]
        return tf.while_loop(lambda i, a: i < 3.0, lambda i, a: [i + 1.0, builds[0](a, b)], [count, a])[1]

    def _part(self, seed, inputs, depth, functions):
        inner = _Program(seed)
        inner._made = self._made + seed * 1000
        values = list(inputs)
        for _ in range(2):
            values.append(inner.expression(values, depth - 1, functions))
        return values[-1]

    def _function(self, build, count):
        self._made += 1
        name = f"f{self._made}_{len(tf.get_default_graph()._functions)}_{abs(id(build))}"

        def results(*inputs):
            outputs = build(*inputs)
            return outputs if isinstance(outputs, list) else [outputs]

        return floats(name, results, count)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 30), st.floats(-2, 2), st.floats(-2, 2))
def test_random_programs(seed, first, second):
    values = []
    for functions in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            x, y = (tf.placeholder(tf.float32, []) for _ in range(2))
            result = _Program(seed)._part(seed, (x, y), 2, functions)
            grads = tf.gradients(result, [x, y], unconnected_gradients="zero")
            values.append(session.run([result, *grads], {x: first, y: second}))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5, atol=1e-6)
