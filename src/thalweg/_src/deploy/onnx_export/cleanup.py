"""Cleanup of a written graph: nodes that change nothing, that nothing needs, or that undo each other."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg._src.base import dtypes
from thalweg._src.deploy.onnx_export.graph_writer import GraphWriter, OnnxNode
from thalweg._src.deploy.onnx_export.types import number_of


def clean(w: GraphWriter) -> None:
    """Removes identities, pairs of casts, repeated nodes and dead nodes, in all graphs of a model."""
    _forward(w, {}, {}, {})
    _name_outputs(w)
    remove_dead(w)


def _forward(w: GraphWriter, same: dict[str, str], casts: dict[str, tuple[str, int]], seen: dict[object, str]) -> None:
    """Lets consumers take the input of an identity, and the source of two casts if the first loses nothing.

    same: what replaces a value; casts: the source and the type of a cast; seen: nodes that may be shared
    """
    same, casts, seen = dict(same), dict(casts), dict(seen)
    sizes = {name for node in w.nodes if node.type in ("Shape", "Size") for name in node.outputs}
    outputs = set(w.outputs)
    nodes = []
    for node in w.nodes:
        node.inputs = [same.get(name, name) for name in node.inputs]
        for graph in node.subgraphs():
            _forward(graph, same, casts, seen)
        result = node.outputs[0] if node.outputs else ""
        if result not in outputs and node.type == "Identity":
            same[result] = node.inputs[0]
            continue
        if result not in outputs and node.type == "Cast":
            source, to = node.inputs[0], node.attrs["to"]
            first = casts.get(source)
            if first is not None and _is_index(to) and (first[1] == number_of(dtypes.int64) or first[0] in sizes):
                node.inputs[0] = source = first[0]
            kind = w.model.types.get(source)
            if kind is not None and not kind.is_sequence and number_of(kind.dtype) == to:
                same[result] = source
                continue
            casts[result] = (source, to)
        key = _key(node)
        if key is not None and result not in outputs:
            if key in seen:
                same[result] = seen[key]
                continue
            seen[key] = result
        nodes.append(node)
    w.nodes = nodes


def _is_index(number: int) -> bool:
    return number in (number_of(dtypes.int32), number_of(dtypes.int64))


def _key(node: OnnxNode) -> object:
    """Returns what nodes with equal outputs have in common; None for those with graphs, or several outputs."""
    if len(node.outputs) != 1 or node.type.startswith("Random") or any(True for _ in node.subgraphs()):
        return None
    return node.type, tuple(node.inputs), repr(sorted(node.attrs.items()))


def _name_outputs(w: GraphWriter) -> None:
    """Lets the node that computes an output of the model have it under its name, instead of an identity."""
    producers = {name: node for node in w.nodes for name in node.outputs}
    renamed: dict[str, str] = {}
    nodes = []
    for node in w.nodes:
        source = node.inputs[0] if node.inputs else ""
        if (
            node.type == "Identity"
            and node.outputs[0] in w.outputs
            and source in producers
            and source not in renamed
            and source not in w.outputs
        ):
            renamed[source] = node.outputs[0]
        else:
            nodes.append(node)
    w.nodes = nodes
    for node in w.everything():
        node.inputs = [renamed.get(name, name) for name in node.inputs]
        node.outputs = [renamed.get(name, name) for name in node.outputs]
        for graph in node.subgraphs():
            graph.outputs = [renamed.get(name, name) for name in graph.outputs]


def remove_dead(w: GraphWriter) -> None:
    """Removes nodes whose outputs nothing needs."""
    needed = set(w.outputs)
    needed_nodes = []
    for node in reversed(w.nodes):
        if needed.intersection(node.outputs):
            for graph in node.subgraphs():
                remove_dead(graph)
            needed.update(node.inputs, *(_captured(graph) for graph in node.subgraphs()))
            needed_nodes.append(node)
    w.nodes = needed_nodes[::-1]


def _captured(w: GraphWriter) -> Iterator[str]:
    """Yields the names that a graph takes, of itself and of the graphs around it."""
    yield from w.outputs
    for node in w.nodes:
        yield from node.inputs
        for graph in node.subgraphs():
            yield from _captured(graph)
