"""Transforms of weights."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.transform.graphs import inputs, ops, run, transformed, values
from thalweg.tools.graph_transforms import TransformGraph


def graph_with(weights):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, weights.shape[0]], name="x")
        tf.matmul(x, tf.constant(weights, name="w"), name="y")
    return graph


@pytest.mark.parametrize("shift", [0.0, 5.0, -5.0])
def test_weights_are_stored_in_eight_bits(shift):
    weights = values(40, 30) + np.float32(shift)
    graph = graph_with(weights)
    step = (max(weights.max(), 0) - min(weights.min(), 0)) / 255
    found = transformed(graph, "quantize_weights", np.eye(40), rtol=0, atol=step * 0.51)
    assert ops(found)["w"] == "Dequantize"
    assert inputs(found, "w") == ["w_quantized_const", "w_quantized_min", "w_quantized_max"]
    assert found.ByteSize() < graph.as_graph_def().ByteSize() / 2
    assert 0.0 in run(found, {"x:0": np.zeros([1, 40])})


def test_small_weights_stay_floats():
    graph = graph_with(values(4, 4))
    assert ops(transformed(graph, "quantize_weights", values(2, 4))) == ops(graph.as_graph_def())
    found = transformed(graph, "quantize_weights(minimum_size=16)", values(2, 4), atol=0.1)
    assert ops(found)["w"] == "Dequantize"


@pytest.mark.parametrize("value", [0.0, 3.0, -3.0])
def test_equal_weights_survive(value):
    weights = np.full((40, 30), value, np.float32)
    for transforms, atol in (("quantize_weights", 0.02), ("round_weights(num_steps=512)", 0.01)):
        transformed(graph_with(weights), transforms, np.eye(40), atol=atol)


def test_weights_that_are_not_finite_stay():
    weights = values(40, 30)
    weights[0, 0] = np.inf
    found = TransformGraph(graph_with(weights).as_graph_def(), ["x"], ["y"], ["quantize_weights round_weights"])
    assert ops(found)["w"] == "Const"
    np.testing.assert_array_equal(run(found, {}, "w:0"), weights)


def test_weights_are_rounded_to_few_values():
    weights = values(40, 30)
    step = (weights.max() - weights.min()) / 16
    found = transformed(graph_with(weights), "round_weights(num_steps=16)", np.eye(40), rtol=0, atol=step * 0.51)
    rounded = run(found, {}, "w:0")
    assert len(np.unique(rounded)) <= 16 and rounded.dtype == np.float32


def test_control_inputs_of_weights_stay():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 40], name="x")
        with tf.control_dependencies([x]):
            w = tf.constant(values(40, 30), name="w")
        tf.matmul(x, w, name="y")
    found = transformed(graph, "quantize_weights", values(2, 40), atol=1.0)
    assert inputs(found, "w")[-1] == inputs(found, "w_quantized_const")[-1] == "^x"
