"""Transforms that remove nodes."""

import numpy as np
import pytest

import thalweg as tf
from tests.deploy.transform.graphs import inputs, ops, run, transformed, values
from thalweg.tools.graph_transforms import TransformGraph


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_unused_nodes_are_removed_and_inputs_become_placeholders(graph):
    queue = tf.FIFOQueue(1, [tf.int32], [[2]])
    x = tf.cast(queue.dequeue(), tf.float32, name="x")
    scale = tf.placeholder(tf.float32, [], name="scale")
    tf.multiply(x, scale, name="y")
    tf.negative(x, name="unused")
    found = TransformGraph(graph.as_graph_def(), ["x", "scale"], ["y"], ['strip_unused_nodes(type=float, shape="2")'])
    assert ops(found) == {"x": "Placeholder", "scale": "Placeholder", "y": "Mul"}
    by_name = {node.name: node for node in found.node}
    assert [dim.size for dim in by_name["x"].attr["shape"].shape.dim] == [2]
    assert not by_name["scale"].attr["shape"].shape.dim
    assert run(found, {"x:0": [1.0, 2.0], "scale:0": 3.0}).tolist() == [3.0, 6.0]


def test_each_placeholder_can_have_a_type_and_a_shape_of_its_own(graph):
    a = tf.negative(tf.placeholder(tf.int32), name="a")
    b = tf.negative(tf.placeholder(tf.float32), name="b")
    tf.add(tf.cast(a, tf.float32), b, name="y")
    first = 'name=a, type_for_name=int32, shape_for_name="2,-1"'
    text = f'strip_unused_nodes({first}, name=b, type_for_name=float, shape_for_name="")'
    with pytest.raises(tf.errors.InvalidArgumentError):
        TransformGraph(graph.as_graph_def(), ["a", "b"], ["y"], [text.replace("2,-1", "2;1")])
    found = TransformGraph(graph.as_graph_def(), ["a", "b"], ["y"], [text])
    with tf.Graph().as_default() as after:
        tf.import_graph_def(found, name="")
        a, b = after.get_tensor_by_name("a:0"), after.get_tensor_by_name("b:0")
    assert a.dtype is tf.int32 and a.shape.as_list() == [2, None] and b.shape.as_list() == []


def test_nodes_that_forward_a_value_are_removed(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    waited = tf.negative(x, name="waited")
    with tf.control_dependencies([waited]):
        forwarded = tf.identity(x, name="forwarded")
    checked = tf.check_numerics(tf.identity(forwarded), "", name="checked")
    with tf.control_dependencies([checked]):
        z = tf.exp(checked, name="z")
    tf.identity(z, name="y")
    found = transformed(graph, "remove_nodes(op=Identity, op=CheckNumerics)", values(2))
    assert ops(found) == {"x": "Placeholder", "waited": "Neg", "z": "Exp", "y": "Identity"}
    assert inputs(found, "z") == ["x", "^waited"]


def test_nodes_with_more_inputs_are_removed_on_request(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.exp(tf.reshape(x, [2]), name="y")
    assert "Reshape" in ops(transformed(graph, "remove_nodes(op=Reshape)", values(2))).values()
    found = transformed(graph, "remove_nodes(op=Reshape, max_inputs=2) strip_unused_nodes", values(2))
    assert ops(found) == {"x": "Placeholder", "y": "Exp"}


def test_branches_and_loops_keep_the_identities_that_others_wait_for(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    chosen = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x + tf.constant(1.0), lambda: x - tf.constant(2.0))
    looped = tf.while_loop(lambda i, z: i < 3, lambda i, z: (i + tf.constant(1), z * 2.0), [0, chosen])
    tf.identity(looped[1], name="y")
    for feed in (np.ones(2), -np.ones(2)):
        found = transformed(graph, "remove_nodes(op=Identity)", feed)
    assert 0 < list(ops(found).values()).count("Identity") < list(ops(graph.as_graph_def()).values()).count("Identity")


def test_control_dependencies_are_removed(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.control_dependencies([tf.negative(x)]):
        tf.exp(x, name="y")
    assert inputs(transformed(graph, "remove_control_dependencies", values(2)), "y") == ["x"]


def test_duplicates_are_merged_in_rounds(graph):
    x = tf.placeholder(tf.float32, [2], name="x")
    one = tf.exp(x + tf.constant([1.0, 2.0], name="a"), name="one")
    other = tf.exp(x + tf.constant([1.0, 2.0], name="b"), name="other")
    noise = [tf.random_uniform([2], seed=1) * 0.0 for _ in range(2)]
    tf.add_n([one, other, *noise], name="y")
    tf.placeholder(tf.float32, [2])
    found = transformed(graph, "merge_duplicate_nodes", values(2))
    kinds = list(ops(found).values())
    assert kinds.count("Exp") == 1 and inputs(found, "y")[:2] == ["one", "one"]
    assert kinds.count("RandomUniform") == 2 and kinds.count("Placeholder") == 2
