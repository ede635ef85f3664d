"""Reading and building of GraphDefs: nodes by name, consumers, constants, other names for inputs.

The transforms are defined on GraphDefs, and work on them rather than on the compiler's StepGraph: what they leave alone
has to come out as it went in. A StepGraph has no place for much of that: ops that are not known here, attributes of
other programs, colocation, functions that nothing calls yet, Enter and NextIteration, the names of nodes that the
compiler renames, and their order. What is the same in both forms is shared: facts of ops, the arithmetic of batch
normalization (`compiler/optimize/freeze.py`), the walk over a graph, and the evaluation of constants, by a session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from thalweg._src.base.dtypes import as_dtype
from thalweg._src.base.formats.message_types import GraphDef, NodeDef
from thalweg._src.graph.graphdef import message_type, write_attr
from thalweg._src.graph.op_def import OPS
from thalweg._src.graph.tensor_proto import array_proto, constant_array
from thalweg._src.graph.walk import reachable
from thalweg._src.runtime.session.freezing import source_of, without_nodes

Array = np.ndarray[Any, Any]


class Nodes:
    """The nodes of a GraphDef by name, and who uses them."""

    def __init__(self, graph_def: GraphDef) -> None:
        self.by_name = {node.name: node for node in graph_def.node}
        self.users: defaultdict[str, list[str]] = defaultdict(list)
        for node in graph_def.node:
            for text in node.input:
                self.users[source_of(text)].append(node.name)

    def __getitem__(self, text: str) -> NodeDef:
        """Returns the node that an input names; an empty one where the graph has none."""
        return self.by_name.get(source_of(text)) or message_type("NodeDef")()

    def constant(self, text: str) -> Array | None:
        """Returns the value that an input names if it is a constant, which waits for nothing."""
        node = self[text]
        is_constant = node.op == "Const" and not node.input and text.partition(":")[2] in ("", "0")
        return constant_array(node.attr["value"].tensor) if is_constant else None


def attr_of(node: NodeDef, key: str) -> Any:
    """Returns an attribute as an AttrValue, an empty one where the node has none; reading does not add it."""
    return node.attr[key] if key in node.attr else message_type("AttrValue")()


def is_pure(node: NodeDef) -> bool:
    """Returns whether a node computes the same in every step, wherever it stands, without calling functions."""
    if node.op not in OPS or any(message.HasField("func") or message.list.func for message in node.attr.values()):
        return False
    facts = OPS.lookup(node.op).facts
    return not (facts.stateful or facts.waits or facts.control_flow or facts.external)


def data_inputs(node: NodeDef) -> list[str]:
    """Returns the inputs that are tensors."""
    return [text for text in node.input if not text.startswith("^")]


def control_inputs(node: NodeDef) -> list[str]:
    return [text for text in node.input if text.startswith("^")]


def constant_node(name: str, value: Array, dtype: Any = None) -> NodeDef:
    """Returns a constant as a NodeDef; dtype: the type where NumPy's does not say it, as quint8."""
    kind = as_dtype(value.dtype if dtype is None else dtype)
    message: NodeDef = message_type("NodeDef")(name=name, op="Const")
    write_attr(message.attr["dtype"], kind, "type")
    message.attr["value"].tensor.CopyFrom(array_proto(value, kind))
    return message


def new_node(op: str, name: str, inputs: Iterable[str], device: str = "", **attrs: Any) -> NodeDef:
    """Returns a NodeDef with attributes, those that are left out with their defaults."""
    definition = OPS.lookup(op)
    message: NodeDef = message_type("NodeDef")(name=name, op=op, device=device)
    message.input.extend(inputs)
    for key, attr in definition.attrs.items():
        if key in attrs or key in definition.defaults:
            write_attr(message.attr[key], attrs.get(key, definition.defaults.get(key)), attr.kind)
    return message


def copied(node: NodeDef) -> NodeDef:
    message = type(node)()
    message.CopyFrom(node)
    return message


def with_nodes(graph_def: GraphDef, nodes: Iterable[NodeDef]) -> GraphDef:
    """Returns a GraphDef with other nodes."""
    result: GraphDef = without_nodes(graph_def)
    result.node.extend(nodes)
    return result


def edited(graph_def: GraphDef, edit: Callable[[NodeDef], object]) -> GraphDef:
    """Returns a GraphDef whose nodes a function has changed."""
    result = type(graph_def)()
    result.CopyFrom(graph_def)
    for node in result.node:
        edit(node)
    return result


def renamed_inputs(graph_def: GraphDef, names: Mapping[str, str]) -> GraphDef:
    """Returns a GraphDef in which uses of nodes are uses of others: inputs, control inputs and colocation."""

    def edit(node: NodeDef) -> None:
        node.input[:] = [_renamed(text, names) for text in node.input]
        if "_class" in node.attr:
            groups = node.attr["_class"].list.s
            groups[:] = [_renamed_group(group, names) for group in groups]

    return edited(graph_def, edit)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    name = source_of(text)
    control, output = "^" * text.startswith("^"), text.partition(":")[2]
    return f"{control}{names.get(name, name)}{':' if output else ''}{output}"


def _renamed_group(group: bytes, names: Mapping[str, str]) -> bytes:
    name = group.decode().removeprefix("loc:@")
    return f"loc:@{names[name]}".encode() if name in names else group


def used_by(graph_def: GraphDef, outputs: Iterable[str], stops: Iterable[str] = ()) -> GraphDef:
    """Returns the part of a GraphDef that outputs depend on, up to the nodes at which it stops."""
    nodes = {node.name: node for node in graph_def.node}
    roots, stopped = [source_of(name) for name in outputs], set(stops)
    for name in roots:
        if name not in nodes:
            raise ValueError(f"the graph has no node {name!r}")

    def sources(name: str) -> Iterable[str]:
        return map(source_of, nodes[name].input) if name in nodes and name not in stopped else ()

    needed = reachable(roots, sources)
    return with_nodes(graph_def, [node for node in graph_def.node if node.name in needed])
