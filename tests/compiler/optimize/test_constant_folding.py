"""Constant folding: what is computed at compile time, and what is not."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.graphs import same, same_values, types
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.constant_folding import fold
from thalweg._src.runtime.passes import evaluate
from thalweg._src.runtime.resources.containers import Containers
from thalweg._src.runtime.resources.devices import local_devices

HOST = local_devices(tf.ConfigProto(), Containers())[0]


def folded(feeds, fetches):
    step = step_graph(feeds, fetches, [])
    fold(step, lambda node: evaluate(node, HOST))
    return step


def test_nodes_of_constants_become_constants_and_what_follows_from_them():
    x = tf.placeholder(tf.float32, [], name="x")
    three = tf.add(tf.constant(1.0), tf.constant(2.0), name="three")
    y = tf.multiply(x, tf.exp(three, name="e") - tf.exp(three, name="f"), name="y")
    expected = """
        _arg_x_0 = _Arg()
        sub = Const(0.0)
        y = Mul(_arg_x_0, sub)
        -> y"""
    assert same(folded([x], [y]), expected)
    same_values([y], {x: 2.0})


def test_all_outputs_of_a_node_become_constants():
    pieces = tf.split(tf.constant([1.0, 2.0]), 2, name="s")
    expected = """
        s/0 = Const([1.0])
        s/1 = Const([2.0])
        -> s/0, s/1"""
    assert same(folded([], pieces), expected, in_order=False)


def test_static_shapes_of_values_that_are_not_constant():
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    fetches = [tf.shape(tf.exp(x), name="shape"), tf.size(x, name="size"), tf.rank(x, name="rank")]
    expected = """
        shape = Const([2, 3])
        size = Const(6)
        rank = Const(2)
        -> shape, size, rank"""
    assert same(folded([x], fetches), expected)
    same_values(fetches, {x: np.zeros((2, 3))})


def test_unknown_dimensions_are_read_in_the_step():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    assert types(folded([x], [tf.shape(x)])) == ["Shape", "_Arg"]


@pytest.mark.parametrize(
    ("op_type", "build"),
    [
        ("RandomUniform", lambda: tf.random_uniform([2], seed=1)),
        ("Fill", lambda: tf.fill([1 << 11, 1 << 11], 1.0)),  # too large to keep
        ("PyFunc", lambda: tf.py_func(lambda v: v, [1.0], tf.float32)),
        ("ReadFile", lambda: tf.read_file("/no/such/file")),
        ("TensorArrayV3", lambda: tf.TensorArray(tf.float32, 2).flow),
    ],
)
def test_these_run_in_each_step(op_type, build):
    assert op_type in types(folded([], [build()]))


def test_nodes_and_constants_that_wait_are_not_folded():
    one, two = tf.constant(1.0), tf.constant(2.0)
    with tf.control_dependencies([tf.py_func(lambda: np.float32(0), [], tf.float32)]):
        node_waits = one + two
        constant_waits = tf.constant(1.0) * two
    assert {"AddV2", "Mul"} <= set(types(folded([], [node_waits, constant_waits])))


def test_what_fails_is_left_to_the_step():
    with tf.device("/cpu:0"):  # on a GPU the result of such an index is 0
        y = tf.gather(tf.constant([1, 2]), tf.constant(5))
    assert "GatherV2" in types(folded([], [y]))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(y)
