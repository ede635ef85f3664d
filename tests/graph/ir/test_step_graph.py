"""The step graph: outputs, order, and the replacement of nodes."""

import pytest

import thalweg as tf
from tests.compiler.graphs import node, same
from thalweg._src.graph.ir.rewrite import Rewrite
from thalweg._src.graph.ir.step_graph import (
    Output,
    StepGraph,
    ancestors,
    blocking_ancestors,
    descendants,
    topological,
)


def chain(*types):
    """Returns an argument and nodes that each take the one before."""
    nodes = [node("x", "_Arg")]
    for number, op_type in enumerate(types):
        nodes.append(node(f"{op_type.lower()}{number}", op_type, nodes[-1]))
    for order, member in enumerate(nodes):
        member.order = order
    return nodes


def test_an_output_has_a_node_an_index_a_type_and_a_shape():
    x = node("x", "_Arg")
    x.dtypes, x.shapes = [tf.float32, tf.int32], [(2, 3), None]
    output = Output(x, 1)
    assert (output.node, output.index, output.dtype, output.shape) == (x, 1, tf.int32, None)
    assert output == Output(x, 1) != Output(x, 0) and Output(x, 0).shape == (2, 3)


def test_nodes_are_sorted_after_what_they_depend_on_and_otherwise_in_program_order():
    x, a, b, c = chain("Exp", "Sin", "Cos")
    assert topological([c, b, a, x]) == [x, a, b, c]
    early = node("early", "Tan", c)
    early.order = -1
    assert topological([early, x, a, b, c]) == [x, a, b, c, early]
    free = node("free", "Neg", x)
    free.order = 1.5
    assert topological([c, free, b, a, x]) == [x, a, free, b, c]


def test_controls_and_guards_order_nodes_too():
    x, a, b = chain("Exp", "Sin")
    first, second = node("first", "Cos", x), node("second", "Tan", x)
    first.order, second.order = -2, -1
    first.controls, second.guard = [a], ((Output(b, 0), True),)
    assert topological([first, second, x, a, b]) == [x, a, first, b, second]


def test_a_cycle_is_an_error_that_names_nodes():
    x, a, b = chain("Exp", "Sin")
    a.controls = [b]
    with pytest.raises(ValueError, match="a cycle through exp0, sin1"):
        topological([x, a, b])


def test_ancestors_and_descendants():
    x, a, b, c = chain("Exp", "Sin", "Cos")
    step = StepGraph([x, a, b, c], [x], [Output(c, 0)])
    assert ancestors([b]) == {x, a, b}
    assert descendants([a], step.consumers()) == {b, c}
    assert descendants([c], step.consumers()) == set()


def test_a_rewrite_replaces_inputs_controls_guards_fetches_and_targets():
    x, old, user = chain("Exp", "Sin")
    waiting, guarded = node("waiting", "Cos", x), node("guarded", "Tan", x)
    waiting.order, guarded.order = 3, 4
    waiting.controls, guarded.guard = [old], ((Output(old, 0), False),)
    step = StepGraph([x, old, user, waiting, guarded], [x], [Output(old, 0), Output(user, 0)], [waiting, guarded, old])
    rewrite = Rewrite(step)
    rewrite.replace(old, old.like("Neg", [Output(x, 0)], old.attrs, name="new"))
    rewrite.apply()
    expected = """
        x = _Arg()
        new = Neg(x)
        sin1 = Sin(new)
        waiting = Cos(x) after new
        guarded = Tan(x) if not new
        -> new, sin1, waiting, guarded, new"""
    assert same(step, expected)


def test_a_replacement_may_be_replaced():
    x, first, second = chain("Exp", "Sin")
    step = StepGraph([x, first, second], [x], [Output(second, 0)])
    rewrite = Rewrite(step)
    rewrite.replace(second, first)
    rewrite.replace(first, first.like("Neg", [Output(x, 0)], first.attrs, name="new"))
    rewrite.apply()
    assert [member.name for member in step.nodes] == ["x", "new"]


def test_outputs_that_a_replacement_does_not_have_stay_with_the_node():
    x = node("x", "_Arg")
    pair = node("pair", "Unpack", x)
    pair.dtypes, pair.shapes = [tf.float32] * 2, [None] * 2
    step = StepGraph([x, pair], [x], [Output(pair, 0), Output(pair, 1)])
    rewrite = Rewrite(step)
    rewrite.replace(pair, node("one", "Neg", x))
    rewrite.apply()
    assert [(output.node.name, output.index) for output in step.fetches] == [("one", 0), ("pair", 1)]


def test_without_replacements_nothing_is_sorted_again():
    x, a = chain("Exp")
    step = StepGraph([a, x], [x], [Output(a, 0)])
    Rewrite(step).apply()
    assert step.nodes == [a, x]


def test_blocking_ancestors_are_bits_of_the_nodes_that_wait():
    first, second = node("first", "_Recv"), node("second", "_Recv")
    both = node("both", "AddV2", first, second)
    second.controls = [first]
    ancestors_of = blocking_ancestors(StepGraph([first, second, both], [], [Output(both, 0)]))
    assert ancestors_of == {first: 0, second: 0b01, both: 0b11}
