"""Transforms that change names and order of nodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from string import ascii_letters

from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.deploy.transform.nodes import edited, renamed_inputs, with_nodes
from thalweg._src.deploy.transform.registry import Context, transform
from thalweg._src.runtime.session.freezing import source_of


@transform("rename_op", "old_op_name", "new_op_name")
def rename_op(graph_def: GraphDef, context: Context) -> GraphDef:
    """Changes the type of operations."""
    old, new = context.one("old_op_name"), context.one("new_op_name")

    def edit(node: NodeDef) -> None:
        node.op = new if node.op == old else node.op

    return edited(graph_def, edit)


@transform("rename_node", "old_node_name", "new_node_name")
def rename_node(graph_def: GraphDef, context: Context) -> GraphDef:
    """Changes the name of a node, also where it is used."""
    old, new = context.one("old_node_name"), context.one("new_node_name")
    names = {node.name for node in graph_def.node}
    if old not in names:
        raise ValueError(f"old_node_name: the graph has no node {old!r}")
    if new in names:
        raise ValueError(f"new_node_name: the graph has a node {new!r} already; choose another name")
    return _renamed(graph_def, {old: new})


@transform("obfuscate_names")
def obfuscate_names(graph_def: GraphDef, context: Context) -> GraphDef:
    """Gives all nodes but inputs and outputs short names without meaning."""
    fixed = context.fixed_names
    unused = (name for name in _short_names() if name not in fixed)
    return _renamed(graph_def, {node.name: next(unused) for node in graph_def.node if node.name not in fixed})


def _short_names() -> Iterator[str]:
    for length in itertools.count(1):
        yield from map("".join, itertools.product(ascii_letters, repeat=length))


def _renamed(graph_def: GraphDef, names: dict[str, str]) -> GraphDef:
    def edit(node: NodeDef) -> None:
        node.name = names.get(node.name, node.name)

    return edited(renamed_inputs(graph_def, names), edit)


@transform("sort_by_execution_order")
def sort_by_execution_order(graph_def: GraphDef, context: Context) -> GraphDef:
    """Puts each node after its inputs, apart from the back edges of loops."""
    nodes = {node.name: node for node in graph_def.node}
    order: TopologicalSorter[str] = TopologicalSorter()
    for node in graph_def.node:
        sources = [source_of(text) for text in node.input]
        if node.op == "Merge":
            sources = [name for name in sources if name not in nodes or nodes[name].op != "NextIteration"]
        order.add(node.name, *(name for name in sources if name in nodes))
    try:
        return with_nodes(graph_def, [nodes[name] for name in order.static_order()])
    except CycleError as error:
        raise ValueError(f"the graph has a cycle: {' -> '.join(error.args[1])}") from None
