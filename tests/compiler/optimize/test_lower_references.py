"""Reference variables become handles: where each reader of a variable reads it."""

import numpy as np
import pytest

import thalweg as tf
from tests.compiler.graphs import same
from thalweg._src.compiler.optimize.functionalize import functionalize
from thalweg._src.compiler.optimize.lower_references import lower_references, order_latest_reads
from thalweg._src.compiler.optimize.prune import prune


def variable(value=1.0):
    return tf.Variable(value, name="v", use_resource=False)


def lowered(fetches, targets=(), feeds=()):
    step = prune(list(feeds), list(fetches), list(targets))
    lower_references(step)
    return step


def values(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def test_consumers_that_wait_for_no_update_share_one_read():
    v = variable()
    expected = """
        v = VarHandleOp()
        v/read = ReadVariableOp(v)
        a = Exp(v/read)
        b = Sin(v/read)
        -> a, b"""
    assert same(lowered([tf.exp(v, name="a"), tf.sin(v, name="b")]), expected)


def test_a_consumer_after_an_update_reads_again():
    v = variable()
    update = tf.assign_add(v, 2.0, name="update")
    before = tf.exp(v, name="before")
    with tf.control_dependencies([update]):
        later = tf.exp(v, name="later")
    expected = """
        v = VarHandleOp()
        v/read = ReadVariableOp(v)
        update/value = Const(2.0)
        update = AssignAddVariableOp(v, update/value)
        before = Exp(v/read)
        later/_value_of/v = ReadVariableOp(v) after update
        later = Exp(later/_value_of/v) after update
        -> before, later"""
    assert same(lowered([before, later]), expected)
    np.testing.assert_allclose(values([before, later]), np.exp([1.0, 3.0]), rtol=1e-6)


def test_the_result_of_an_update_is_a_read_after_it():
    update = tf.assign_add(variable(), 2.0, name="update")
    expected = """
        v = VarHandleOp()
        update/value = Const(2.0)
        update = AssignAddVariableOp(v, update/value)
        update/_value_of/v = ReadVariableOp(v) after update
        e = Exp(update/_value_of/v)
        -> update/_value_of/v, e"""
    assert same(lowered([update, tf.exp(update, name="e")]), expected)


def test_a_fetched_variable_is_read_after_all_updates():
    v = variable()
    update = tf.assign_add(v, 2.0, name="update")
    step = functionalize(lowered([v.op.outputs[0]], [update.op]))
    order_latest_reads(step)
    expected = """
        v = VarHandleOp()
        update/value = Const(2.0)
        update = AssignAddVariableOp(v, update/value)
        v/_fetched = ReadVariableOp(v) after update
        -> v/_fetched, update"""
    assert same(step, expected)
    assert values([v, update.op])[0] == 3.0


def test_a_chain_of_updates_is_ordered():
    first = tf.assign(variable(), 2.0, name="first")
    second = tf.assign_add(first, 5.0, name="second")
    nodes = {node.name: node for node in lowered([second]).nodes}
    assert nodes["second"].controls == [nodes["first"]]
    assert nodes["second"].inputs[0] == nodes["first"].inputs[0]
    assert values(second) == 7.0


def test_rows_are_gathered_from_the_variable_if_the_step_updates_it():
    v = variable(np.zeros((4, 2), np.float32))
    row = tf.gather(v, [1], name="row")
    update = tf.scatter_update(v, [0], [[1.0, 1.0]], name="update")
    assert "ResourceGather" in [node.type for node in lowered([row], [update.op]).nodes]
    assert "ResourceGather" not in [node.type for node in lowered([row]).nodes]


def test_an_update_of_a_fed_variable_is_an_error():
    v = variable()
    update = tf.assign(v, 2.0, name="update")
    with pytest.raises(tf.errors.InvalidArgumentError, match="'update' updates 'v:0', for which a value is fed"):
        lowered([], [update.op], [v.op.outputs[0]])


def test_a_switch_passes_the_handle_on():
    v, p = variable(), tf.placeholder(tf.bool, [], name="p")
    y = tf.cond(p, lambda: tf.assign_add(v, 1.0), lambda: tf.identity(v))
    step = lowered([y], feeds=[p])
    switches = [node for node in step.nodes if node.type == "Switch" and node.dtypes[0] is tf.resource]
    assert switches and all(node.inputs[0].node.type == "VarHandleOp" for node in switches)
    assert not any(dtype._is_ref_dtype for node in step.nodes for dtype in node.dtypes)


def test_resource_variables_stay():
    v = tf.get_variable("v", [], use_resource=True)
    step = prune([], [tf.exp(v)], [])
    nodes = list(step.nodes)
    lower_references(step)
    assert step.nodes == nodes
