"""Pruning: what a step needs, cut at the feeds."""

import thalweg as tf
from tests.compiler.graphs import same
from thalweg._src.compiler.optimize.prune import needed_feeds, prune


def chain():
    """Returns x, exp(x), and the cosine of that, which waits for a sine."""
    x = tf.placeholder(tf.float32, [], name="x")
    e = tf.exp(x, name="e")
    with tf.control_dependencies([tf.sin(e, name="s")]):
        c = tf.cos(e, name="c")
    tf.tan(e, name="unused")
    return x, e, c


def test_fetches_need_inputs_and_control_inputs():
    x, _, c = chain()
    expected = """
        _arg_x_0 = _Arg()
        e = Exp(_arg_x_0)
        s = Sin(e)
        c = Cos(e) after s
        -> c"""
    assert same(prune([x], [c], []), expected)


def test_what_is_before_a_feed_is_not_needed():
    _, e, c = chain()
    expected = """
        _arg_e_0 = _Arg()
        s = Sin(_arg_e_0)
        c = Cos(_arg_e_0) after s
        -> c"""
    assert same(prune([e], [c], []), expected)


def test_nothing_waits_for_an_operation_all_of_whose_outputs_are_fed():
    x, _, c = chain()
    s = tf.get_default_graph().get_tensor_by_name("s:0")
    step = prune([x, s], [c], [])
    assert [node.name for node in step.nodes] == ["_arg_x_0", "_arg_s_0", "e", "c"]
    assert step.nodes[-1].controls == []


def test_a_target_may_be_an_operation_whose_output_is_fed():
    x, e, _ = chain()
    assert [node.name for node in prune([x, e], [], [e.op]).nodes] == ["_arg_x_0", "_arg_e_0", "e"]


def test_only_members_are_waited_for():
    x, e, c = chain()
    assert [node.name for node in prune([x], [c], [], frozenset([e.op, c.op])).nodes] == ["_arg_x_0", "e", "c"]


def test_many_control_inputs_become_one_node_that_all_share():
    x = tf.placeholder(tf.float32, [], name="x")
    many = [tf.exp(x, name=f"e{i}") for i in range(9)]
    with tf.control_dependencies(many[:8]):
        few = tf.tan(x, name="few")
    with tf.control_dependencies(many):
        first, second = tf.sin(x, name="first"), tf.cos(x, name="second")
    nodes = {node.name: node for node in prune([x], [few, first, second], []).nodes}
    assert len(nodes["few"].controls) == 8
    (gate,) = nodes["first"].controls
    assert nodes["second"].controls == [gate] and gate.type == "NoOp"
    assert [control.name for control in gate.controls] == [tensor.op.name for tensor in many]


def test_the_graph_of_the_user_is_not_changed():
    x, _, c = chain()
    step = prune([x], [c], [])
    step.nodes[-1].inputs = []
    assert len(c.op.inputs) == 1


def test_needed_feeds_leave_out_what_is_done():
    x, e, c = chain()
    y = tf.placeholder(tf.float32, [], name="y")
    total = tf.add(c, y, name="total")
    assert needed_feeds([total], {x, y})[0] == {x, y}
    feeds, operations = needed_feeds([total], {x, y}, {c.op})
    assert feeds == {y} and operations == {total.op}
    assert needed_feeds([x, e], {x})[0] == {x}
