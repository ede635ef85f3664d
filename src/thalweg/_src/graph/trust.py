"""Trust in graphs from outside: which nodes of a GraphDef reach files or Python, and which of them are refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.graph.graph_def_checks import parse_input, read_attr, shown
from thalweg._src.graph.op_def import EXTERNAL, OPS
from thalweg._src.graph.walk import reachable

IMPORTED = "imported:"  # prefix of the tokens of Python objects in graphs that are not trusted, which none has
_SHOWN = 8


class RefusedOpsError(ValueError):
    """A graph contains operations that reach outside of it; `refused` lists them as (node, op type)."""

    def __init__(self, refused: list[tuple[str, str, str]]) -> None:
        self.refused = [(name, op_type) for name, op_type, _ in refused]
        lines = [f"{op_type} {shown(name)} {reach}" for name, op_type, reach in refused[:_SHOWN]]
        more = [f"and {len(refused) - _SHOWN} more"] if len(refused) > _SHOWN else []
        super().__init__(
            "the graph contains operations that are refused, since it is not trusted:\n  "
            + "\n  ".join([*lines, *more])
            + "\n  hint: pass trusted=True if you know where the graph comes from"
        )


def refuse(graph_def: GraphDef, reaches: Collection[str] = EXTERNAL, allowed: Collection[str] = ()) -> None:
    """Raises RefusedOpsError if nodes, or bodies of functions, have such a reach, other than the allowed nodes."""
    refused = [entry for entry in external_nodes(graph_def) if entry[2] in reaches and entry[0] not in allowed]
    if refused:
        raise RefusedOpsError(refused)


def external_nodes(graph_def: GraphDef) -> Iterator[tuple[str, str, str]]:
    """Yields name, op type and reach of the nodes that reach outside of the graph."""
    for node in graph_def.node:
        reach = _reach(node)
        if reach:
            yield node.name, node.op, reach
    for function in graph_def.library.function:
        for node in function.node_def:
            reach = _reach(node)
            if reach:
                yield f"{function.signature.name}/{node.name}", node.op, reach


def _reach(node: NodeDef) -> str:
    # An op without an implementation here cannot reach anything: it has no kernel.
    if node.op not in OPS:
        return ""
    facts = OPS.lookup(node.op).facts
    if isinstance(facts.external, str):
        return facts.external
    return facts.reach({key: read_attr(message) for key, message in node.attr.items()})


def ancestors(graph_def: GraphDef, roots: Iterable[str]) -> set[str]:
    """Returns the names of the nodes that some nodes, given as "name" or "name:0", depend on, themselves included.

    Nodes of functions that these call are among them, as "function/node".
    """
    # Control inputs count as well: they run. What a node calls is found by name, among them functions that are
    # themselves used as ops and the gradient functions that the library assigns.
    nodes = {node.name: node for node in graph_def.node}
    reached: set[str] = set()
    stack = list(roots)
    while stack:
        parsed = parse_input(stack.pop())
        if parsed is not None and parsed[0] in nodes and parsed[0] not in reached:
            reached.add(parsed[0])
            stack += nodes[parsed[0]].input
    return reached | _called(graph_def, [nodes[name] for name in reached])


def _called(graph_def: GraphDef, nodes: Iterable[Any]) -> set[str]:
    """Returns the nodes of the functions that some nodes call, and of those that these call, as "function/node"."""
    library = {function.signature.name: function for function in graph_def.library.function}
    gradients = {gradient.function_name: gradient.gradient_func for gradient in graph_def.library.gradient}

    def called(name: str) -> Iterator[str]:
        for node in library[name].node_def if name in library else ():
            yield from _callees(node)
        yield gradients.get(name, "")

    functions = reachable((name for node in nodes for name in _callees(node)), called) & library.keys()
    return {f"{name}/{node.name}" for name in functions for node in library[name].node_def}


def _callees(node: NodeDef) -> Iterator[str]:
    yield node.op
    for message in node.attr.values():
        if message.HasField("func"):
            yield message.func.name
        yield from (function.name for function in message.list.func)
