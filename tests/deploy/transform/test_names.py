"""Transforms of names, order, attributes and devices."""

import pytest

import thalweg as tf
from tests.deploy.transform.graphs import inputs, ops, transformed, values
from thalweg.tools.graph_transforms import TransformGraph


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.device("/cpu:0"):
            hidden = tf.exp(x, name="hidden")
        with tf.colocate_with(hidden.op), tf.control_dependencies([hidden]):
            split = tf.split(hidden, 2, name="split")
            late = tf.negative(x, name="late")
        tf.concat([*split, late], 0, name="y")
        yield graph


def test_nodes_are_renamed_where_they_are_used(graph):
    found = transformed(graph, "rename_node(old_node_name=hidden, new_node_name=deep/layer)", values(2))
    assert "hidden" not in ops(found) and inputs(found, "split")[1:] == ["deep/layer"]
    assert inputs(found, "late") == ["x", "^deep/layer"] and inputs(found, "y")[:2] == ["split", "split:1"]
    (split,) = (node for node in found.node if node.name == "split")
    assert list(split.attr["_class"].list.s) == [b"loc:@deep/layer"]


def test_names_are_obfuscated_but_those_of_inputs_and_outputs(graph):
    for index in range(60):
        tf.constant(index, name=f"long_name_{index}")
    found = transformed(graph, "obfuscate_names", values(2))
    names = set(ops(found))
    assert {"x", "y"} <= names and len(names) == len(graph.get_operations())
    assert all(len(name) <= 2 for name in names) and sorted(ops(found).values()) == sorted(
        op.type for op in graph.get_operations()
    )


def test_op_types_are_renamed(graph):
    found = TransformGraph(graph.as_graph_def(), ["x"], ["y"], ["rename_op(old_op_name=Exp, new_op_name=Neg)"])
    assert ops(found)["hidden"] == "Neg" and "Exp" not in ops(found).values()


def test_nodes_are_sorted_also_with_loops():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.identity(tf.while_loop(lambda z: tf.reduce_sum(z) < 100.0, lambda z: z + 10.0, [x]), name="y")
    shuffled = graph.as_graph_def()
    nodes = sorted(shuffled.node, key=lambda node: node.name, reverse=True)
    del shuffled.node[:]
    shuffled.node.extend(nodes)
    found = TransformGraph(shuffled, ["x"], ["y"], ["sort_by_execution_order"])
    place = {node.name: index for index, node in enumerate(found.node)}
    backward = [
        (source.op, node.op)
        for node in found.node
        for source in (found.node[place[text.lstrip("^").partition(":")[0]]] for text in node.input)
        if place[source.name] >= place[node.name]
    ]
    assert backward == [("NextIteration", "Merge")]


def test_a_cycle_cannot_be_sorted(graph):
    graph_def = graph.as_graph_def()
    next(node for node in graph_def.node if node.name == "hidden").input[0] = "split"
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"the graph has a cycle: .*hidden"):
        TransformGraph(graph_def, ["x"], ["y"], ["sort_by_execution_order"])


def test_devices_are_removed_and_set(graph):
    assert {node.device for node in graph.as_graph_def().node} == {"", "/device:CPU:0"}
    assert {node.device for node in transformed(graph, "remove_device", values(2)).node} == {""}
    found = transformed(graph, 'set_device(device="/job:localhost/device:CPU:0")', values(2))
    assert {node.device for node in found.node} == {"/job:localhost/device:CPU:0"}
    found = transformed(graph, 'set_device(device="/job:localhost", if_default=true)', values(2))
    assert {node.device for node in found.node} == {"/job:localhost", "/device:CPU:0"}


def test_attributes_are_removed_renamed_and_restored(graph):
    def attrs(graph_def, name="hidden"):
        return {key for node in graph_def.node if node.name == name for key in node.attr}

    before = graph.as_graph_def()
    without = TransformGraph(before, ["x"], ["y"], ["remove_attribute(attribute_name=T, op_name=Exp)"])
    assert attrs(without) == set() and "T" in attrs(without, "y")
    assert "T" not in attrs(TransformGraph(before, ["x"], ["y"], ["remove_attribute(attribute_name=T)"]), "y")
    text = "rename_attribute(old_attribute_name=T, new_attribute_name=U, op_name=Exp)"
    renamed = TransformGraph(before, ["x"], ["y"], [text])
    assert attrs(renamed) == {"U"} and "T" in attrs(renamed, "y")
    shapeless = TransformGraph(before, ["x"], ["y"], ["remove_attribute(attribute_name=shape)"])
    restored = transformed_def(shapeless)
    assert "shape" not in attrs(shapeless, "x") and "shape" in attrs(restored, "x")


def transformed_def(graph_def):
    return TransformGraph(graph_def, ["x"], ["y"], ["add_default_attributes"])
