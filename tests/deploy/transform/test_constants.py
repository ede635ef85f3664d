"""Constant folding of GraphDefs."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.transform.graphs import inputs, ops, run, transformed, values
from thalweg.tools.graph_transforms import TransformGraph


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_what_depends_on_constants_becomes_a_constant_under_its_name(graph):
    x = tf.placeholder(tf.float32, [3], name="x")
    scale = tf.rsqrt(tf.constant([1.0, 4.0, 16.0]) + 0.5, name="scale")
    tf.multiply(x, tf.identity(scale, name="read"), name="y")
    found = transformed(graph, "fold_constants", values(3))
    assert ops(found) == {"x": "Placeholder", "read": "Const", "y": "Mul"}


def test_an_output_can_be_folded(graph):
    tf.placeholder(tf.float32, [3], name="x")
    tf.constant([1, 2]) + tf.constant([3, 4], name="c")
    tf.identity(tf.constant([b"a", b"b"]), name="y")
    found = TransformGraph(graph.as_graph_def(), ["x"], ["y"], ["fold_constants"])
    assert ops(found) == {"y": "Const"} and run(found, {}).tolist() == [b"a", b"b"]


def test_inputs_state_and_what_waits_are_not_folded(graph):
    x = tf.add(tf.constant([1.0]), tf.constant([1.0]), name="x")
    noise = tf.random_uniform([1], seed=1, name="noise")
    with tf.control_dependencies([noise]):
        late = tf.constant([2.0], name="late")
    tf.add_n([x, tf.negative(late, name="negative"), noise * 0.0], name="y")
    found = transformed(graph, "fold_constants", np.zeros(1))
    kinds = ops(found)
    assert kinds["x"] == "AddV2" and kinds["negative"] == "Neg" and "RandomUniform" in kinds.values()


def test_loops_with_constants_stay_loops(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    step = tf.constant(1.0) + tf.constant(2.0)
    tf.identity(tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z + step), [0, x])[1], name="y")
    found = transformed(graph, "fold_constants", values(2))
    assert {"Enter", "Exit"} <= set(ops(found).values())
    assert list(ops(found).values()).count("AddV2") == 2


def test_excluded_types_and_large_results_stay(graph):
    x = tf.placeholder(tf.float32, [], name="x")
    wide = tf.fill([2000, 2000], 1.0, name="wide")
    tf.add(x, tf.reduce_sum(wide) + tf.exp(1.0, name="kept"), name="y")
    found = transformed(graph, "fold_constants(exclude_op=Exp, exclude_op=Sum)", 2.0)
    assert ops(found)["wide"] == "Fill" and ops(found)["kept"] == "Exp"


def test_shapes_that_were_recorded_are_cleared_unless_told_otherwise(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.exp(x, name="y")
    graph_def = graph.as_graph_def(add_shapes=True)
    found = TransformGraph(graph_def, ["x"], ["y"], ["fold_constants"])
    assert not any("_output_shapes" in node.attr for node in found.node)
    found = TransformGraph(graph_def, ["x"], ["y"], ["fold_constants(clear_output_shapes=false)"])
    assert all("_output_shapes" in node.attr for node in found.node)
    assert inputs(found, "y") == ["x"]
