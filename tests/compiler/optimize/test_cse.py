"""Common-subexpression elimination: which nodes are merged, and which never are."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.graphs import same, same_values, types
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.cse import eliminate_common_subexpressions


def eliminated(feeds, fetches, targets=()):
    step = step_graph(feeds, fetches, list(targets))
    eliminate_common_subexpressions(step)
    return step


def test_equal_nodes_are_merged_and_what_follows_from_them():
    x = tf.placeholder(tf.float32, [2], name="x")
    a, b = tf.exp(x, name="a"), tf.exp(x, name="b")
    c, d = tf.sin(a, name="c"), tf.sin(b, name="d")
    expected = """
        _arg_x_0 = _Arg()
        a = Exp(_arg_x_0)
        c = Sin(a)
        -> c, c"""
    assert same(eliminated([x], [c, d]), expected)
    same_values([c, d], {x: [1.0, 2.0]})


def test_operands_of_commutative_nodes_may_change_places():
    x, y = (tf.placeholder(tf.float32, [2], name=name) for name in "xy")
    sums, differences = [x + y, y + x], [x - y, y - x]
    step = eliminated([x, y], sums + differences)
    assert types(step) == ["AddV2", "Sub", "Sub", "_Arg", "_Arg"]
    same_values(sums + differences, {x: [1.0, 2.0], y: [3.0, 5.0]})


def test_control_edges_and_guards_move_to_the_node_that_stays():
    x = tf.placeholder(tf.float32, [], name="x")
    a, b = tf.less(x, 1.0, name="a"), tf.less(x, 1.0, name="b")
    y = tf.cond(b, lambda: tf.exp(x, name="e"), lambda: x)
    with tf.control_dependencies([b]):
        z = tf.sin(x, name="z")
    step = eliminated([x], [a, y, z])
    nodes = {node.name: node for node in step.nodes}
    assert "b" not in nodes
    assert nodes["z"].controls == [nodes["a"]]
    assert [literal.node for literal, _ in nodes["cond/e"].guard] == [nodes["a"]]


@pytest.mark.parametrize(
    "pair",
    [
        lambda x: [tf.random_uniform([2], seed=1), tf.random_uniform([2], seed=1)],
        lambda x: [tf.cast(x, tf.int32), tf.cast(x, tf.int64)],
        lambda x: [x / tf.constant(0.0), x / tf.constant(-0.0)],
        lambda x: [tf.placeholder_with_default(x, [2]), tf.py_func(lambda v: v, [x], tf.float32)],
    ],
)
def test_these_differ(pair):
    x = tf.placeholder(tf.float32, [2], name="x")
    fetches = pair(x)
    step = eliminated([x], fetches)
    assert step.fetches[0] != step.fetches[1]


def test_nodes_after_different_effects_differ():
    x = tf.placeholder(tf.float32, [], name="x")
    effects = [tf.py_func(lambda: np.float32(0), [], tf.float32) for _ in range(2)]
    waiting = []
    for effect in effects:
        with tf.control_dependencies([effect]):
            waiting.append(tf.exp(x))
    assert types(eliminated([x], waiting)).count("Exp") == 2


def test_large_constants_are_not_compared():
    values = [tf.constant(np.ones(2000, np.float32)), tf.constant(np.ones(2000, np.float32))]
    assert types(eliminated([], values)) == ["Const", "Const"]
    small = [tf.constant(np.ones(20, np.float32)), tf.constant(np.ones(20, np.float32))]
    assert types(eliminated([], small)) == ["Const"]
