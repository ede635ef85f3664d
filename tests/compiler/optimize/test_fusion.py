"""Fusion of bias and ReLU into products, and of the updates that an optimizer makes."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.graphs import same, same_values, types
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.fusion import fuse

RNG = np.random.default_rng(5)


def fused(feeds, fetches, targets=()):
    step = step_graph(feeds, fetches, list(targets))
    fuse(step)
    return step


def operands(*shapes):
    placeholders = [tf.placeholder(tf.float32, shape, name=name) for shape, name in zip(shapes, "xwb")]
    return placeholders, dict(zip(placeholders, (RNG.normal(size=shape) for shape in shapes)))


def test_bias_and_relu_become_part_of_a_product():
    (x, w, b), feeds = operands([3, 4], [4, 2], [2])
    y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w, name="product"), b, name="biased"), name="y")
    step = fused([x, w, b], [y])
    expected = """
        _arg_x_0 = _Arg()
        _arg_w_0 = _Arg()
        _arg_b_0 = _Arg()
        y = _FusedMatMul(_arg_x_0, _arg_w_0, _arg_b_0)
        -> y"""
    assert same(step, expected)
    assert step.nodes[-1].attrs["fused_ops"] == ("BiasAdd", "Relu")
    same_values([y], feeds, 1e-6)


def test_a_bias_alone_is_fused_from_either_side():
    (x, w, b), feeds = operands([3, 4], [4, 2], [2])
    fetches = [tf.matmul(x, w) + b, b + tf.matmul(x, w)]
    step = fused([x, w, b], fetches)
    assert types(step) == ["_Arg", "_Arg", "_Arg", "_FusedMatMul", "_FusedMatMul"]
    assert {node.attrs.get("fused_ops") for node in step.nodes[3:]} == {("BiasAdd",)}
    same_values(fetches, feeds, 1e-6)


def test_a_convolution_keeps_its_attributes():
    (x, w, b), feeds = operands([2, 5, 5, 3], [3, 3, 3, 4], [4])
    y = tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 2, 2, 1], padding="SAME"), b)
    (node,) = [node for node in fused([x, w, b], [y]).nodes if node.type == "_FusedConv2D"]
    assert node.attrs["strides"] == (1, 2, 2, 1) and node.attrs["TArgs"] == (tf.float32,)
    same_values([y], feeds, 1e-5)


def test_a_product_that_has_other_consumers_stays():
    (x, w, b), feeds = operands([3, 4], [4, 2], [2])
    product = tf.matmul(x, w)
    for fetches in ([product + b, product], [product + b, tf.exp(product)]):
        assert "_FusedMatMul" not in types(fused([x, w, b], fetches))
        same_values(fetches, feeds, 1e-6)


def test_a_sum_that_is_fetched_is_fused_without_its_relu():
    (x, w, b), feeds = operands([3, 4], [4, 2], [2])
    biased = tf.matmul(x, w) + b
    fetches = [tf.nn.relu(biased), biased]
    step = fused([x, w, b], fetches)
    assert types(step) == ["Relu", "_Arg", "_Arg", "_Arg", "_FusedMatMul"]
    same_values(fetches, feeds, 1e-6)


def test_nodes_that_wait_stay():
    (x, w, b), _ = operands([3, 4], [4, 2], [2])
    product = tf.matmul(x, w)
    with tf.control_dependencies([tf.py_func(lambda: np.float32(0), [], tf.float32)]):
        y = tf.nn.bias_add(product, b)
    assert "BiasAdd" in types(fused([x, w, b], [y]))


@pytest.mark.parametrize(
    "build",
    [
        lambda x, w, b: tf.matmul(x, w) + tf.reshape(b, [2, 1]),  # broadcast over columns
        lambda x, w, b: tf.matmul(x, w) + b[0],
        lambda x, w, b: tf.matmul(x, w) * b,
        lambda x, w, b: tf.matmul(tf.cast(x, tf.int32), tf.cast(w, tf.int32)) + tf.cast(b, tf.int32),
    ],
)
def test_what_is_no_bias_stays(build):
    (x, w, b), feeds = operands([2, 4], [4, 2], [2])
    y = build(x, w, b)
    assert "MatMul" in types(fused([x, w, b], [y]))
    same_values([y], feeds, 1e-6)


def test_channels_first_stays():
    (x, w, b), _ = operands([2, 3, 5, 5], [3, 3, 3, 4], [4])
    y = tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME", data_format="NCHW"), b, "NCHW")
    assert "BiasAdd" in types(fused([x, w, b], [y]))


def updates(optimizer, count=3, control=False):
    variables = [tf.get_variable(f"v{i}", [2], use_resource=True) for i in range(count)]
    loss = tf.add_n([tf.reduce_sum(tf.square(v)) for v in variables])
    return optimizer.minimize(loss), variables


def test_updates_of_one_optimizer_become_one():
    train, _ = updates(tf.train.MomentumOptimizer(0.1, 0.9))
    (node,) = [node for node in fused([], [], [train]).nodes if "Apply" in node.type]
    assert node.type == "_ApplyMomentumGroup" and node.attrs["N"] == 3
    # All variables, all momenta, the learning rate, all gradients, the momentum.
    assert len(node.inputs) == 3 + 3 + 1 + 3 + 1


def test_updates_with_different_learning_rates_stay_apart():
    v, w = (tf.get_variable(name, [2], use_resource=True) for name in "vw")
    train = tf.group(
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(v)),
        tf.train.GradientDescentOptimizer(0.2).minimize(tf.reduce_sum(w)),
    )
    assert types(fused([], [], [train])).count("ResourceApplyGradientDescent") == 2


def test_an_update_that_depends_on_another_stays_apart():
    v, w = (tf.get_variable(name, [2], use_resource=True) for name in "vw")
    rate = tf.constant(0.1)
    first = tf.raw_ops.ResourceApplyGradientDescent(var=v.handle, alpha=rate, delta=tf.ones([2]))
    with tf.control_dependencies([first]):
        second = tf.raw_ops.ResourceApplyGradientDescent(var=w.handle, alpha=rate, delta=v.read_value())
    assert types(fused([], [], [first, second])).count("ResourceApplyGradientDescent") == 2
