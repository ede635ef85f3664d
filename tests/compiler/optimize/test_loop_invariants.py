"""Loop-invariant code motion: what leaves a loop, and what must run in each iteration."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.graphs import same, same_values
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.loop_invariants import captured, hoist
from thalweg._src.compiler.optimize.loop_pruning import narrow
from thalweg._src.compiler.optimize.optimize import everywhere
from thalweg._src.compiler.optimize.simplify import simplify
from thalweg._src.graph.ir.step_graph import Output


def hoisted(feeds, fetches):
    step = step_graph(feeds, fetches, [])
    everywhere(simplify, step)
    hoist(step)
    return step


def loops(step):
    return [node for node in step.nodes if node.type == "_While"]


def inside(step, index=0):
    """Returns the types of what runs in each iteration of a loop, without arguments and constants."""
    nodes = loops(step)[index].attrs["region"].body.nodes
    return [node.type for node in nodes if node.type not in ("_Arg", "Const")]


def repeated(body, *initial):
    """Returns the final values of three iterations."""

    def following(i, *values):
        count, results = i + 1, body(i, *values)
        for result, value in zip(results, values):
            result.set_shape(value.shape)
        return count, *results

    return tf.while_loop(lambda i, *_: i < 3, following, [0, *initial], name="loop")[1:]


def test_an_invariant_node_is_computed_before_the_loop_and_captured():
    x = tf.placeholder(tf.float32, [2], name="x")
    (y,) = repeated(lambda i, v: [tf.multiply(v, tf.tanh(tf.sin(x, name="s"), name="t"), name="m")], x)
    expected = """
        _arg_x_0 = _Arg()
        loop/Const = Const(0)
        loop/s = Sin(_arg_x_0)
        loop/t = Tanh(loop/s)
        loop/while_context = _While(loop/Const, _arg_x_0, _arg_x_0, loop/t)
          condition:
            loop/Merge = _Arg()
            loop/Less/y = Const(3)
            loop/Less = Less(loop/Merge, loop/Less/y)
            -> loop/Less
          body:
            loop/Merge = _Arg()
            loop/Merge_1 = _Arg()
            loop/t = _Arg()
            loop/add/y = Const(1)
            loop/add = AddV2(loop/Merge, loop/add/y)
            loop/m = Mul(loop/Merge_1, loop/t)
            -> loop/add, loop/m
        -> loop/while_context:1"""
    assert same(hoisted([x], [y]), expected)
    same_values([y], {x: [0.5, 1.0]}, 1e-6)


def test_a_value_is_captured_once():
    x = tf.placeholder(tf.float32, [2], name="x")
    (y,) = repeated(lambda i, v: [v * x], x)
    step = step_graph([x], [y], [])
    (loop,) = loops(step)
    count = len(loop.inputs)
    first = captured(loop, Output(step.feeds[0], 0))
    assert first == captured(loop, Output(step.feeds[0], 0)) and len(loop.inputs) == count
    (constant,) = [node for node in step.nodes if node.type == "Const"]
    other = captured(loop, Output(constant, 0))
    assert other == captured(loop, Output(constant, 0)) and len(loop.inputs) == count + 1
    region = loop.attrs["region"]
    assert region.body.feeds[-1] is other.node and region.condition.feeds == region.body.feeds


def test_what_depends_on_the_iteration_stays():
    x = tf.placeholder(tf.float32, [2])
    (y,) = repeated(lambda i, v: [v + tf.exp(tf.cast(i, tf.float32))], x)
    assert inside(hoisted([x], [y])) == ["AddV2", "Cast", "Exp", "AddV2"]


def test_what_may_fail_stays_since_the_loop_may_run_no_iteration():
    x, index = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])
    (y,) = repeated(lambda i, v: [v + tf.gather(x, index)], x)
    assert "GatherV2" in inside(hoisted([x, index], [y]))
    never = tf.while_loop(lambda i, v: i < 0, lambda i, v: (i + 1, v + tf.gather(x, index)), [0, x])[1]
    same_values([never], {x: [1.0, 2.0], index: 7})


def test_what_may_fail_by_its_shape_leaves_if_all_shapes_are_known():
    for dims, stays in (([2, 2], False), (None, True)):
        a = tf.placeholder(tf.float32, dims)
        (y,) = repeated(lambda i, v, a=a: [v + tf.matmul(a, a)], tf.zeros([2, 2]))
        assert any("MatMul" in op_type for op_type in inside(hoisted([a], [y]))) is stays


def test_effects_and_random_numbers_stay():
    x = tf.placeholder(tf.float32, [])
    (y,) = repeated(lambda i, v: [v + tf.random_uniform([]) + tf.py_func(lambda a: a, [x], tf.float32)], x)
    assert {"RandomUniform", "PyFunc"} <= set(inside(hoisted([x], [y])))


def test_what_a_branch_computes_stays():
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    (y,) = repeated(lambda i, v: [tf.cond(p, lambda: v + tf.exp(x), lambda: v)], x)
    assert "Exp" in inside(hoisted([x, p], [y]))


@pytest.mark.parametrize(
    ("body", "leaves"),
    [
        (lambda i, v, w: [v + w], True),
        (lambda i, v, w: [tf.py_func(lambda a: a, [v], tf.float32) + w], False),  # other steps may run meanwhile
    ],
)
def test_a_variable_is_read_once_if_nothing_can_change_it(body, leaves):
    w = tf.get_variable("w", [], use_resource=True)
    (y,) = repeated(lambda i, v: body(i, v, w), tf.constant(0.0))
    assert ("ReadVariableOp" not in inside(hoisted([], [y]))) is leaves


def test_a_variable_that_the_loop_changes_is_read_in_each_iteration():
    w = tf.get_variable("w", [], initializer=tf.ones_initializer(), use_resource=True)

    def body(i, v):
        with tf.control_dependencies([w.assign_add(1.0)]):
            return [v + w.read_value()]

    (y,) = repeated(body, tf.constant(0.0))
    assert "ReadVariableOp" in inside(hoisted([], [y]))
    assert same_values([y]) == [2.0 + 3.0 + 4.0]


def test_an_invariant_is_not_saved_for_the_gradient():
    x, w = tf.placeholder(tf.float32, [2]), tf.get_variable("w", [2], use_resource=True)
    (y,) = repeated(lambda i, v: [tf.sin(v * w)], x)
    gradients = tf.gradients(y, [x, w])
    step = step_graph([x], gradients, [])
    everywhere(simplify, step)
    narrow(step)
    assert inside(step, 1).count("TensorListPopBack") == 3
    hoist(step)
    narrow(step)
    assert inside(step, 1).count("TensorListPopBack") == 2  # the product and v; the value of w is captured
    same_values(gradients, {x: [0.1, 0.2]}, 1e-6)


def test_the_order_of_nodes_outside_is_kept():
    x = tf.placeholder(tf.float32, [2])
    (y,) = repeated(lambda i, v: [v * tf.exp(x)], x)
    step = hoisted([x], [tf.sin(y)])
    names = [node.type for node in step.nodes]
    assert names.index("Exp") < names.index("_While") < names.index("Sin")
    assert np.isfinite(same_values([y], {x: [0.5, 1.0]}, 1e-6)[0]).all()
