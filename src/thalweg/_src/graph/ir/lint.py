"""Lint of the IR: what every pass may rely on, and must leave true."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg._src.base import errors
from thalweg._src.base.dtypes import DType
from thalweg._src.graph.ir.step_graph import Node, StepGraph
from thalweg._src.graph.op_def import ArgDef

# They take values of branches that may not run, and choose or fail by the predicates that they take as well.
_TAKES_UNTAKEN = ("_Choose", "_Alive")


def lint(step: StepGraph, after: str) -> None:
    """Raises InternalError if a step graph is invalid; `after` names the pass that made it so."""
    mistakes = list(problems(step))
    if mistakes:
        raise errors.InternalError(None, None, f"the pass {after!r} left an invalid graph: {'; '.join(mistakes[:5])}")


def problems(step: StepGraph) -> Iterator[str]:
    """Yields what is wrong with a step graph and the loops in it."""
    # What later passes take for granted and would fail on obscurely: order (one pass over `nodes` sees producers
    # first), closure (every predecessor is in the graph), arity and types (kernels check neither), and guards
    # (generated code assigns a value only in its branch).
    before: set[Node] = set()
    nodes = set(step.nodes)
    feeds = set(step.feeds)
    yield from (f"the feed {feed.name!r} is a {feed.type}" for feed in step.feeds if feed.type != "_Arg")
    for node in step.nodes:
        if node.type == "_Arg" and node not in feeds:
            yield f"the argument {node.name!r} is not fed"
        for producer in node.predecessors():
            if producer not in nodes:
                yield f"{node.name!r} depends on {producer.name!r}, which is not in the graph"
            elif producer not in before and not step.is_unstructured:
                yield f"{node.name!r} comes before {producer.name!r}, on which it depends"
        before.add(node)
        yield from _types(node)
        yield from _guards(node)
        if node.type == "_While":
            yield from _loop(node)
    yield from (f"the fetch {node.name!r} is not in the graph" for node, _ in step.fetches if node not in nodes)
    yield from (f"the target {node.name!r} is not in the graph" for node in step.targets if node not in nodes)


def _types(node: Node) -> Iterator[str]:
    """Yields inputs whose number or types the op does not take."""
    for producer, index in node.inputs:
        if not 0 <= index < len(producer.dtypes):
            yield f"{node.name!r} takes output {index} of {producer.name!r}, which has {len(producer.dtypes)}"
            return
    if len(node.shapes) != len(node.dtypes):
        yield f"{node.name!r} has {len(node.dtypes)} outputs and {len(node.shapes)} shapes"
    expected = [dtype for arg in node.definition.inputs for dtype in _expected(node, arg)]
    if node.type == "_While" or any(dtype is None for dtype in expected):
        return
    received = [node.input_dtype(i) for i in range(len(node.inputs))]
    if len(received) != len(expected) and not (node.type in ("_AsNumber", "_AsTensor") and not received):
        yield f"{node.name!r} ({node.type}) has {len(received)} inputs, expected {len(expected)}"
    for declared, got in zip(expected, received):
        if declared is not None and declared.base_dtype != got.base_dtype:
            yield f"{node.name!r} ({node.type}) takes {got.name}, expected {declared.name}"


def _expected(node: Node, arg: ArgDef) -> list[DType | None]:
    """Returns the types of an argument; None where an attribute that decides them is not there."""
    attrs = node.attrs
    if arg.type_list_attr is not None:
        return list(attrs.get(arg.type_list_attr, [None]))
    dtype = arg.dtype if arg.type_attr is None else attrs.get(arg.type_attr)
    if arg.number_attr is None:
        return [dtype]
    return [dtype] * attrs[arg.number_attr] if arg.number_attr in attrs else [None]


def _guards(node: Node) -> Iterator[str]:
    """Yields uses that a guard does not dominate: what a branch computes is used under the branch's predicate."""
    # A value exists only under its guard, so that a consumer must have all of its literals. `_Choose` and `_Alive` are
    # the two exceptions: they look at the predicate before they touch the value.
    guard = set(node.guard)
    for producer, _ in node.inputs if node.type not in _TAKES_UNTAKEN else ():
        if not guard.issuperset(producer.guard):
            yield f"{node.name!r} uses {producer.name!r} of a branch without being in it"


def _loop(loop: Node) -> Iterator[str]:
    region, count = loop.attrs["region"], len(loop.dtypes)
    if len(region.body.feeds) != len(loop.inputs) or len(region.condition.feeds) != len(loop.inputs):
        yield f"the loop {loop.name!r} has {len(loop.inputs)} inputs and {len(region.body.feeds)} arguments"
    if len(region.body.fetches) != count or len(region.condition.fetches) != 1:
        yield f"the loop {loop.name!r} carries {count} values, its body gives {len(region.body.fetches)}"
    for graph in region.graphs():
        yield from (f"in {loop.name!r}: {problem}" for problem in problems(graph))
