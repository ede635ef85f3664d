"""Step graphs as text, and values with and without rewrites: what the tests of rewrites compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import thalweg as tf
from thalweg._src.graph.ir.step_graph import Node, Output, StepGraph
from thalweg._src.graph.op_def import OPS

_FEW = 4  # numbers of a constant that are shown
PLAIN = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=-1)))


def node(name: str, op_type: str, *inputs: Node | Output, **attrs: Any) -> Node:
    """Returns a node with one float32 output of unknown shape."""
    outputs = [producer if isinstance(producer, Output) else Output(producer, 0) for producer in inputs]
    return Node(name, OPS.lookup(op_type), outputs, {"T": tf.float32, **attrs}, [tf.float32], [None])


def text(step: StepGraph) -> str:
    """Returns a step graph as text: one line per node, then what it returns.

    a = Exp(x:1) after b if p    the node a takes the output 1 of x, waits for b, and runs if p holds
    """
    return "\n".join(_lines(step))


def same(step: StepGraph, expected: str, in_order: bool = True) -> bool:
    """Returns whether a step graph has a form as text, whatever its indentation; prints the graph if it has not.

    in_order: whether the nodes are in the order of the text; nodes that a pass gives one place may come in any order
    """
    lines = [line.strip() for line in expected.strip().splitlines()]
    received = [line.strip() for line in _lines(step)]
    is_same = lines == received if in_order else sorted(lines) == sorted(received)
    if not is_same:
        print(text(step))
    return is_same


def same_values(fetches: Sequence[Any], feeds: dict[Any, Any] | None = None, tolerance: float = 0.0) -> list[Any]:
    """Runs a step with all optimizations and without, from the same variables, and returns the values if they agree."""
    results: list[Any] = []
    state: list[Any] = []
    for config in (tf.ConfigProto(), PLAIN):
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            state = state or session.run(tf.global_variables())
            for variable, value in zip(tf.global_variables(), state):
                variable.load(value, session)
            results.append(session.run(list(fetches), feeds))
    for optimized, plain in zip(*results, strict=True):
        if optimized is None:  # of an operation
            continue
        np.testing.assert_allclose(optimized, plain, rtol=tolerance, atol=tolerance)
    return list(results[0])


def types(step: StepGraph) -> list[str]:
    return sorted(node.type for node in step.everything())


def _lines(step: StepGraph, indent: str = "") -> Iterator[str]:
    for node in step.nodes:
        value = node.attrs["value"].tolist() if node.type == "Const" and node.attrs["value"].size <= _FEW else ""
        line = f"{indent}{node.name} = {node.type}({', '.join(map(_name, node.inputs))}{value})"
        if node.controls:
            line += f" after {', '.join(control.name for control in node.controls)}"
        if node.guard:
            line += f" if {' and '.join(('' if side else 'not ') + _name(literal) for literal, side in node.guard)}"
        yield line
        if node.type == "_While":
            for name, graph in zip(("condition", "body"), node.attrs["region"].graphs()):
                yield f"{indent}  {name}:"
                yield from _lines(graph, f"{indent}    ")
    yield f"{indent}-> {', '.join([*map(_name, step.fetches), *(target.name for target in step.targets)])}"


def _name(output: Output) -> str:
    return f"{output.node.name}:{output.index}" if output.index else output.node.name
