"""Freezing of variables that branches, loops and functions read, and of resource variables."""

import numpy as np
import pytest

import thalweg as tf


def frozen_and_run(build, feeds):
    """Returns the frozen graph of what `build` returns, its values before, and its values after."""
    with tf.Graph().as_default(), tf.Session() as session:
        output = tf.identity(build(), name="output")
        session.run(tf.global_variables_initializer())
        before = [session.run(output, feed) for feed in feeds]
        original = session.graph.as_graph_def()
        graph_def = tf.graph_util.convert_variables_to_constants(session, original, ["output"])
        assert original == session.graph.as_graph_def(), "the argument was changed"
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        after = [session.run("output:0", feed) for feed in feeds]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    return graph_def


def ops(graph_def):
    return {node.op for node in graph_def.node}


CHOICES = [{"choice:0": True}, {"choice:0": False}]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_is_read_in_a_branch(use_resource):
    def build():
        w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=use_resource)
        choice = tf.placeholder(tf.bool, [], name="choice")
        return tf.cond(choice, lambda: tf.gather(w, [1]) * 2.0, lambda: w + 1.0)

    found = frozen_and_run(build, CHOICES)
    assert not {"VarHandleOp", "VariableV2", "ReadVariableOp", "ResourceGather", "RefSwitch"} & ops(found)
    assert not [n.name for n in found.node if n.attr["T"].type == tf.resource.as_datatype_enum]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_is_read_in_a_loop(use_resource):
    def build():
        w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=use_resource)
        return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * w), [0, tf.ones([2])])[1]

    assert not {"VarHandleOp", "VariableV2", "ReadVariableOp"} & ops(frozen_and_run(build, [{}]))


def test_rows_and_the_shape_of_a_resource_variable():
    def build():
        w = tf.get_variable("w", initializer=np.arange(12, dtype=np.float32).reshape(4, 3), use_resource=True)
        rows = tf.nn.embedding_lookup(w, [3, 0])
        shape = tf.raw_ops.VariableShape(input=w.handle)
        return tf.gather_nd(w, [[1, 2]]) + tf.reduce_sum(rows) + tf.cast(tf.reduce_sum(shape), tf.float32)

    assert {"GatherV2", "Shape"} <= ops(frozen_and_run(build, [{}]))


def test_a_variable_is_read_in_functions_that_call_others():
    def build():
        w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=True)

        @tf.function(autograph=False)
        def inner(x):
            return x * w + tf.gather(w, [0])

        @tf.function(autograph=False)
        def outer(x):
            return inner(x) - w

        return outer(tf.ones([2]))

    found = frozen_and_run(build, [{}])
    copies = [function for function in found.library.function if "_frozen_" in function.signature.name]
    assert len(copies) == 2 and "VarHandleOp" not in ops(found)
    assert not [node.op for function in copies for node in function.node_def if node.op == "ReadVariableOp"]


def test_a_variable_is_read_in_functional_branches_and_loops():
    def build():
        tf.enable_control_flow_v2()
        w = tf.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
        choice = tf.placeholder(tf.bool, [], name="choice")

        @tf.function(autograph=False)
        def compute(choice):
            start = tf.cond(choice, lambda: w + 1.0, lambda: w * 5.0)
            return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * w), [0, start])[1]

        return compute(choice)

    try:
        assert "VarHandleOp" not in ops(frozen_and_run(build, CHOICES))
    finally:
        tf.disable_control_flow_v2()


def test_of_two_variables_one_stays():
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = (tf.get_variable(name, initializer=1.0, use_resource=True) for name in "ab")
        tf.add(a, b, name="output")
        session.run(tf.global_variables_initializer())
        found = tf.graph_util.convert_variables_to_constants(
            session, session.graph_def, ["output"], variable_names_whitelist=["a"]
        )
    assert {n.name: n.op for n in found.node if n.name in "ab"} == {"a": "Const", "b": "VarHandleOp"}


def test_a_variable_that_only_a_function_reads_is_read_for_freezing():
    with tf.Graph().as_default(), tf.Session() as session:
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="w", name="w")

        @tf.function(autograph=False)
        def read(handle):
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) * 2.0

        tf.identity(read(handle), name="output")
        session.run(tf.raw_ops.AssignVariableOp(resource=handle, value=[1.0, 3.0]))
        found = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["output"])
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(found, name="")
        assert session.run("output:0").tolist() == [2.0, 6.0]
