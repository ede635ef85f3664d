"""tf.graph_util: extracting, freezing and simplifying GraphDefs."""

import numpy as np
import pytest

import thalweg as tf

util = tf.graph_util


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def ops(graph_def):
    return {node.name: node.op for node in graph_def.node}


def test_extract_keeps_what_the_destinations_need(graph):
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    with tf.control_dependencies([b]):
        tf.negative(a, name="c")
    tf.add(a, b, name="d")
    found = util.extract_sub_graph(graph.as_graph_def(), ["c"])
    assert set(ops(found)) == {"a", "b", "c"}
    assert found.versions == graph.as_graph_def().versions
    with pytest.raises(AssertionError, match="none is not in graph"):
        util.extract_sub_graph(graph.as_graph_def(), ["none"])
    with pytest.raises(TypeError):
        util.extract_sub_graph(graph.as_graph_def(), "c")
    with pytest.raises(TypeError):
        util.extract_sub_graph(graph, ["c"])


def test_frozen_graphs_compute_the_same(graph):
    w = tf.get_variable("w", [3, 2])
    v = tf.get_variable("v", [4])
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.matmul(x, w, name="y")
    rows = tf.nn.embedding_lookup(w, [2, 0], name="rows")
    tf.identity(v, name="unused")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        names = ["y", rows.op.name]
        frozen = util.convert_variables_to_constants(session, session.graph_def, names)
        expected = session.run([y, rows], {x: np.ones([2, 3])})
        partly = util.convert_variables_to_constants(session, session.graph_def, names, variable_names_blacklist=["w"])
        none = util.convert_variables_to_constants(session, session.graph_def, names, variable_names_whitelist=[])
    assert ops(frozen)["w"] == "Const" and "v" not in ops(frozen)
    assert not {"VarHandleOp", "ReadVariableOp", "ResourceGather"} & set(ops(frozen).values())
    assert ops(partly)["w"] == ops(none)["w"] == "VariableV2"
    thin = util.remove_training_nodes(frozen, protected_nodes=names)
    assert len(thin.node) < len(frozen.node)
    for graph_def in (frozen, thin):
        with tf.Graph().as_default(), tf.Session() as session:
            elements = util.import_graph_def(graph_def, return_elements=["x:0", "y:0", rows.name], name="")
            values = session.run(elements[1:], {elements[0]: np.ones([2, 3])})
        for value, wanted in zip(values, expected):
            np.testing.assert_array_equal(value, wanted)


def test_training_nodes_are_removed_unless_others_wait_for_them(graph):
    a = tf.constant([1.0], name="a")
    b = tf.check_numerics(tf.identity(a, name="passed"), "bad", name="checked")
    waited = tf.identity(b, name="waited")
    with tf.control_dependencies([waited]):
        tf.negative(b, name="c")
    thin = util.remove_training_nodes(graph.as_graph_def())
    assert ops(thin) == {"a": "Const", "waited": "Identity", "c": "Neg"}
    (c,) = [node for node in thin.node if node.name == "c"]
    assert list(c.input) == ["a", "^waited"]


def test_must_run_on_cpu_and_shapes(graph):
    text, number, floats = tf.constant("a"), tf.constant(1), tf.constant(1.0, name="floats")
    v = tf.get_variable("v", [4])
    assert util.must_run_on_cpu(text.op) and util.must_run_on_cpu(number.op.node_def)
    assert not util.must_run_on_cpu(floats.op) and not util.must_run_on_cpu(v.op)
    assert util.must_run_on_cpu(v.op, pin_variables_on_cpu=True)
    assert util.tensor_shape_from_node_def_name(graph, "floats").as_list() == []
