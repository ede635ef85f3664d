"""The table of passes: its lint, and what it shows."""

from __future__ import annotations

import pytest

import thalweg as tf
from thalweg._src.base import dtypes, errors
from thalweg._src.graph.ir.lint import lint, problems
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime import passes
from thalweg._src.runtime.passes import PASSES, Pass


def node(op_type: str, *inputs: Node, name: str = "", **attrs: object) -> Node:
    given = [Output(producer, 0) for producer in inputs]
    return Node(name or op_type, OPS.lookup(op_type), given, {"T": dtypes.float32, **attrs}, [dtypes.float32], [()])


def step_of(*nodes: Node, feeds: tuple[Node, ...] = ()) -> StepGraph:
    return StepGraph(list(nodes), list(feeds), [Output(nodes[-1], 0)])


def test_a_valid_graph_has_no_problems() -> None:
    x = node("_Arg", name="x")
    assert list(problems(step_of(x, node("Exp", x), feeds=(x,)))) == []


def test_every_problem_is_found() -> None:
    x = node("_Arg", name="x")
    exp = node("Exp", x)
    other = Node("i", OPS.lookup("_Arg"), [], {"T": dtypes.int32}, [dtypes.int32], [()])
    guarded = node("Exp", x, name="guarded")
    guarded.guard = ((Output(x, 0), True),)
    found = {
        "not fed": step_of(x, exp),
        "comes before": StepGraph([exp, x], [x], [Output(exp, 0)]),
        "not in the graph": StepGraph([exp], [], [Output(exp, 0)]),
        "1 inputs, expected 2": step_of(x, node("AddV2", x), feeds=(x,)),
        "takes int32, expected float32": step_of(other, node("Exp", other), feeds=(other,)),
        "without being in it": step_of(x, guarded, node("Exp", guarded, name="outside"), feeds=(x,)),
        "is a Exp": StepGraph([x, exp], [x, exp], [Output(exp, 0)]),
    }
    for words, step in found.items():
        assert any(words in problem for problem in problems(step)), (words, list(problems(step)))
    with pytest.raises(errors.InternalError, match="the pass 'cse' left an invalid graph: "):
        lint(found["not fed"], "cse")


def test_a_pass_that_breaks_the_graph_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def reverse(c: passes.Compilation) -> None:
        c.step.nodes.reverse()

    place = next(i for i, each in enumerate(PASSES) if each.name == "place")
    monkeypatch.setattr(passes, "PASSES", (*PASSES[:place], Pass("reverse", reverse), *PASSES[place:]))
    monkeypatch.delenv("THALWEG_LINT")
    x = tf.placeholder(tf.float32, [])
    y = tf.exp(x)
    config = tf.ConfigProto()
    config.experimental.lint_passes = True
    with tf.Session(config=config) as session, pytest.raises(errors.InternalError, match="the pass 'reverse'"):
        session.run(y, {x: 1.0})


def test_show_passes_shows_the_graph_after_each() -> None:
    x = tf.placeholder(tf.float32, [None], name="x")
    y = tf.add(x * 1.0, tf.constant(2.0) + 3.0, name="y")
    with tf.Session() as session:
        text = session.show_passes(y, [x])
    headings = [line for line in text.splitlines() if line.startswith("== ")]
    assert [line.removeprefix("== ").partition(":")[0] for line in headings] == [each.name for each in PASSES]
    assert "== prune: 7 nodes" in headings and "== order hints: no change" in headings
    folded = text.partition("== constant folding:")[2].partition("== ")[0]
    assert "add = Const() -> float32[]" in folded


def test_show_passes_shows_loops_and_disabled_passes() -> None:
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    i = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    with tf.Session(config=config) as session:
        text = session.show_passes(i)
    assert "== fusion: off at this opt_level" in text
    assert "    condition:\n" in text and "    body:\n" in text
