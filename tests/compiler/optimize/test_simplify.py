"""Algebraic simplification: each identity where it holds, and where it does not."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.graphs import same, same_values, types
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.simplify import simplify

AWKWARD = np.array([[np.nan, np.inf, -np.inf], [0.0, -0.0, 3.5]], np.float32)


def simplified(feeds, fetches, targets=()):
    step = step_graph(feeds, fetches, list(targets))
    simplify(step)
    return step


def matrix(dtype=tf.float32):
    return tf.placeholder(dtype, [2, 3], name="x")


NOTHING = {
    "identity": tf.identity,
    "stop_gradient": tf.stop_gradient,
    "plus -0": lambda x: x + tf.constant(-0.0),
    "-0 plus": lambda x: tf.constant([-0.0] * 3) + x,
    "minus 0": lambda x: x - tf.constant(0.0),
    "times 1": lambda x: x * tf.constant(1.0),
    "1 times": lambda x: tf.constant(1.0) * x,
    "over 1": lambda x: x / tf.constant(1.0),
    "power 1": lambda x: tf.pow(x, tf.constant(1.0)),
    "negated twice": lambda x: -(-x),
    "cast to the same": lambda x: tf.raw_ops.Cast(x=x, DstT=tf.float32),
    "reshaped to the same": lambda x: tf.reshape(x, tf.constant([2, 3])),
    "reshaped and back": lambda x: tf.reshape(tf.reshape(x, [6]), tf.constant([2, 3])),
    "expanded and squeezed": lambda x: tf.reshape(tf.expand_dims(x, 0), tf.constant([2, 3])),
    "transposed to the same": lambda x: tf.transpose(x, tf.constant([0, 1])),
    "transposed and back": lambda x: tf.transpose(tf.transpose(x, tf.constant([1, 0])), tf.constant([1, 0])),
    "sum over no axis": lambda x: tf.reduce_sum(x, tf.constant([], tf.int32)),
    "sum of one": lambda x: tf.raw_ops.AddN(inputs=[x]),
    "tiled once": lambda x: tf.tile(x, tf.constant([1, 1])),
    "selected": lambda x: tf.raw_ops.Select(condition=tf.constant(np.ones((2, 3), bool)), t=x, e=tf.exp(x)),
}


@pytest.mark.parametrize("name", NOTHING)
def test_these_are_their_operand(name):
    x = matrix()
    y = NOTHING[name](x)
    expected = """
        _arg_x_0 = _Arg()
        -> _arg_x_0"""
    assert same(simplified([x], [y]), expected)
    (value,) = same_values([tf.identity(y)], {x: AWKWARD})
    np.testing.assert_array_equal(np.signbit(value), np.signbit(AWKWARD))


SOMETHING = {
    "plus 0": lambda x: x + tf.constant(0.0),  # -0.0 + 0.0 is 0.0
    "minus -0": lambda x: x - tf.constant(-0.0),
    "0 minus": lambda x: tf.constant(0.0) - x,
    "broadcast": lambda x: x * tf.ones([4, 2, 3]),
    "1 over": lambda x: tf.constant(1.0) / x,
    "rounded": lambda x: tf.floordiv(x, tf.constant(1.0)),
    "times 0": lambda x: x * tf.constant(0.0),  # NaN and infinity stay NaN
    "other shape": lambda x: tf.reshape(x, tf.constant([3, 2])),
    "transposed": lambda x: tf.transpose(x, tf.constant([1, 0])),
    "negated": lambda x: -x,
    "cast": lambda x: tf.cast(x, tf.float64),
    "tiled": lambda x: tf.tile(x, tf.constant([1, 2])),
}


@pytest.mark.parametrize("name", SOMETHING)
def test_these_are_not_their_operand(name):
    x = matrix()
    y = SOMETHING[name](x)
    assert simplified([x], [y]).fetches[0].node.type != "_Arg"
    same_values([y], {x: AWKWARD})


def test_integers_have_one_zero():
    x = matrix(tf.int32)
    assert simplified([x], [x + tf.constant(0)]).fetches[0].node.type == "_Arg"
    assert simplified([x], [tf.floordiv(x, tf.constant(1))]).fetches[0].node.type == "_Arg"


def test_unknown_shapes_may_be_broadcast():
    x = tf.placeholder(tf.float32, name="x")
    assert "Mul" in types(simplified([x], [x * tf.constant([1.0, 1.0])]))


def test_a_shape_of_the_step_may_be_invalid():
    x, size = matrix(), tf.placeholder(tf.int32, [2])
    y = tf.reshape(x, size)
    y.set_shape([2, 3])
    assert "Reshape" in types(simplified([x, size], [y]))


def test_a_square_is_no_power():
    x = matrix()
    assert types(simplified([x], [x ** tf.constant(2.0)])) == ["Square", "_Arg"]
    same_values([x**2.0], {x: AWKWARD})


def test_a_product_transposes_its_operands_itself():
    x, w = tf.placeholder(tf.float32, [2, 3], name="x"), tf.placeholder(tf.float32, [4, 3], name="w")
    y = tf.matmul(x, tf.transpose(w, tf.constant([1, 0])), name="y")
    step = simplified([x, w], [y])
    assert same(step, "_arg_x_0 = _Arg()\n_arg_w_0 = _Arg()\ny = MatMul(_arg_x_0, _arg_w_0)\n-> y")
    assert step.nodes[-1].attrs["transpose_b"] and not step.nodes[-1].attrs["transpose_a"]
    same_values([y], {x: np.ones((2, 3)), w: np.arange(12.0).reshape(4, 3)}, 1e-6)


def test_complex_products_do_not():
    x = tf.placeholder(tf.complex64, [2, 2], name="x")
    y = tf.matmul(x, tf.transpose(x, tf.constant([1, 0])))
    assert "Transpose" in types(simplified([x], [y]))


def test_an_identity_that_waits_passes_its_control_inputs_on():
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.control_dependencies([tf.py_func(lambda: np.float32(0), [], tf.float32, name="effect")]):
        gate = tf.identity(x, name="gate")
    expected = """
        _arg_x_0 = _Arg()
        effect = PyFunc()
        y = Exp(_arg_x_0) after effect
        -> y"""
    assert same(simplified([x], [tf.exp(gate, name="y")]), expected)


def effects(build):
    """Returns what a step of a product that is made after an effect becomes, and how often the effect happened."""
    count = []
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    with tf.control_dependencies([tf.py_func(lambda: count.append(1) or np.float32(0), [], tf.float32, name="effect")]):
        y = build(x)
    step = simplified([x], [y])
    with tf.Session() as session:
        session.run(y, {x: np.eye(2)})
    return step, len(count)


def test_a_fetch_whose_constant_waits_stays():
    step, count = effects(lambda x: tf.multiply(x, tf.constant(1.0), name="y"))
    assert "Mul" in types(step) and count == 1


def test_consumers_inherit_what_a_constant_waits_for():
    step, count = effects(lambda x: tf.exp(tf.multiply(x, tf.constant(1.0)), name="y"))
    expected = """
        _arg_x_0 = _Arg()
        effect = PyFunc()
        y = Exp(_arg_x_0) after effect
        -> y"""
    assert same(step, expected) and count == 1


def test_two_transpositions_by_constants_that_wait_stay():
    step, count = effects(lambda x: tf.exp(tf.transpose(tf.transpose(x, [1, 0]), [1, 0])))
    assert types(step).count("Transpose") == 2 and count == 1
