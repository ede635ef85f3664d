"""Patterns of nodes, and the uses of their values."""

from tests.compiler.graphs import node
from thalweg._src.compiler.optimize.match import ANY, Pattern, Uses, match, matches
from thalweg._src.graph.ir.step_graph import Output, StepGraph


def graph():
    """Returns y = relu(a @ b + c), and its nodes."""
    a, b, c = (node(name, "_Arg") for name in "abc")
    product = node("product", "MatMul", a, b)
    biased = node("biased", "BiasAdd", product, c)
    y = node("y", "Relu", biased)
    nodes = [a, b, c, product, biased, y]
    for order, member in enumerate(nodes):
        member.order = order
    return StepGraph(nodes, [a, b, c], [Output(y, 0)]), nodes


def test_a_match_has_the_nodes_in_the_order_of_the_pattern():
    step, (_, _, _, product, biased, y) = graph()
    pattern = Pattern("Relu", Pattern("Add|BiasAdd", Pattern("MatMul|Conv2D")))
    assert match(y, pattern) == (y, biased, product)
    assert list(matches(step, pattern)) == [(y, biased, product)]


def test_any_matches_every_input():
    _, (_, _, c, _, biased, _) = graph()
    assert match(biased, Pattern("BiasAdd", ANY, Pattern("_Arg"))) == (biased, c)


def test_other_types_and_fewer_inputs_do_not_match():
    step, (*_, biased, y) = graph()
    assert match(biased, Pattern("BiasAdd", Pattern("Conv2D"))) is None
    assert match(y, Pattern("Relu", ANY, ANY)) is None
    assert not list(matches(step, Pattern("Exp")))


def test_only_a_consumer_that_is_alone_uses_a_node():
    step, (_, _, _, product, biased, y) = graph()
    assert Uses(step).only(product, biased) and not Uses(step).only(product, y)
    y.controls = [product]
    assert not Uses(step).only(product, biased)
    y.controls = []
    step.fetches.append(Output(product, 0))
    assert not Uses(step).only(product, biased)


def test_an_output_is_used_if_it_is_consumed_or_fetched():
    step, (_, _, _, product, _, y) = graph()
    uses = Uses(step)
    assert uses.has(Output(product, 0)) and uses.has(Output(y, 0)) and not uses.has(Output(product, 1))
