"""Loops carry only variables that change and are used."""

import numpy as np

import thalweg as tf
from tests.compiler.graphs import same, same_values
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.loop_pruning import narrow
from thalweg._src.compiler.optimize.optimize import everywhere
from thalweg._src.compiler.optimize.simplify import simplify


def narrowed(feeds, fetches, targets=()):
    step = step_graph(feeds, fetches, list(targets))
    everywhere(simplify, step)
    narrow(step)
    return step


def carried(step):
    """Returns the numbers of variables and of captured values of each loop."""
    return [(len(node.dtypes), len(node.inputs) - len(node.dtypes)) for node in step.nodes if node.type == "_While"]


def repeated(body, *initial):
    """Returns the final values of four iterations."""

    def following(i, *values):
        count, results = i + 1, body(i, *values)
        for result, value in zip(results, values):
            result.set_shape(value.shape)
        return count, *results

    return tf.while_loop(lambda i, *_: i < 4, following, [0, *initial], name="loop")[1:]


def test_unused_and_unchanged_variables_go():
    x = tf.placeholder(tf.float32, [2], name="x")
    y, _, same_x = repeated(lambda i, v, dead, fixed: [v * fixed, tf.exp(dead), fixed], x, x, x)
    expected = """
        _arg_x_0 = _Arg()
        loop/Const = Const(0)
        loop/while_context = _While(loop/Const, _arg_x_0, _arg_x_0)
          condition:
            loop/Merge = _Arg()
            loop/Less/y = Const(4)
            loop/Less = Less(loop/Merge, loop/Less/y)
            -> loop/Less
          body:
            loop/Merge = _Arg()
            loop/Merge_1 = _Arg()
            loop/Merge_3 = _Arg()
            loop/add/y = Const(1)
            loop/add = AddV2(loop/Merge, loop/add/y)
            loop/mul = Mul(loop/Merge_1, loop/Merge_3)
            -> loop/add, loop/mul
        -> loop/while_context:1, _arg_x_0"""
    assert same(narrowed([x], [y, same_x]), expected)
    same_values([y, same_x], {x: [0.5, 2.0]})


def test_a_variable_that_a_used_one_needs_in_a_later_iteration_stays():
    x = tf.placeholder(tf.float32, [2])
    first, *_ = repeated(lambda i, a, b, c: [b, c, tf.exp(c)], x, x, x)
    assert carried(narrowed([x], [first])) == [(4, 0)]
    same_values([first], {x: [0.1, 0.2]})


def test_variables_that_only_need_each_other_go():
    x = tf.placeholder(tf.float32, [2])
    y, *_ = repeated(lambda i, v, a, b: [v * 2.0, b, a], x, x, x)
    assert carried(narrowed([x], [y])) == [(2, 0)]


def test_a_variable_whose_next_value_has_an_effect_stays():
    count = []
    x = tf.placeholder(tf.float32, [])
    y, last = repeated(lambda i, v, e: [v * 2.0, tf.py_func(lambda a: count.append(1) or a, [e], tf.float32)], x, x)
    assert carried(narrowed([x], [y], [last.op])) == [(3, 0)]
    same_values([y, last.op], {x: 1.0})
    assert len(count) == 8  # four iterations, twice


def test_what_the_condition_needs_stays():
    x = tf.placeholder(tf.float32, [])
    y, _ = tf.while_loop(lambda v, n: v < n, lambda v, n: (v * 2.0, n - 1.0), [x, 100.0])
    assert carried(narrowed([x], [y])) == [(2, 0)]
    same_values([y], {x: 1.0})


def test_captured_constants_become_constants_of_the_loop():
    x = tf.placeholder(tf.float32, [2])
    two = tf.constant(2.0, name="two")
    (y,) = repeated(lambda i, v: [v * two], x)
    step = narrowed([x], [y])
    assert carried(step) == [(2, 0)]
    (loop,) = [node for node in step.nodes if node.type == "_While"]
    assert [node.name for node in loop.attrs["region"].body.nodes if node.name == "two"] == ["two"]
    same_values([y], {x: [0.5, 1.0]})


def test_an_earlier_loop_that_only_a_dead_variable_needs_goes():
    x = tf.placeholder(tf.float32, [2])
    (first,) = repeated(lambda i, v: [tf.exp(v)], x)
    y, _ = repeated(lambda i, v, dead: [v * 2.0, tf.sin(dead)], x, first)
    assert carried(narrowed([x], [y])) == [(2, 0)]
    np.testing.assert_array_equal(same_values([y], {x: [1.0, 2.0]})[0], [16.0, 32.0])
