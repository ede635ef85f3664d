"""Facts about ops are declared on the ops: no other file keeps a list of op names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import thalweg as tf
from thalweg._src.graph.op_def import OPS, Facts, OpDef

ROOT = Path(__file__).parent.parent / "src" / "thalweg" / "_src"
# The files that define ops, and those where op names are data.
DEFINING = ("graph/ops", "graph/autodiff/rules", "runtime/kernels", "compat/gen_ops.py")
DATA = {
    "training/device_setter.py": "the op types that TensorFlow puts on parameter servers, which users may replace",
    "deploy/onnx_export/layout.py": "the operators of ONNX, of which some have the names of ops",
}
MOST = 3  # names that a rewrite may mention to say what it rewrites


def lists_of_op_names(tree: ast.AST) -> list[int]:
    """Returns the lines of sets, lists and tuples of many op names; a dictionary gives each op a meaning of its own."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.List | ast.Tuple):
            names = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            if sum(name in OPS for name in names) > MOST:
                found.append(node.lineno)
    return found


def test_no_other_file_lists_op_names() -> None:
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if not name.startswith(DEFINING) and name not in DATA:
            wrong += [f"{name}:{line}" for line in lists_of_op_names(ast.parse(path.read_text()))]
    assert not wrong, f"declare a fact on the op (graph/op_def.py, Facts) instead of a list of names: {wrong}"


def test_a_list_of_op_names_is_found() -> None:
    assert lists_of_op_names(ast.parse('A = {"Add", "Sub", "Mul", "Exp"}')) == [1]
    assert not lists_of_op_names(ast.parse('A = {"Add", "Sub"}; B = ("one", "two", "three", "four")'))


def test_facts_agree_with_each_other() -> None:
    assert not [f"{name}: {wrong}" for name in sorted(OPS) for wrong in contradictions(OPS.lookup(name))]


def contradictions(definition: OpDef) -> Iterator[str]:
    facts = definition.facts
    inputs = [arg.name for arg in definition.inputs]
    if facts.view and facts.view not in inputs:
        yield "a view is of one of the inputs"
    if facts.forwards and not inputs:
        yield "what is forwarded is an input"
    if (facts.reads or facts.writes) and not inputs:
        yield "a resource is an input"
    if (facts.random or facts.writes) and not facts.stateful:
        yield "what is random or writes is stateful"
    if facts.fails == "never" and facts.stateful:
        yield "what has state is not moved out of loops"
    if facts.traceable and facts.stateful and not (facts.reads or facts.writes):
        yield "of state, a compiled cluster holds variables alone"


def test_an_invalid_fact_is_rejected() -> None:
    with pytest.raises(ValueError, match='fails: expected "never"'):
        Facts(fails="sometimes")
    with pytest.raises(ValueError, match="forwards: expected"):
        Facts(forwards="twice")


def test_facts_are_declared_with_the_op(request: pytest.FixtureRequest) -> None:
    name = f"Facts{abs(hash(request.node.nodeid))}"
    made = tf.op(name, "x: float32 -> y: float32", traceable=True, fails="never")
    try:
        assert made.facts == Facts(traceable=True, fails="never") and made.facts.is_capturable
    finally:
        del OPS._entries[name]
