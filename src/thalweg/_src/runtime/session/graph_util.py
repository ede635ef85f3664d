"""Rewrites of GraphDefs for deployment: extracting subgraphs, freezing variables, removing training nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from thalweg._src.base import dtypes
from thalweg._src.base.errors import require_kind, require_members
from thalweg._src.base.export import export
from thalweg._src.base.shapes import TensorShape
from thalweg._src.graph.graph import Graph
from thalweg._src.graph.graphdef import message_type
from thalweg._src.graph.operation import Operation
from thalweg._src.graph.ops.state import read_variable_op
from thalweg._src.graph.walk import reachable
from thalweg._src.runtime.session.freezing import frozen, is_variable, source_of, variables_of, without_nodes


@export("graph_util.must_run_on_cpu")
def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Returns whether a node must run on the host, as operations on strings and shapes do.

    Args:
        node: The node.
        pin_variables_on_cpu: Whether variables belong on the host too.
    """
    node_def = node.node_def if isinstance(node, Operation) else node
    require_members("node", node_def, "an operation or a NodeDef message", "op", "attr")
    if pin_variables_on_cpu and (is_variable(node_def) or node_def.op in ("Assign", "AssignVariableOp")):
        return True
    kinds = {node_def.attr[key].type for key in ("dtype", "T", "SrcT", "DstT") if key in node_def.attr}
    counts = node_def.op in ("Const", "DynamicStitch", "ParallelDynamicStitch")
    return dtypes.string.as_datatype_enum in kinds or (counts and dtypes.int32.as_datatype_enum in kinds)


@export("graph_util.extract_sub_graph")
def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """Returns the GraphDef of the given nodes and all their ancestors, in the original order."""
    _require_graph_def(graph_def)
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    needed = reachable(dest_nodes, lambda name: map(source_of, nodes[name].input) if name in nodes else ())
    result = without_nodes(graph_def)
    result.node.extend(node for node in graph_def.node if node.name in needed)
    return result


def _require_graph_def(graph_def: object) -> None:
    if getattr(getattr(graph_def, "DESCRIPTOR", None), "name", "") != "GraphDef":
        raise TypeError(f"expected a GraphDef message as graph_def, received {type(graph_def)}")


@export("graph_util.tensor_shape_from_node_def_name")
def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """Returns the static shape of the tensor named by an input of a NodeDef."""
    name = input_name if ":" in input_name else f"{input_name}:0"
    require_kind("graph", graph, Graph, "a Graph")
    return graph.get_tensor_by_name(name).get_shape()


@export("graph_util.convert_variables_to_constants")
def convert_variables_to_constants(
    sess: Any,
    input_graph_def: object,
    output_node_names: Sequence[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> Any:
    """Freezes a graph: returns the subgraph of the outputs with variables replaced by constants of their values."""
    graph_def = extract_sub_graph(input_graph_def, output_node_names)
    names = variables_of(graph_def, variable_names_whitelist, variable_names_blacklist)
    values = dict(zip(names, sess.run([_read_name(sess.graph, name) for name in names]))) if names else {}
    return frozen(graph_def, values)


def _read_name(graph: Graph, name: str) -> str:
    """Returns the name of a tensor that holds a variable's value, which is added where only functions read it."""
    operation = graph.get_operation_by_name(name)
    if operation.type != "VarHandleOp":
        return f"{name}:0"
    for consumer in operation.outputs[0].consumers():
        if consumer.type == "ReadVariableOp":
            return consumer.outputs[0].name
    with graph.as_default():
        return read_variable_op(operation.outputs[0], dtype=operation.attrs["dtype"]).name


@export("graph_util.remove_training_nodes")
def remove_training_nodes(input_graph: Any, protected_nodes: Collection[str] | None = None) -> Any:
    """Returns the GraphDef without the nodes that only check or forward a value: CheckNumerics and Identity.

    An Identity node stays if it has control inputs or control outputs.
    """
    _require_graph_def(input_graph)
    protected = set(protected_nodes or ())
    checked = spliced(input_graph, {n.name for n in input_graph.node if n.op == "CheckNumerics"} - protected)
    controls = {source_of(i) for node in checked.node for i in node.input if i.startswith("^")}
    plain = {n.name for n in checked.node if n.op == "Identity" and not any(i.startswith("^") for i in n.input)}
    return spliced(checked, plain - protected - controls)


def spliced(graph_def: Any, removed: set[str]) -> Any:
    """Returns the GraphDef with each use of a removed node replaced by the node's first input."""
    inputs = {node.name: node.input[0] for node in graph_def.node if node.name in removed and node.input}

    def follow(name: str) -> str:
        control = "^" if name.startswith("^") else ""
        while source_of(name) in inputs:
            name = inputs[source_of(name)]
        return control + source_of(name) if control else name

    result = message_type("GraphDef")()
    result.CopyFrom(graph_def)
    del result.node[:]
    for node in graph_def.node:
        if node.name not in inputs:
            copy = result.node.add()
            copy.CopyFrom(node)
            del copy.input[:]
            copy.input.extend(map(follow, node.input))
    return result
