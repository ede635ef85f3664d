"""Removal of control edges: an edge stays only for an effect that no other edge orders."""

import numpy as np

import thalweg as tf
from tests.compiler.graphs import same
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.control_edges import remove_control_edges


def effect(name, *values):
    return tf.py_func(lambda *_: np.float32(0), list(values), tf.float32, name=name)


def after(*operations):
    return tf.control_dependencies(list(operations))


def removed(feeds, fetches, targets=()):
    step = step_graph(feeds, fetches, list(targets))
    remove_control_edges(step)
    return step


def test_nothing_waits_for_pure_nodes():
    x = tf.placeholder(tf.float32, [], name="x")
    with after(tf.exp(x, name="pure")):
        y = tf.sin(x, name="y")
    expected = """
        _arg_x_0 = _Arg()
        y = Sin(_arg_x_0)
        -> y"""
    assert same(removed([x], [y]), expected)


def test_what_a_pure_node_waits_for_is_still_waited_for():
    x = tf.placeholder(tf.float32, [], name="x")
    with after(effect("effect")):
        pure = tf.exp(x, name="pure")
    with after(pure):
        y = tf.sin(x, name="y")
    expected = """
        _arg_x_0 = _Arg()
        effect = PyFunc()
        pure = Exp(_arg_x_0) after effect
        y = Sin(_arg_x_0) after pure
        -> y"""
    assert same(removed([x], [y]), expected)


def test_an_edge_is_redundant_beside_one_that_implies_it():
    first = effect("first")
    with after(first):
        second = effect("second")
    with after(second, first):
        third = effect("third")
    expected = """
        first = PyFunc()
        second = PyFunc() after first
        third = PyFunc() after second
        -> third"""
    assert same(removed([], [third]), expected)


def test_an_edge_is_redundant_beside_an_input_that_implies_it():
    first = effect("first")
    second = effect("second", first)
    with after(first):
        third = effect("third", second)
    expected = """
        first = PyFunc()
        second = PyFunc(first)
        third = PyFunc(second)
        -> third"""
    assert same(removed([], [third]), expected)


def test_targets_keep_all_their_edges():
    x = tf.placeholder(tf.float32, [], name="x")
    group = tf.group(tf.exp(x, name="pure"), name="group")
    expected = """
        _arg_x_0 = _Arg()
        pure = Exp(_arg_x_0)
        group = NoOp() after pure
        -> group"""
    assert same(removed([x], [], [group]), expected)


def test_hinted_edges_stay():
    x = tf.placeholder(tf.float32, [], name="x")
    first = tf.exp(x, name="first")
    second = tf.sin(x, name="second")
    step = step_graph([x], [first, second], [])
    nodes = {node.name: node for node in step.nodes}
    nodes["second"].controls = [nodes["first"]]
    nodes["second"].attrs = {**nodes["second"].attrs, "_after": ("first",)}
    remove_control_edges(step)
    assert [control.name for control in nodes["second"].controls] == ["first"]
