"""Inlining of functions in GraphDefs."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.transform.graphs import ops, run
from thalweg._src.compat.internals.function import Defun
from thalweg._src.deploy.transform.calls import inline_calls

X = np.float32([[1, -2, 3]])


def inlined(build):
    """Returns the graph of y, a function of x, without calls; it must compute the same."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.identity(build(x), name="y")
    before = graph.as_graph_def()
    copy = tf.GraphDef.FromString(before.SerializeToString())
    after = inline_calls(before)
    assert before == copy
    np.testing.assert_array_equal(run(after, {"x:0": X}), run(before, {"x:0": X}))
    assert not [op for op in ops(after).values() if "Call" in op]
    return after


@tf.function
def scaled(x, factor):
    return x * factor


@tf.function
def layer(x):
    return tf.nn.relu(scaled(x, tf.constant(2.0)) + tf.constant([1.0, 2.0, 3.0]))


@tf.function
def parts(x):
    return tf.split(x, 3, 1)


@tf.function
def choice(x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x + 1.0, lambda: x - 1.0)


def test_bodies_stand_in_place_of_calls():
    found = inlined(lambda x: layer(layer(x)))
    assert list(ops(found).values()).count("Relu") == 2 and not found.HasField("library")


@pytest.mark.parametrize("place", range(3))
def test_results_of_a_call_keep_their_places(place):
    assert "IdentityN" in ops(inlined(lambda x: parts(x)[place])).values()


def test_functions_of_tensorflow_1_are_inlined():
    @Defun(tf.float32)
    def negative(x):
        return -x

    assert list(ops(inlined(lambda x: negative(negative(x) + 1.0))).values()).count("Neg") == 2


def test_conditionals_in_functions_stay():
    inlined(choice)


def test_what_waits_for_a_call_waits_for_its_results():
    def build(x):
        called = layer(x)
        with tf.control_dependencies([called]):
            return tf.identity(x * 3.0)

    inlined(build)


def test_a_graph_without_calls_stays_as_it_is():
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [None, 3], name="x")
    graph_def = graph.as_graph_def()
    assert inline_calls(graph_def) is graph_def


def test_a_function_that_calls_itself_is_refused():
    with tf.Graph().as_default() as graph:
        scaled(tf.placeholder(tf.float32, [None, 3], name="x"), tf.constant(2.0))
    graph_def = graph.as_graph_def()
    (function,) = graph_def.library.function
    call = next(node for node in graph_def.node if "Call" in node.op)
    (product,) = (node for node in function.node_def if node.op == "Mul")
    product.op = call.op
    del product.attr["T"]
    for key, value in call.attr.items():
        product.attr[key].CopyFrom(value)
    for key in function.ret:
        function.ret[key] = f"{product.name}:output:0"
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected 64 levels of calls"):
        inline_calls(graph_def)
