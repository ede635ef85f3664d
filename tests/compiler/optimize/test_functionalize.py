"""Functionalization: guards and loops as nodes instead of Switch, Merge and the nodes of frames."""

import pytest

import thalweg as tf
from tests.compiler.graphs import same, types
from thalweg._src.compiler.optimize.functionalize import functionalize
from thalweg._src.compiler.optimize.prune import prune


def inputs(*names):
    return [tf.placeholder(tf.bool if name in "pq" else tf.float32, [], name=name) for name in names]


def structured(feeds, fetches, targets=()):
    step = functionalize(prune(feeds, fetches, list(targets)))
    assert not step.is_unstructured
    return step


def value(fetch, feeds):
    with tf.Session() as session:
        return session.run(fetch, feeds)


def test_branches_get_guards_and_their_merge_a_choice():
    x, p = inputs("x", "p")
    y = tf.cond(p, lambda: tf.exp(x, name="e"), lambda: tf.negative(x, name="n"))
    expected = """
        _arg_x_0 = _Arg()
        _arg_p_0 = _Arg()
        cond/e = Exp(_arg_x_0) if _arg_p_0
        cond/n = Neg(_arg_x_0) if not _arg_p_0
        cond/Merge = _Choose(_arg_p_0, cond/n, cond/e)
        -> cond/Merge"""
    assert same(structured([x, p], [y]), expected)
    assert value(y, {x: 0.0, p: True}) == 1.0 and value(y, {x: 2.0, p: False}) == -2.0


def test_guards_of_nested_branches_are_conjunctions():
    x, p, q = inputs("x", "p", "q")
    y = tf.cond(
        p, lambda: tf.cond(q, lambda: tf.exp(x, name="e"), lambda: tf.sin(x, name="s")), lambda: tf.cos(x, name="c")
    )
    expected = """
        _arg_x_0 = _Arg()
        _arg_p_0 = _Arg()
        _arg_q_0 = _Arg()
        cond/cond/e = Exp(_arg_x_0) if _arg_p_0 and _arg_q_0
        cond/cond/s = Sin(_arg_x_0) if _arg_p_0 and not _arg_q_0
        cond/cond/Merge = _Choose(_arg_q_0, cond/cond/s, cond/cond/e) if _arg_p_0
        cond/c = Cos(_arg_x_0) if not _arg_p_0
        cond/Merge = _Choose(_arg_p_0, cond/c, cond/cond/Merge)
        -> cond/Merge"""
    assert same(structured([x, p, q], [y]), expected)


def test_a_condition_that_is_decided_chooses_nothing():
    x, p = inputs("x", "p")
    y = tf.cond(p, lambda: tf.cond(p, lambda: tf.exp(x, name="e"), lambda: tf.sin(x)), lambda: x)
    step = structured([x, p], [y])
    assert types(step).count("_Choose") == 1 and "Identity" in types(step)
    assert value(y, {x: 0.0, p: True}) == 1.0


def test_the_inputs_of_a_merge_may_be_in_any_order():
    x, p = inputs("x", "p")
    no, yes = tf.raw_ops.Switch(data=x, pred=p)
    y = tf.raw_ops.Merge(inputs=[tf.exp(yes, name="e"), tf.negative(no, name="n")], name="y")[0]
    expected = """
        _arg_x_0 = _Arg()
        _arg_p_0 = _Arg()
        e = Exp(_arg_x_0) if _arg_p_0
        n = Neg(_arg_x_0) if not _arg_p_0
        y = _Choose(_arg_p_0, n, e)
        -> y"""
    assert same(structured([x, p], [y]), expected)


def test_a_fetch_inside_of_a_branch_is_checked():
    x, p = inputs("x", "p")
    inside = []
    tf.cond(p, lambda: inside.append(tf.exp(x, name="e")) or inside[0], lambda: x)
    expected = """
        _arg_x_0 = _Arg()
        _arg_p_0 = _Arg()
        cond/e = Exp(_arg_x_0) if _arg_p_0
        cond/e = _Alive(_arg_p_0, cond/e)
        -> cond/e"""
    assert same(structured([x, p], inside), expected)
    with pytest.raises(tf.errors.InvalidArgumentError, match="branch"):
        value(inside[0], {x: 0.0, p: False})


def test_a_loop_becomes_a_node():
    (x,) = inputs("x")
    y = tf.while_loop(
        lambda i, v: tf.less(i, 3, name="test"),
        lambda i, v: (tf.add(i, 1, name="next"), tf.multiply(v, x, name="product")),
        [tf.constant(0, name="zero"), x],
        name="loop",
    )[1]
    expected = """
        _arg_x_0 = _Arg()
        zero = Const(0)
        loop/while_context = _While(zero, _arg_x_0, _arg_x_0)
          condition:
            loop/Merge = _Arg()
            loop/test/y = Const(3)
            loop/test = Less(loop/Merge, loop/test/y)
            -> loop/test
          body:
            loop/Merge = _Arg()
            loop/Merge_1 = _Arg()
            loop/Enter_2 = _Arg()
            loop/Identity = Identity(loop/Merge)
            loop/Identity_1 = Identity(loop/Merge_1)
            loop/next/y = Const(1)
            loop/next = AddV2(loop/Identity, loop/next/y)
            loop/product = Mul(loop/Identity_1, loop/Enter_2)
            -> loop/next, loop/product
        -> loop/while_context:1"""
    assert same(structured([x], [y]), expected)
    assert value(y, {x: 3.0}) == 81.0


def test_conditionals_in_loops_are_guarded_in_the_body():
    (x,) = inputs("x")
    y = tf.while_loop(lambda a: a < 10.0, lambda a: tf.cond(a > 3.0, lambda: a * 2.0, lambda: a + x), [x])
    (loop,) = [node for node in structured([x], [y]).nodes if node.type == "_While"]
    guards = {node.type: [side for _, side in node.guard] for node in loop.attrs["region"].body.nodes if node.guard}
    assert guards == {"Mul": [True], "AddV2": [False]}
    assert value(y, {x: 1.0}) == 16.0


def test_a_control_edge_out_of_a_loop_waits_for_the_whole_loop():
    (x,) = inputs("x")
    y = tf.while_loop(lambda a: a < 10.0, lambda a: a * 2.0, [x], name="loop")
    with tf.control_dependencies([y]):
        after = tf.exp(x, name="after")
    (node,) = [node for node in structured([x], [after]).nodes if node.name == "after"]
    assert [control.type for control in node.controls] == ["_While"]


def test_control_edges_that_only_bind_to_a_branch_go():
    x, p = inputs("x", "p")
    y = tf.cond(p, lambda: tf.constant(1.0, name="one") * 2.0, lambda: x)
    one = next(node for node in structured([x, p], [y]).nodes if node.name.endswith("one"))
    assert one.controls == [] and one.guard == ()


def test_a_merge_of_what_are_no_sides_of_one_predicate_is_left_to_the_token_engine():
    x, p = inputs("x", "p")
    _, yes = tf.raw_ops.Switch(data=x, pred=p)
    y = tf.raw_ops.Merge(inputs=[yes, tf.exp(x)])[0]
    step = functionalize(prune([x, p], [y], []))
    assert step.is_unstructured and types(step) == ["Exp", "Merge", "Switch", "_Arg", "_Arg"]


def test_the_number_of_the_arrived_input_is_left_to_the_token_engine():
    x, p = inputs("x", "p")
    index = tf.raw_ops.Merge(inputs=list(tf.raw_ops.Switch(data=x, pred=p)))[1]
    assert functionalize(prune([x, p], [index], [])).is_unstructured
    assert value(index, {x: 0.0, p: True}) == 1


def test_a_value_of_one_iteration_cannot_be_fetched():
    (x,) = inputs("x")
    inside = []
    tf.while_loop(lambda a: a < 10.0, lambda a: inside.append(a * 2.0) or inside[0], [x], name="loop")
    with pytest.raises(tf.errors.InvalidArgumentError, match="one value per iteration of the loop 'loop/"):
        functionalize(prune([x], inside, []))


def test_graphs_without_control_flow_stay():
    (x,) = inputs("x")
    step = prune([x], [tf.exp(x)], [])
    assert functionalize(step) is step
