"""Folding of batch normalization into weights, and dilated convolutions."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.transform.graphs import inputs, ops, run, transformed, values
from thalweg.tools.graph_transforms import TransformGraph

IMAGE = values(2, 5, 7, 3)


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [None, 5, 7, 3], name="x")
        yield graph


def convolution(graph, kind="Conv2D", **arguments):
    x = graph.get_tensor_by_name("x:0")
    if kind == "Conv2D":
        return tf.nn.conv2d(x, values(3, 3, 3, 4), [1, 1, 1, 1], "SAME", name="conv", **arguments), 4
    return tf.nn.depthwise_conv2d(x, values(3, 3, 3, 2), [1, 2, 2, 1], "VALID", name="conv", **arguments), 6


@pytest.mark.parametrize("kind", ["Conv2D", "DepthwiseConv2dNative"])
def test_a_multiplication_after_a_convolution_is_folded(graph, kind):
    product, channels = convolution(graph, kind)
    normalized = tf.nn.batch_normalization(
        product, values(channels), values(channels) ** 2, values(channels), values(channels), 0.01
    )
    tf.identity(normalized, name="y")
    found = transformed(graph, "fold_constants fold_batch_norms", IMAGE, atol=1e-4)
    kinds = sorted(ops(found).values())
    assert kinds == sorted(["Placeholder", "Const", "Const", kind, "AddV2", "Identity"])


@pytest.mark.parametrize("transpose_b", [False, True])
def test_a_multiplication_after_a_matrix_product_is_folded(transpose_b):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = values(4, 3) if transpose_b else values(3, 4)
        tf.multiply(values(4), tf.matmul(x, w, transpose_b=transpose_b), name="y")
    found = transformed(graph, "fold_batch_norms", values(2, 3))
    assert sorted(ops(found).values()) == ["Const", "MatMul", "Placeholder"] and ops(found)["y"] == "MatMul"


def test_weights_that_others_use_stay_as_they_are(graph):
    x = graph.get_tensor_by_name("x:0")
    w = tf.constant(values(1, 1, 3, 3), name="w")
    first = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME") * values(3)
    tf.nn.conv2d(first, w, [1, 1, 1, 1], "SAME", name="y")
    found = transformed(graph, "fold_batch_norms", IMAGE)
    assert inputs(found, "y")[1] == "w" and "Mul" not in ops(found).values()


def test_what_is_used_before_the_multiplication_is_not_folded(graph):
    product, channels = convolution(graph)
    tf.add(product * values(channels), product, name="y")
    assert "Mul" in ops(transformed(graph, "fold_batch_norms", IMAGE)).values()
    assert "Mul" in ops(TransformGraph(graph.as_graph_def(), ["x"], ["y", "conv"], ["fold_batch_norms"])).values()


def test_a_multiplication_along_another_axis_is_not_folded(graph):
    product, _ = convolution(graph)
    tf.multiply(product, values(5, 1, 1), name="y")
    assert "Mul" in ops(transformed(graph, "fold_batch_norms", IMAGE)).values()


@pytest.mark.parametrize("kind", ["Conv2D", "DepthwiseConv2dNative"])
@pytest.mark.parametrize("bias", [False, True])
def test_fused_batch_normalization_is_folded(graph, kind, bias):
    product, channels = convolution(graph, kind)
    if bias:
        product = tf.nn.bias_add(product, values(channels))
    normalized, _, _ = tf.nn.fused_batch_norm(
        product,
        values(channels),
        values(channels),
        values(channels),
        values(channels) ** 2,
        epsilon=0.003,
        is_training=False,
        name="norm",
    )
    tf.nn.relu(normalized, name="y")
    found = transformed(graph, "fold_constants fold_old_batch_norms", IMAGE, atol=1e-4)
    kinds = ops(found)
    assert sorted(kinds.values()) == sorted(["Placeholder", "Const", "Const", kind, "BiasAdd", "Relu"])
    assert kinds["norm"] == "BiasAdd"


def test_normalization_that_trains_is_not_folded(graph):
    product, channels = convolution(graph)
    normalized, _, _ = tf.nn.fused_batch_norm(product, values(channels), values(channels))
    tf.identity(normalized, name="y")
    assert "FusedBatchNormV3" in ops(transformed(graph, "fold_old_batch_norms", IMAGE)).values()


def test_the_monolithic_operation_of_old_graphs_is_folded(graph):
    product, channels = convolution(graph)
    mean, variance, beta, gamma = (values(channels) ** 2 for _ in range(4))
    tf.identity(product, name="y")
    graph_def = graph.as_graph_def()
    old = next(node for node in graph_def.node if node.name == "y")
    old.op = "BatchNormWithGlobalNormalization"
    old.attr["variance_epsilon"].f, old.attr["scale_after_normalization"].b = 0.5, True
    for name, value in zip(("mean", "variance", "beta", "gamma"), (mean, variance, beta, gamma)):
        node = graph_def.node.add(name=name, op="Const")
        node.attr["dtype"].type = tf.float32.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
        old.input.append(name)
    found = TransformGraph(graph_def, ["x"], ["y"], ["fold_old_batch_norms"])
    expected = (run(graph_def_of(graph), {"x:0": IMAGE}, "conv:0") - mean) / np.sqrt(variance + 0.5) * gamma + beta
    np.testing.assert_allclose(run(found, {"x:0": IMAGE}), expected, rtol=1e-4, atol=1e-4)


def graph_def_of(graph):
    return graph.as_graph_def()


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("rate", [2, 3])
def test_a_dilated_convolution_becomes_one_with_a_larger_filter(padding, rate):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 12, 13, 3], name="x")
        filters = tf.constant(values(3, 2, 3, 4))
        block = [rate, rate]
        ends = [[rate, rate], [rate // 2, rate - rate // 2]] if padding == "SAME" else [[0, 0], [0, 0]]
        extra = [[0, -(12 + sum(ends[0])) % rate], [0, -(13 + sum(ends[1])) % rate]]
        paddings = (np.array(ends) + extra).astype(np.int32)
        spread = tf.space_to_batch_nd(x, block, paddings)
        product = tf.nn.conv2d(spread, filters, [1, 1, 1, 1], "VALID")
        tf.batch_to_space_nd(product, block, np.array(extra, np.int32), name="y")
    found = transformed(graph, "fold_constants flatten_atrous_conv", values(2, 12, 13, 3), atol=1e-4)
    assert sorted(ops(found).values()) == ["Const", "Conv2D", "Placeholder"]
    (node,) = (node for node in found.node if node.op == "Conv2D")
    assert node.name == "y" and node.attr["padding"].s == padding.encode()


def test_other_paddings_stay():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 12, 12, 3], name="x")
        spread = tf.space_to_batch_nd(x, [2, 2], [[4, 0], [4, 0]])
        product = tf.nn.conv2d(spread, values(3, 3, 3, 4), [1, 1, 1, 1], "VALID")
        tf.batch_to_space_nd(product, [2, 2], [[0, 0], [0, 0]], name="y")
    found = transformed(graph, "flatten_atrous_conv", values(2, 12, 12, 3))
    assert {"SpaceToBatchND", "BatchToSpaceND"} <= set(ops(found).values())
