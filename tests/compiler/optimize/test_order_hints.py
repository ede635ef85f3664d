"""Order hints become control edges where both operations run."""

import thalweg as tf
from tests.compiler.graphs import same
from thalweg._src.compiler.optimize.build import step_graph
from thalweg._src.compiler.optimize.order_hints import apply_order_hints, is_hinted
from thalweg._src.graph.order_hints import after


def hinted(feeds, fetches):
    step = step_graph(feeds, fetches, [])
    apply_order_hints(step)
    return step


def pair():
    x = tf.placeholder(tf.float32, [], name="x")
    late = tf.exp(x, name="late")
    early = tf.sin(x, name="early")
    after(early, late)
    return x, early, late


def test_a_hint_is_an_edge_if_both_operations_run():
    x, early, late = pair()
    expected = """
        _arg_x_0 = _Arg()
        early = Sin(_arg_x_0)
        late = Exp(_arg_x_0) after early
        -> late, early"""
    step = hinted([x], [late, early])
    assert same(step, expected)
    nodes = {node.name: node for node in step.nodes}
    assert is_hinted(nodes["late"], nodes["early"]) and not is_hinted(nodes["early"], nodes["late"])


def test_a_hint_adds_no_operation_to_a_step():
    x, _, late = pair()
    assert same(hinted([x], [late]), "_arg_x_0 = _Arg()\nlate = Exp(_arg_x_0)\n-> late")
