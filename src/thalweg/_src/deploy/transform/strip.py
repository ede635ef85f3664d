"""Transforms that remove nodes: unused ones, those that forward a value, duplicates, control inputs."""

from __future__ import annotations

import itertools
from typing import Any

from thalweg._src.base.dtypes import DType, as_dtype
from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.deploy.transform.nodes import (
    Nodes,
    control_inputs,
    copied,
    data_inputs,
    edited,
    is_pure,
    new_node,
    renamed_inputs,
    used_by,
    with_nodes,
)
from thalweg._src.deploy.transform.registry import Context, transform
from thalweg._src.graph.op_def import OPS
from thalweg._src.runtime.session.freezing import source_of


@transform("strip_unused_nodes", "type", "shape", "name", "type_for_name", "shape_for_name")
def strip_unused_nodes(graph_def: GraphDef, context: Context) -> GraphDef:
    """Removes what outputs do not need; inputs become placeholders."""
    types = dict(zip(context.many("name"), map(_dtype, context.many("type_for_name"))))
    shapes = dict(zip(context.many("name"), map(_shape, context.many("shape_for_name"))))
    dtype = _dtype(context.one("type", "float"))
    shape = _shape(context.one("shape")) if context.many("shape") else None

    def fed(node: NodeDef) -> NodeDef:
        if node.name not in context.inputs or node.op == "Placeholder":
            return node
        sizes = shapes.get(node.name, shape)
        return new_node("Placeholder", node.name, [], node.device, dtype=types.get(node.name, dtype), shape=sizes)

    needed = used_by(graph_def, context.outputs, context.inputs)
    return with_nodes(needed, map(fed, needed.node))


def _dtype(text: str) -> DType:
    try:
        return as_dtype(text)
    except TypeError:
        raise ValueError(f"type: expected the name of a type, such as float or int32, received {text!r}") from None


def _shape(text: str) -> tuple[int | None, ...]:
    try:
        sizes = [int(size) for size in text.split(",") if size.strip()]
    except ValueError:
        raise ValueError(f'shape: expected sizes, such as "1,299,299,3", received {text!r}') from None
    return tuple(None if size < 0 else size for size in sizes)


@transform("remove_nodes", "op", "max_inputs")
def remove_nodes(graph_def: GraphDef, context: Context) -> GraphDef:
    """Removes operations of given types that have one input, or at most `max_inputs`; their users get the first."""
    types, most = set(context.many("op")), context.integer("max_inputs", 1)
    if not types:
        raise ValueError("expected the type of the nodes to remove, as in remove_nodes(op=Identity)")
    nodes = Nodes(graph_def)
    waited = {source_of(text) for node in graph_def.node for text in control_inputs(node)}
    removed = {}
    for node in graph_def.node:
        inputs = data_inputs(node)
        matches = node.op in types and node.name not in context.fixed_names and 1 <= len(inputs) <= most
        if matches and (node.name not in waited or not _chooses(nodes[inputs[0]])):
            removed[node.name] = node

    def follow(text: str) -> list[str]:
        """Returns what stands for an input: the first input of what was removed, after all it waited for."""
        waits, source = [], text
        while source_of(source) in removed:
            node = removed[source_of(source)]
            waits += control_inputs(node)
            source = data_inputs(node)[0]
        if text.startswith("^"):
            source = f"^{source_of(source)}"
        return [source, *itertools.chain.from_iterable(map(follow, waits))]

    remaining = []
    for node in graph_def.node:
        if node.name not in removed:
            remaining.append(copied(node))
            remaining[-1].input[:] = _ordered(itertools.chain.from_iterable(map(follow, node.input)))
    return with_nodes(graph_def, remaining)


def _chooses(node: NodeDef) -> bool:
    """Returns whether a node belongs to a branch or loop: what waits for its identity belongs there too."""
    return node.op in OPS and OPS.lookup(node.op).facts.control_flow


def _ordered(inputs: Any) -> list[str]:
    """Returns inputs with control inputs last, each of these once."""
    texts = list(inputs)
    data = [text for text in texts if not text.startswith("^")]
    return [*data, *dict.fromkeys(text for text in texts if text.startswith("^"))]


@transform("remove_control_dependencies")
def remove_control_dependencies(graph_def: GraphDef, context: Context) -> GraphDef:
    """Removes all control inputs."""

    def edit(node: NodeDef) -> None:
        node.input[:] = data_inputs(node)

    return edited(graph_def, edit)


@transform("merge_duplicate_nodes")
def merge_duplicate_nodes(graph_def: GraphDef, context: Context) -> GraphDef:
    """Merges nodes of one type with equal attributes and inputs; outputs and stateful nodes stay."""
    while True:
        first: dict[bytes, str] = {}
        names = {}
        for node in graph_def.node:
            if node.name in context.fixed_names or node.op == "Placeholder" or not is_pure(node):
                continue
            anonymous = copied(node)
            anonymous.name = ""
            key = anonymous.SerializeToString(deterministic=True)
            representative = first.setdefault(key, node.name)
            if representative != node.name:
                names[node.name] = representative
        if not names:
            return graph_def
        merged = with_nodes(graph_def, [node for node in graph_def.node if node.name not in names])
        graph_def = renamed_inputs(merged, names)
