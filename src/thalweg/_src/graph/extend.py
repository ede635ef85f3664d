"""Extension of a graph by a GraphDef whose nodes keep their names and may refer to nodes that are there already."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from thalweg._src.base.formats.message_types import GraphDef
from thalweg._src.graph.default_stacks import default_graph_scope
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graph_def_checks import parse_input, shown
from thalweg._src.graph.import_graph_def import import_graph_def
from thalweg._src.graph.trust import refuse


def extend_graph(graph: Graph, graph_def: GraphDef, refused: Collection[str]) -> None:
    """Adds the nodes of a GraphDef from another process.

    refused: what none of them may reach outside of the graph
    """
    refuse(graph_def, refused)
    names = {node.name for node in graph_def.node}
    by_name = graph._by_name
    for name in names:
        if name in by_name:
            raise ValueError(f"the graph already has a node {shown(name)}")
    # Nodes that exist enter the import as its input map: to the importer the GraphDef is complete in itself, and names
    # that are neither in it nor in the graph are errors as always.
    outside: dict[str, Any] = {}
    for node in graph_def.node:
        for text in node.input:
            parsed = parse_input(text)
            if parsed is not None and parsed[0] not in names and parsed[0] in by_name:
                operation = by_name[parsed[0]]
                outside[text] = operation if text.startswith("^") else operation.outputs[parsed[1]]
    with default_graph_scope(graph):
        import_graph_def(graph_def, input_map=outside, name="")
    for name in names:
        by_name[name].stack = ()  # the lines that made them are in the other process
